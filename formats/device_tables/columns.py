"""Tables with a header: CSV of `--query-gpu`, `nvidia-smi dmon`, rocm-smi, amd-smi monitor.

What a column is follows from its name alone. A device that comes again begins the next moment.
"""

import re

from . import fields
from .fields import TableField
from .tables import DeviceTable, TableDevice, bus_id

_FEWEST = 2
"""Columns of a header that have to be known by name."""
_HEADER = re.compile(r"(.*?)(?:\s*\[([^\[\]]+)\])?")
_FAILED = re.compile(r"GPU is lost|Unknown Error|^\[?ERR!?\]?$", re.IGNORECASE)
_INDEX = ("index", "gpu", "device", "idx")
_SMALL = re.compile(r"[0-9]{1,3}")
_WORD = re.compile(r"(?:\([^)]*\)|[^\s(])+")
_ROCM = re.compile(r"\s*(?:Device|GPU)\s.*\bPwrCap\b.*GPU%")
_ROCM_SHARE = re.compile(r"(?<!\S)(\S+)%\s+(\S+)%\s*$")
_ROCM_POWER = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)\s*W\b")
_ROCM_TEMPERATURE = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)\s*°?[cC]\b")


class ColumnTableReader:
    """Reads what stands below one header. Feed it the header first."""

    def __init__(self, number: int, line: str) -> None:
        self._names, self._units, self._comma = _header(line)
        tool, vendor = _tool(line, comma=self._comma)
        self._rocm = _ROCM.match(line) is not None
        self._fields: list[TableField | None] = [
            fields.by_column().get(name) for name in self._names
        ]
        self.tables = [DeviceTable(tool, vendor, number)]
        self._tool, self._vendor = tool, vendor
        self._below = 0
        """Lines below the header that are no rows: units, a second header, a ruler."""

    @staticmethod
    def opens(line: str) -> bool:
        """Tell whether a line is a header that names devices' columns."""
        if _ROCM.match(line):
            return True
        names, _, comma = _header(line)
        known = sum(name in fields.by_column() or "_reasons.active" in name for name in names)
        placed = any(name in _INDEX for name in names)
        if comma:
            return known >= 1 and (len(names) < 3 or known >= _FEWEST or "." in "".join(names))
        return placed and known >= _FEWEST and len(names) > _FEWEST

    def feed(self, number: int, line: str) -> bool:
        """Take the next line; return whether it may be of this table."""
        if number == self.tables[0].line:
            return True
        if self._rocm:
            return self._rocm_row(number, line)
        text = line.strip()
        cells = _cells(text, comma=self._comma)
        if text.startswith("#"):
            if not self._comma and "idx" in text.lower():
                return True
            return self.opens(line) and self._names == _header(line)[0]
        if not text or len(cells) != len(self._names) or not self._is_row(cells):
            return not self.tables[-1].devices and bool(text) and self._passes()
        self._row(number, text, cells)
        return True

    def end(self) -> list[DeviceTable]:
        return [one for one in self.tables if one.devices]

    def _passes(self) -> bool:
        self._below += 1
        return self._below <= 1

    def _is_row(self, cells: list[str]) -> bool:
        place = self._place()
        return place is None or _SMALL.fullmatch(cells[place]) is not None

    def _place(self) -> int | None:
        return next((self._names.index(name) for name in _INDEX if name in self._names), None)

    def _device(self, number: int, index: int | None) -> TableDevice:
        table = self.tables[-1]
        if index is None:
            index = len(table.devices)
        elif any(one.index == index for one in table.devices):
            table = DeviceTable(self._tool, self._vendor, number)
            self.tables.append(table)
        device = TableDevice(index, number)
        table.devices.append(device)
        return device

    def _row(self, number: int, text: str, cells: list[str]) -> None:
        place = self._place()
        device = self._device(number, None if place is None else int(cells[place]))
        table = self.tables[-1]
        failed = 0
        for name, unit, field, cell in zip(
            self._names, self._units, self._fields, cells, strict=True
        ):
            failed += _FAILED.search(cell) is not None
            if name == "timestamp":
                table.stamp = table.stamp or cell
            elif name in ("pci.bus_id", "gpu_bus_id", "bus_id"):
                device.bus_id = bus_id(cell)
            elif name in ("uuid", "gpu_uuid"):
                device.uuid = cell
            elif name in ("name", "gpu_name"):
                device.name = cell
            for quantity, value in fields.reasons(name, cell).items():
                device.put(quantity, value, number, text)
            if field is not None and field.quantity not in device.values:
                device.put(field.quantity, field.value(cell, unit), number, text)
        if failed and not device.values:
            device.failed = next(cell for cell in cells if _FAILED.search(cell)).strip("[]")

    def _rocm_row(self, number: int, line: str) -> bool:
        text = line.strip()
        index = re.match(r"(\d{1,3})\s", text)
        shares = _ROCM_SHARE.search(text)
        if index is None or shares is None:
            return not self.tables[-1].devices or set(text) <= {"="}
        device = self._device(number, int(index[1]))
        columns = fields.by_column()
        power = [*_ROCM_POWER.findall(text), "", ""]
        temperature = _ROCM_TEMPERATURE.search(text)
        for name, value in (
            ("gpu%", f"{shares[2]}%"),
            ("avgpwr", power[0]),
            ("pwrcap", power[1]),
            ("temp", temperature[1] if temperature else ""),
        ):
            field = columns[name]
            device.put(field.quantity, field.value(value), number, text)
        return True


def _tool(line: str, *, comma: bool) -> tuple[str, str]:
    if _ROCM.match(line):
        return "rocm-smi", "amd"
    if comma:
        return ("hl-smi", "habana") if ".aip" in line else ("nvidia-smi --query-gpu", "nvidia")
    if line.lstrip().startswith("#"):
        return "nvidia-smi dmon", "nvidia"
    return "amd-smi monitor", "amd"


def _header(line: str) -> tuple[list[str], list[str], bool]:
    """Return the names of a header's columns, their units, and whether commas part them."""
    text = line.strip()
    comma = "," in text or "[" in text or "." in text
    names: list[str] = []
    units: list[str] = []
    for cell in _cells(text.lstrip("# "), comma=comma):
        found = _HEADER.fullmatch(cell.strip())
        names.append((found[1] if found else cell).strip().lower())
        units.append((found[2] or "") if found else "")
    return names, units, comma


def _cells(text: str, *, comma: bool) -> list[str]:
    if comma:
        return [cell.strip() for cell in text.split(",")]
    return [found[0] for found in _WORD.finditer(text)]
