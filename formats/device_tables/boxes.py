"""Framed tables: nvidia-smi, hl-smi, mx-smi, cnmon (one layout), npu-smi, amd-smi.

A device takes two lines or three between two rulers. The first has its index, name, bus address
and, on NVIDIA's, errors that could not be corrected; the second its temperature, power, memory and,
most to the right, its utilization. What hl-smi counts as events and cnmon as errors healthy devices
have too.
"""

import re

from .tables import (
    MEMORY,
    MEMORY_LIMIT,
    POWER,
    POWER_LIMIT,
    TEMPERATURE,
    UNCORRECTED,
    UTILIZATION,
    DeviceTable,
    TableDevice,
    TableProcess,
    bus_id,
)

_TOOLS = {
    "NVIDIA-SMI": "nvidia", "HL-SMI": "habana", "MX-SMI": "metax", "CNMON": "cambricon",
    "npu-smi": "ascend", "AMD-SMI": "amd",
}  # fmt: skip
_OPENS = re.compile(rf"\| ({'|'.join(_TOOLS)}) ")
_PROCESSES = re.compile(r"\| Processes: ")
"""Begins the second part of nvidia-smi's table; people paste it alone."""
_MOST_BLANK = 2

_MIB = float(1 << 20)
_DEVICE = re.compile(r"\|\s*(\d{1,3})\s+([^\s|][^|]*?)\s*\|")
_NAME_ENDS = re.compile(r"\s+(?:On|Off|N/A|v\d[\w.]*|Unknown Error)$|^/\s+")
_TEMPERATURE = re.compile(r"(\d{1,3})\s*(?:°\s*)?C\b")
_POWER = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)\s*W(?:\s*/\s*(\d{1,9}(?:\.\d{1,9})?)\s*W)?")
_MEMORY = re.compile(r"(\d{1,9})\s*(?:M[Ii]?[Bb]\s*)?/\s*(\d{1,9})\s*M[Ii]?[Bb]")
_SHARE = re.compile(r"(\d{1,3})\s*%")
_COUNT = re.compile(r"\d+")
_FAILED = re.compile(r"ERR!|Unknown Error|GPU is lost", re.IGNORECASE)
_MOST_FAILED = 3
"""So many cells of a device that answers nothing say so; of one whose fan has no sensor a cell or
two do."""
_PROCESS = re.compile(
    r"\|\s+(\d{1,3})\s+(?:(?:N/A|\d+)\s+(?:N/A|\d+)\s+)?(\d{1,9})\s+"
    r"(?!G\s)(?:[CGM+]{1,4}\s+)?(\S.*?)\s+"
    r"(?:(\d+)\s*M[Ii][Bb]|N/A)\s*\|"
)
"""A process that computes: what only draws, of type G, is part of no job."""
_ASCEND_PROCESS = re.compile(
    r"\|\s*(\d{1,3})\s+(\d{1,3})\s*\|\s*(\d{1,9})\s*\|\s*(\S.*?)\s*\|\s*(\d+)\s*\|"
)
_ASCEND_USAGE = re.compile(r"(\d{1,3})\s+\d+\s*/\s*\d+\s+(\d+)\s*/\s*(\d+)")
_CHIP = re.compile(r"\|\s*(\d{1,3})(?:\s+(\d{1,3}))?\s*\|")
_AMD_DEVICE = re.compile(r"\|\s*([0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.\d)\s+(\S.*?)\s*\|")
_AMD_POWER = re.compile(r"(\d{1,9})\s*/\s*(\d{1,9})\s*W")


class BoxTableReader:
    """Reads one framed table. Feed it the line that opens one first."""

    def __init__(self, number: int, line: str) -> None:
        opened = _OPENS.search(line)
        tool = opened[1] if opened else "NVIDIA-SMI"
        self.table = DeviceTable(tool, _TOOLS[tool], number)
        self._lines: list[tuple[int, str]] = []
        """Those of the device that is being read."""
        self._blank = 0
        self._processes = self._devices = self._parts = False
        """Of which the lines are that come now; parts are those of devices that MIG divides."""

    @staticmethod
    def opens(line: str) -> bool:
        """Tell whether a table begins with a line: the one that names its tool."""
        return _OPENS.search(line) is not None or _PROCESSES.match(line.strip()) is not None

    def feed(self, number: int, line: str) -> bool:
        """Take the next line; return whether it may be of this table."""
        text = _framed(line)
        if not text:
            self._blank += 1
            return not line.strip() and self._blank <= _MOST_BLANK
        if number > self.table.line and _OPENS.search(text):
            return False
        self._blank = 0
        if "MIG devices:" in text:
            self._parts = True
        if "rocess" in text and not self._lines:
            self._processes, self._parts = True, False
        if text.startswith(("+", "|-", "|=")):
            self._take()
            self._devices |= "=" in text
        elif self._processes:
            self._process(text)
        elif self._devices and not self._parts:
            self._lines.append((number, text))
        return True

    def end(self) -> DeviceTable:
        """Return the table; of its processes alone, with the devices that these are on."""
        self._take()
        if not self.table.devices:
            for index in sorted({one.index for one in self.table.processes}):
                line = self.table.line
                self.table.devices.append(TableDevice(line=line, index=index))
        return self.table

    def _take(self) -> None:
        lines, self._lines = self._lines, []
        if not lines:
            return
        read = {"ascend": _ascend, "amd": _amd}.get(self.table.vendor, _common)
        device = read(lines, self.table)
        if device is not None:
            self.table.devices.append(device)

    def _process(self, text: str) -> None:
        if self.table.vendor == "ascend":
            if found := _ASCEND_PROCESS.match(text):
                held = float(found[5]) * _MIB
                index = self._chip(int(found[1]), int(found[2]))
                self.table.processes.append(TableProcess(index, int(found[3]), found[4], held))
        elif found := _PROCESS.match(text):
            memory = None if found[4] is None else float(found[4]) * _MIB
            self.table.processes.append(
                TableProcess(int(found[1]), int(found[2]), found[3], memory)
            )

    def _chip(self, card: int, chip: int) -> int:
        """Return the index of a chip of a card: they are numbered through."""
        cards = max((one.index or 0 for one in self.table.devices), default=0) + 1
        chips = max(1, round(len(self.table.devices) / cards))
        return card * chips + chip if chips > 1 else card


def _framed(line: str) -> str:
    """Return the part of a line within its frame, "" where it has none."""
    places = [place for place in (line.find("|"), line.find("+-"), line.find("+=")) if place >= 0]
    return line[min(places) :].rstrip() if places else ""


def _cells(text: str) -> list[str]:
    return [cell.strip() for cell in text.strip("|").split("|")]


def _common(lines: list[tuple[int, str]], table: DeviceTable) -> TableDevice | None:
    number, first = lines[0]
    opened = _DEVICE.match(first)
    if opened is None:
        return None
    device = TableDevice(int(opened[1]), number, bus_id=bus_id(first))
    device.name = _NAME_ENDS.sub("", opened[2]).strip()
    cells = [(place, text, _cells(text)) for place, text in lines]
    if table.vendor == "nvidia" and (count := _COUNT.match(cells[0][2][-1])):
        device.put(UNCORRECTED, float(count[0]), number, first)
    for place, text, held in cells:
        if UTILIZATION not in device.values and (share := _SHARE.match(held[-1])):
            device.put(UTILIZATION, float(share[1]) / 100, place, text)
    for place, text, held in cells[1:2]:
        if found := _TEMPERATURE.search(held[0]):
            device.put(TEMPERATURE, float(found[1]), place, text)
        if power := _POWER.search(held[0]):
            device.put(POWER, float(power[1]), place, text)
            device.put(POWER_LIMIT, float(power[2]) if power[2] else None, place, text)
        if len(held) > 1 and (memory := _MEMORY.search(held[1])):
            device.put(MEMORY, float(memory[1]) * _MIB, place, text)
            device.put(MEMORY_LIMIT, float(memory[2]) * _MIB, place, text)
    whole = " ".join(text for _, text in lines)
    answers = {TEMPERATURE, UTILIZATION, POWER} & device.values.keys()
    said = _FAILED.findall(whole)
    if not answers and (len(said) >= _MOST_FAILED or "gpu is lost" in whole.lower()):
        device.failed = next((one for one in said if "lost" in one.lower()), said[0])
    return device


def _ascend(lines: list[tuple[int, str]], table: DeviceTable) -> TableDevice | None:
    number, first = lines[0]
    cells = _cells(first)
    opened = _DEVICE.match(first)
    if opened is None or len(lines) < 2 or len(cells) < 3:
        return None
    below, second = lines[1]
    index = len(table.devices)
    if (chip := _CHIP.match(second)) and chip[1] == "0" and chip[2] is None:
        index = int(opened[1])
    device = TableDevice(index, number, bus_id=bus_id(second), name=opened[2].strip())
    device.status = cells[1]
    numbers = cells[2].split()
    if len(numbers) > 1:
        device.put(POWER, _number(numbers[0]), number, first)
        device.put(TEMPERATURE, _number(numbers[1]), number, first)
    if found := _ASCEND_USAGE.match(_cells(second)[-1]):
        device.put(UTILIZATION, float(found[1]) / 100, below, second)
        device.put(MEMORY, float(found[2]) * _MIB, below, second)
        device.put(MEMORY_LIMIT, float(found[3]) * _MIB, below, second)
    return device


def _amd(lines: list[tuple[int, str]], table: DeviceTable) -> TableDevice | None:
    del table
    number, first = lines[0]
    opened = _AMD_DEVICE.match(first)
    if opened is None or len(lines) < 2:
        return None
    below, second = lines[1]
    index = re.match(r"\|\s*(\d{1,3})\b", second)
    device = TableDevice(
        None if index is None else int(index[1]), number, bus_id=opened[1], name=opened[2]
    )
    right, lower = _cells(first)[-1], _cells(second)[-1]
    if found := _TEMPERATURE.search(right):
        device.put(TEMPERATURE, float(found[1]), number, first)
        errors = _COUNT.match(right[found.end() :].strip())
        device.put(UNCORRECTED, float(errors[0]) if errors else None, number, first)
    if power := _AMD_POWER.search(right):
        device.put(POWER, float(power[1]), number, first)
        device.put(POWER_LIMIT, float(power[2]), number, first)
    if share := _SHARE.match(lower):
        device.put(UTILIZATION, float(share[1]) / 100, below, second)
    if memory := _MEMORY.search(lower):
        device.put(MEMORY, float(memory[1]) * _MIB, below, second)
        device.put(MEMORY_LIMIT, float(memory[2]) * _MIB, below, second)
    return device


def _number(text: str) -> float | None:
    return float(text) if re.fullmatch(r"\d+(?:\.\d+)?", text) else None
