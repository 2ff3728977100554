"""The kubelet's list of pods as bytes, read into who was given which device.

Field numbers are those of the v1 API (KEP-606, with the dynamic resources of KEP-3695); what is not
named here (CPUs, memory, topology) is stepped over.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...formats import wire

_PODS = 1
_NAME, _NAMESPACE, _CONTAINERS = 1, 2, 3
_DEVICES, _DYNAMIC = 2, 5
_RESOURCE, _DEVICE_IDS = 1, 2
_CLAIMED = 4
_CDI, _DRIVER, _DEVICE = 1, 2, 4


@dataclass(frozen=True, slots=True)
class AllocatedDevice:
    """One device that a container was given.

    `resource` is the extended resource (nvidia.com/gpu), or the driver of a dynamic one;
    `device` is as the device plugin or driver calls it; `cdi` holds the CDI names of a dynamic one.
    """

    namespace: str
    pod: str
    container: str
    resource: str
    device: str
    cdi: tuple[str, ...] = ()


def decode(
    data: bytes, *, resources: Sequence[str], drivers: Sequence[str] = ()
) -> list[AllocatedDevice]:
    """Return the devices of the resources and drivers asked for, in the kubelet's order.

    A resource that ends in "*" stands for all that begin so. Raises WireError on what is no list.
    """
    whole = frozenset(name for name in resources if not name.endswith("*"))
    beginnings = tuple(name[:-1] for name in resources if name.endswith("*"))
    wanted = frozenset(drivers)
    found: list[AllocatedDevice] = []
    for field, kind, start, end in wire.fields(data, 0, len(data)):
        if field != _PODS:
            continue
        _check(kind, "a pod")
        name = namespace = ""
        containers: list[tuple[int, int]] = []
        for inner, kind_, first, last in wire.fields(data, start, end):
            if inner == _NAME:
                name = _text(data, kind_, first, last)
            elif inner == _NAMESPACE:
                namespace = _text(data, kind_, first, last)
            elif inner == _CONTAINERS:
                _check(kind_, "a container")
                containers.append((first, last))
        for first, last in containers:
            container, devices = _container(data, first, last)
            found += [
                AllocatedDevice(namespace, name, container, resource, device, cdi)
                for resource, device, cdi, dynamic in devices
                if (
                    resource in wanted
                    if dynamic
                    else resource in whole or resource.startswith(beginnings)
                )
            ]
    return found


_Device = tuple[str, str, tuple[str, ...], bool]


def _container(data: bytes, start: int, end: int) -> tuple[str, list[_Device]]:
    name = ""
    devices: list[_Device] = []
    for field, kind, first, last in wire.fields(data, start, end):
        if field == _NAME:
            name = _text(data, kind, first, last)
        elif field == _DEVICES:
            _check(kind, "devices")
            devices += _plugged(data, first, last)
        elif field == _DYNAMIC:
            _check(kind, "a dynamic resource")
            devices += _claimed(data, first, last)
    return name, devices


def _plugged(data: bytes, start: int, end: int) -> Iterator[_Device]:
    resource = ""
    ids: list[str] = []
    for field, kind, first, last in wire.fields(data, start, end):
        if field == _RESOURCE:
            resource = _text(data, kind, first, last)
        elif field == _DEVICE_IDS:
            ids.append(_text(data, kind, first, last))
    for device in ids:
        yield resource, device, (), False


def _claimed(data: bytes, start: int, end: int) -> Iterator[_Device]:
    for field, kind, first, last in wire.fields(data, start, end):
        if field != _CLAIMED:
            continue
        _check(kind, "a claimed resource")
        driver = device = ""
        cdi: list[str] = []
        for inner, kind_, here, there in wire.fields(data, first, last):
            if inner == _DRIVER:
                driver = _text(data, kind_, here, there)
            elif inner == _DEVICE:
                device = _text(data, kind_, here, there)
            elif inner == _CDI:
                _check(kind_, "a CDI device")
                cdi += [
                    _text(data, each, low, high)
                    for number, each, low, high in wire.fields(data, here, there)
                    if number == _NAME
                ]
        yield driver, device, tuple(cdi), True


def _check(kind: int, what: str) -> None:
    if kind != wire.LENGTH:
        raise wire.WireError(f"{what} of wire type {kind}: this is not a list of pods")


def _text(data: bytes, kind: int, start: int, end: int) -> str:
    _check(kind, "a text")
    return data[start:end].decode(errors="replace")
