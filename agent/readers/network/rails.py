"""Where the network ports are plugged in: the GPU each one serves, its rail, its switch.

The nearest GPU is the one whose folder in sysfs shares the longest path: the same PCIe switch
before the same root. Without a shared root the GPUs of the same NUMA node are asked. Ports that
are equally near to the same GPUs share these out in PCI order.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from ....vocabulary.samples import Sample, attributes
from ... import kernel_files
from ...devices import DeviceRegister, normal
from .inventory import NetworkPort, PortInventory

if TYPE_CHECKING:
    from ...settings import NetworkSettings

_CLASSES = ("0x0302", "0x0380", "0x1200")
"""PCI classes of accelerators: 3D controller, other display, processing accelerator."""
_VGA = "0x0300"
_GRAPHICS = frozenset({"0x10de", "0x1002"})
"""NVIDIA and AMD: their VGA devices compute; others' belong to the board's own console."""
_OTHERS = frozenset({"0x19e5", "0x1d94", "0xcabc", "0x9999", "0x1d22"})
"""Huawei, Hygon, Cambricon, MetaX, Baidu."""


@dataclass(frozen=True, slots=True)
class _RailGpu:
    index: int
    place: str
    numa: int


class NetworkRails:
    """Reads the PCI tree; things move when somebody opens the machine, so once in half a minute."""

    name = "network_rails"
    ask_again = 60.0  # seconds; drivers of cards are loaded late

    def __init__(
        self,
        *,
        period: float,
        inventory: PortInventory,
        settings: "NetworkSettings",
        switch: str = "",
        devices: DeviceRegister | None = None,
    ) -> None:
        self.period = period
        self._inventory = inventory
        self._settings = settings
        self._switch = switch
        self._devices = devices

    def supported(self) -> tuple[bool, str]:
        """Return whether there is a port to place."""
        if self._inventory.ports(0.0, look=True):
            return True, ""
        return False, "no network port to place; see network_ports"

    def read(self, now: float) -> list[Sample]:
        """Return one sample a port; what is not known is the empty text."""
        ports = sorted(self._inventory.ports(now), key=lambda port: (port.pci, port.key))
        gpus = self._nearest(ports)
        samples: list[Sample] = []
        for rail, port in enumerate(ports):
            switch, _, switch_port = _given(self._settings.switches, port).partition("/")
            pairs = attributes(
                {
                    "device": port.device,
                    "port": port.port,
                    "rail": _given(self._settings.rails, port) or str(rail),
                    "switch": switch or self._switch,
                    "switch_port": switch_port,
                    "gpu": gpus.get(port.key, ""),
                }
            )
            samples.append(Sample("hw.network.info", 1.0, now, pairs))
        return samples

    def _nearest(self, ports: Sequence[NetworkPort]) -> dict[str, int]:
        """Return the index of the GPU that each port serves."""
        gpus = self._gpus()
        groups: dict[tuple[int, ...], list[str]] = {}
        for port in ports:
            near = tuple(gpu.index for gpu in _near(port, gpus))
            groups.setdefault(near, []).append(port.key)
        return {
            key: near[number * len(near) // len(keys)]
            for near, keys in groups.items()
            if near
            for number, key in enumerate(keys)
        }

    def _gpus(self) -> list[_RailGpu]:
        """Return the accelerators on the bus, with the index their driver gives them, if known.

        Else they are numbered in PCI order, as NVIDIA's library does.
        """
        folder = f"{self._inventory.sys}/bus/pci/devices"
        found: list[str] = []
        for address in kernel_files.names(folder):
            kind = kernel_files.text(f"{folder}/{address}/class")
            if not kind.startswith((*_CLASSES, _VGA)):
                continue
            vendor = kernel_files.text(f"{folder}/{address}/vendor")
            if vendor in _GRAPHICS or (vendor in _OTHERS and not kind.startswith(_VGA)):
                found.append(address)
        gpus = []
        for number, address in enumerate(found):
            place = os.path.realpath(f"{folder}/{address}")
            numa = kernel_files.number(f"{place}/numa_node")
            index = self._index(address)
            gpus.append(
                _RailGpu(number if index is None else index, place, -1 if numa is None else numa)
            )
        return gpus

    def _index(self, address: str) -> int | None:
        if self._devices is None:
            return None
        hw_id = self._devices.by_pci(normal(address))
        return None if hw_id is None else self._devices.index_of(hw_id)


def _near(port: NetworkPort, gpus: Sequence[_RailGpu]) -> list[_RailGpu]:
    """Return the GPUs that are nearest to a port, by index; none when nothing is known."""
    shared = {gpu.index: _shared(port.place, gpu.place) for gpu in gpus}
    most = max(shared.values(), default=0)
    if most:
        near = [gpu for gpu in gpus if shared[gpu.index] == most]
    else:
        numa = kernel_files.number(f"{port.place}/numa_node")
        near = [gpu for gpu in gpus if numa is not None and numa >= 0 and gpu.numa == numa]
    return sorted(near, key=lambda gpu: gpu.index)


def _shared(one: str, other: str) -> int:
    """Return how many devices two real paths of sysfs share; 0 without a PCIe root in common."""
    _, found, below = f"{os.path.commonpath([one, other])}/".rpartition("/devices/")
    return below.count("/") if found else 0


def _given(table: Mapping[str, str], port: NetworkPort) -> str:
    """Return what a setting has for a port, "" when nothing."""
    for pattern, value in table.items():
        if fnmatchcase(port.device, pattern) or fnmatchcase(port.key, pattern):
            return value
    return ""
