"""What the values of a table say of a device or a host: the few that speak of a fault.

A count of errors that could not be corrected began with the driver; a reason that holds a clock
down says something of a device that works, and nothing of an idle one.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from .....formats.device_tables.tables import (
    MEMORY,
    POWER,
    POWER_LIMIT,
    UTILIZATION,
    DeviceTable,
    HostTable,
    ShownPort,
    TableDevice,
)
from .....vocabulary.log_lines import BUSY_WAITING, MEMORY_LEFT
from ..kernel_events import FAILED

_LOST = {
    "nvidia": "nvml.lost", "amd": "amdgpu.lost", "ascend": "npu.lost", "habana": "gaudi.lost",
}  # fmt: skip
_UNCORRECTED = {"nvidia": "ecc.uncorrectable", "amd": "amdgpu.uncorrectable"}
_SICK = ("alarm", "critical")
"""Health of Ascend devices by which they are out of order; a warning is none yet."""
_BUSY = 0.5
_ALL_BUSY, _LITTLE_POWER, _FEWEST_DEVICES = 0.95, 0.45, 2
_HELD_BY_NOBODY = 64 * 2.0**20
_MUCH, _LISTED = 2 * 2.0**30, 0.8
"""Bytes that are no driver's own, and the share of a device's memory that its processes list."""
_HEAT = ("thermal_hw", "thermal_sw")
_HELD = ("power_brake", "slowdown_hw")
SLOWED = "slowdown.sustained"

_FULL = 1.0
_SHARED_MEMORY = "/dev/shm"  # noqa: S108  a name in a table
_READ_ONLY = ("/snap", "/boot", "/sys", "/proc", "/run", "/usr", "/media", "/cdrom", "/etc")
"""Where what is mounted is full by nature, or no job writes."""
_LEAST_AVAILABLE = 0.01
"""Share of a host's memory below which the next allocation calls the kernel's killer."""
MEMORY_GONE = "host.memory_gone"
"""What goes with a kill for memory, and is none."""
_FEWEST_PORTS = 2


@dataclass(frozen=True, slots=True)
class TableFault:
    """A line of a table that speaks of a fault.

    code: of a device's fault, "" where it is a host's, with `signature` then. text: what it says.
    grade: the class of the code, "" where the tables of codes say it.
    """

    line: int
    text: str
    code: str = ""
    signature: str = ""
    grade: str = ""


def of_device(table: DeviceTable, device: TableDevice) -> Iterator[TableFault]:
    """Yield what a table says of one device's faults."""
    where = f"device {device.index}" if device.index is not None else "a device"
    whose = f"{table.tool}: {where}{f' ({device.bus_id})' if device.bus_id else ''}"
    if device.failed:
        code = _LOST.get(table.vendor, FAILED)
        yield TableFault(device.line, f"{whose} does not answer: {device.failed}", code)
    if device.status.lower() in _SICK:
        yield TableFault(device.line, f"{whose}: health {device.status}", FAILED)
    errors = sum(_values(device, "hw.errors", "uncorrected"))
    if errors and table.vendor in _UNCORRECTED:
        text = f"{whose}: {errors:.0f} errors that could not be corrected since the driver began"
        yield TableFault(_line(device, "hw.errors"), text, _UNCORRECTED[table.vendor])
    for state in ("pending", "failed"):
        if any(_values(device, "hw.gpu.row_remap", state)):
            text = f"{whose}: row remap {state}"
            line, grade = _line(device, "hw.gpu.row_remap"), "warning" if state == "pending" else ""
            yield TableFault(line, text, f"row_remap.{state}", grade=grade)
    reasons = [one for one in (*_HEAT, *_HELD) if any(_values(device, "hw.gpu.throttle", one))]
    if reasons and works(device):
        text = f"{whose}: clocks held down while it works: {', '.join(reasons)}"
        yield TableFault(_line(device, "hw.gpu.throttle"), text, SLOWED)


def of_all_devices(table: DeviceTable) -> Iterator[TableFault]:
    """Yield what the devices of a table show together."""
    if (waiting := _busy_waiting(table)) is not None:
        yield waiting
    yield from _left_memory(table)


def _left_memory(table: DeviceTable) -> Iterator[TableFault]:
    """Yield the devices that hold much memory of no process that is listed.

    Where the processes of all others are listed with what they hold: a container sees none.
    """
    held: Counter[int] = Counter()
    for one in table.processes:
        held[one.index] += int(one.memory or 0)
    used = {
        one.index: one.values.get(MEMORY, 0.0) for one in table.devices if one.index is not None
    }
    if not held or any(held[index] < _LISTED * used.get(index, 0.0) for index in held):
        return
    for device in table.devices:
        size = device.values.get(MEMORY, 0.0)
        if device.index is not None and device.index not in held and size >= _MUCH:
            text = f"device {device.index} holds {size / 2**30:.3g} GiB that no listed process has"
            yield TableFault(device.line, text, signature=MEMORY_LEFT)


def _busy_waiting(table: DeviceTable) -> TableFault | None:
    """Return that all devices in use of a table are busy at little power, None: they are not.

    So they are while kernels of collectives wait, and where a model is too small for them.
    """
    shares: list[float] = []
    used = [device for device in table.devices if not _unused(device)]
    for device in used:
        power, limit = device.values.get(POWER), device.values.get(POWER_LIMIT)
        busy = device.values.get(UTILIZATION, 0.0) >= _ALL_BUSY
        if not busy or power is None or not limit or power > _LITTLE_POWER * limit:
            return None
        shares.append(power / limit)
    if len(shares) < _FEWEST_DEVICES:
        return None
    most = f"{100 * max(shares):.0f} % of their power at most"
    which = "all {} devices" if len(used) == len(table.devices) else "the {} devices in use"
    waits = f"are busy at {most}, as while kernels wait for one another"
    text = f"{which.format(len(shares))} {waits}"
    return TableFault(used[0].line, text, signature=BUSY_WAITING)


def _unused(device: TableDevice) -> bool:
    """Tell whether a device rests and holds nothing: it is no part of what is shown."""
    held = device.values.get(MEMORY)
    return device.values.get(UTILIZATION) == 0 and held is not None and held < _HELD_BY_NOBODY


def works(device: TableDevice) -> bool:
    """Tell whether a device has work, as far as its table shows."""
    if UTILIZATION in device.values:
        return device.values[UTILIZATION] >= _BUSY
    return not any(_values(device, "hw.gpu.throttle", "idle"))


def of_host(table: HostTable) -> Iterator[TableFault]:
    """Yield what a table says of its host's disks and memory."""
    for mount, (share, line, text) in table.filesystems.items():
        if share < _FULL or mount.startswith(_READ_ONLY):
            continue
        name = "shm.exhausted" if mount == _SHARED_MEMORY else "storage.full"
        said = " ".join(text.split())
        yield TableFault(line, f"{mount} is full: {said}", signature=name)
    if table.memory is not None and table.memory[0] < _LEAST_AVAILABLE * table.memory[1]:
        available, total = (size / 2**30 for size in table.memory)
        text = f"{available:.3g} of {total:.4g} GiB of the host's memory are available"
        yield TableFault(table.line, text, signature=MEMORY_GONE)


def down_ports(table: HostTable) -> Iterator[ShownPort]:
    """Yield the ports that are out of order beside others that are in use.

    One whose link is up and that its subnet manager did not make active; and one alone whose link
    is down: of several some have no cable.
    """
    active = [port for port in table.ports if port.state == "active"]
    if len(active) < _FEWEST_PORTS:
        return
    down = [port for port in table.ports if port.state == "down"]
    yield from (port for port in table.ports if port.state in ("init", "initializing", "armed"))
    if len(down) == 1 and down[0].physical != "disabled":
        yield down[0]


def _values(device: TableDevice, metric: str, said: str) -> list[float]:
    return [
        value
        for (name, pairs), value in device.values.items()
        if name == metric and said in dict(pairs).values()
    ]


def _line(device: TableDevice, metric: str) -> int:
    """Return the first line in which a value of a metric is not 0."""
    lines = (
        line
        for quantity, (line, _) in device.texts.items()
        if quantity[0] == metric and device.values[quantity]
    )
    return min(lines, default=device.line)
