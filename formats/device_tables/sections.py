"""`nvidia-smi -q`: a device a section, keys and values in sections by how far they are indented."""

import re

from . import fields
from .tables import DeviceTable, TableDevice, TableProcess, bus_id

_OPENS = re.compile(r"=+NVSMI LOG=+")
_DEVICE = re.compile(r"GPU ([0-9A-Fa-f]{8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f])\b")
_ROW = re.compile(r"(\s*)(\S[^:]*?)\s*(?::\s*(.*?)\s*)?$")
_FAILED = re.compile(r"GPU is lost|Unknown Error", re.IGNORECASE)
_MOST_FAILED = 3
"""So many values that say so; of one that has no sensor a value or two do."""
_PID = re.compile(r"[0-9]{1,9}")
_MIB = float(1 << 20)


class SectionTableReader:
    """Reads one answer of `nvidia-smi -q`. Feed it the line that opens one first."""

    def __init__(self, number: int, line: str) -> None:
        opened = _OPENS.search(line)
        assert opened is not None  # noqa: S101  as `opens` said
        self.table = DeviceTable("nvidia-smi -q", "nvidia", number)
        self._column = opened.start()
        self._path: list[tuple[int, str]] = []
        self._failed = 0
        self._process: dict[str, str] = {}

    @staticmethod
    def opens(line: str) -> bool:
        """Tell whether an answer begins with a line."""
        return "NVSMI LOG" in line and _OPENS.search(line) is not None

    def feed(self, number: int, line: str) -> bool:
        """Take the next line; return whether it may be of this answer."""
        text = line[self._column :].rstrip().expandtabs(4)
        if number == self.table.line or not text.strip():
            return True
        if self.opens(line):
            return False
        if found := _DEVICE.match(text):
            self._close_process()
            self.table.devices.append(
                TableDevice(len(self.table.devices), number, bus_id=bus_id(found[1]))
            )
            self._path, self._failed = [], 0
            return True
        row = _ROW.match(text)
        assert row is not None  # noqa: S101  of a line that is not blank
        depth, key, value = len(row[1]), row[2], row[3]
        if depth == 0 and (value is None or self.table.devices):
            return False  # some other line
        while self._path and self._path[-1][0] >= depth:
            self._path.pop()
        self._path.append((depth, key.lower()))
        if value is not None:
            self._value(number, key.lower(), value)
        return True

    def end(self) -> DeviceTable:
        """Return the answer."""
        self._close_process()
        return self.table

    def _value(self, number: int, key: str, value: str) -> None:
        if not self.table.devices:
            if key == "timestamp":
                self.table.stamp = value
            return
        device = self.table.devices[-1]
        if key == "product name":
            device.name = value
        elif key == "gpu uuid":
            device.uuid = value
        elif key == "process id":
            self._close_process()
            self._process = {"pid": value}
        elif self._process and key in ("name", "used gpu memory"):
            self._process[key] = value
        self._failed += _FAILED.search(value) is not None
        if self._failed >= _MOST_FAILED and not device.values:
            device.failed = value
        names = [name for _, name in self._path]
        field = next(
            (
                found
                for length in (3, 2)
                if (found := fields.by_path().get(_path(names[-length:]))) is not None
            ),
            None,
        )
        if field is not None and field.quantity not in device.values:
            device.put(field.quantity, field.value(value), number, f"{_path(names)}: {value}")
            if device.values:
                device.failed = ""

    def _close_process(self) -> None:
        held, self._process = self._process, {}
        if not held or not _PID.fullmatch(held["pid"]) or not self.table.devices:
            return
        memory = re.match(r"(\d+) MiB", held.get("used gpu memory", ""))
        index = self.table.devices[-1].index or 0
        self.table.processes.append(
            TableProcess(
                index,
                int(held["pid"]),
                held.get("name", ""),
                None if memory is None else float(memory[1]) * _MIB,
            )
        )


def _path(names: list[str]) -> str:
    """Return a path as fields.toml writes it: sections of power have a prefix in newer drivers."""
    return "/".join(name.removeprefix("gpu ") if " readings" in name else name for name in names)
