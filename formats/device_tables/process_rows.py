"""Lists of processes on devices: `nvidia-smi pmon`, and CSV of `--query-compute-apps`.

A device with nothing on it is a row of dashes in the one, and missing in the other. What pmon shows
again begins the next moment. What only draws (type G) is no process of a training.
"""

import re

from .tables import DeviceTable, TableDevice, TableProcess, bus_id

_MIB = float(1 << 20)
_NAME = re.compile(r"(.*?)(?:\s*\[[^\[\]]*\])?")
_NUMBER = re.compile(r"(\d{1,9})(?:\s*Mi?B)?")
_INDEX, _PID = re.compile(r"\d{1,3}"), re.compile(r"\d{1,9}")
_MEMORY = ("fb", "used_memory", "used_gpu_memory")
_DEVICE = ("gpu", "gpu_uuid", "gpu_bus_id")
_COMMAND = ("command", "process_name", "name")


class ProcessRowReader:
    """Reads what stands below one header. Feed it the header first."""

    def __init__(self, number: int, line: str) -> None:
        self._names, self._comma = _header(line)
        self._tool = "nvidia-smi --query-compute-apps" if self._comma else "nvidia-smi pmon"
        self.tables = [DeviceTable(self._tool, "nvidia", number)]
        self._ids: list[str] = []
        """Devices of CSV, which are numbered as they come."""

    @staticmethod
    def opens(line: str) -> bool:
        names, comma = _header(line)
        if "pid" not in names or not any(one in names for one in _DEVICE):
            return False
        return any(one in names for one in _MEMORY) if comma else line.lstrip().startswith("#")

    def feed(self, number: int, line: str) -> bool:
        """Take the next line; return whether it may be of this list."""
        text = line.strip()
        if number == self.tables[0].line or (text.startswith("#") and not self._comma):
            return True
        cells = _cells(text, len(self._names), comma=self._comma)
        if len(cells) != len(self._names):
            return False
        row = dict(zip(self._names, cells, strict=True))
        index = self._index(row)
        if index is None or not (_PID.fullmatch(row["pid"]) or row["pid"] == "-"):
            return False
        self._take(number, index, row)
        return True

    def end(self) -> list[DeviceTable]:
        return [one for one in self.tables if one.devices]

    def _index(self, row: dict[str, str]) -> int | None:
        if not self._comma:
            return int(row["gpu"]) if _INDEX.fullmatch(row["gpu"]) else None
        named = row.get("gpu_bus_id") or row.get("gpu_uuid") or row.get("gpu", "")
        if not (bus_id(named) or named.startswith("GPU-")):
            return None
        if named not in self._ids:
            self._ids.append(named)
        return self._ids.index(named)

    def _take(self, number: int, index: int, row: dict[str, str]) -> None:
        table = self.tables[-1]
        pid = None if row["pid"] == "-" else int(row["pid"])
        known = any((one.index, one.pid) == (index, pid) for one in table.processes)
        last = -1 if self._comma or not table.devices else table.devices[-1].index or 0
        if known or index < last:
            table = DeviceTable(self._tool, "nvidia", number)
            self.tables.append(table)
        if all(one.index != index for one in table.devices):
            device = TableDevice(index, number, bus_id=bus_id(row.get("gpu_bus_id", "")))
            device.uuid = row.get("gpu_uuid", "")
            table.devices.append(device)
        if pid is None or row.get("type") == "G":
            return
        held = next((_NUMBER.fullmatch(row[one]) for one in _MEMORY if one in row), None)
        name = next((row[one] for one in _COMMAND if one in row), "")
        memory = None if held is None else float(held[1]) * _MIB
        table.processes.append(TableProcess(index, pid, name, memory))


def _header(line: str) -> tuple[list[str], bool]:
    """Return the names of a header's columns, and whether commas part them."""
    text, comma = line.strip().lstrip("# "), "," in line
    names: list[str] = []
    for cell in text.split(",") if comma else text.split():
        found = _NAME.fullmatch(cell.strip())
        names.append((found[1] if found else cell).strip().lower())
    return names, comma


def _cells(text: str, count: int, *, comma: bool) -> list[str]:
    """Return a row's cells; the last one of pmon, a command, may have blanks."""
    return [one.strip() for one in (text.split(",") if comma else text.split(None, count - 1))]
