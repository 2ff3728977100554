"""Tables of a host beside its devices: `df`, `free`, `ibstat`, `ibv_devinfo`."""

import re

from .tables import HostTable, ShownPort

_ROW = re.compile(r"\S.*\s(\d{1,3})%\s+(/\S*)\s*$")
_MEMORY = re.compile(r"\s*Mem:\s+(\S+)\s+\S+\s+\S+\s+\S+\s+\S+\s+(\S+)\s*$")
_SIZE = re.compile(r"(\d+(?:\.\d+)?)([KMGTP]?)(i?)B?$")
_POWERS = "KMGTP"
_CARD = re.compile(r"\s*(?:CA '([\w.-]+)'|hca_id:\s*(\S+))")
_PORT = re.compile(r"\s*[Pp]ort:?\s+(\d+):?\s*$")
_STATE = re.compile(r"\s*(?:State: (\w+)|state:\s+PORT_(\w+))")
_PHYSICAL = re.compile(r"\s*(?:Physical state: (\w+)|phys_state:\s+(\w+))")
_KEY = re.compile(r"\s*[\w /()-]{2,40}:\s")


class DiskTableReader:
    """Reads one output of `df`. Feed it the header first."""

    def __init__(self, number: int, line: str) -> None:
        del line
        self.table = HostTable("df", number)

    @staticmethod
    def opens(line: str) -> bool:
        """Tell whether a line is the header of `df`, of bytes and not of inodes."""
        return line.rstrip().endswith("Mounted on") and " Use%" in line

    def feed(self, number: int, line: str) -> bool:
        """Take the next line; return whether it may be of this output."""
        if number == self.table.line:
            return True
        found = _ROW.match(line.strip())
        if found is None:
            return False
        self.table.filesystems[found[2]] = int(found[1]) / 100, number, line.strip()
        return True

    def end(self) -> HostTable:
        """Return the output."""
        return self.table


class MemoryTableReader:
    """Reads one output of `free`. Feed it the header first."""

    def __init__(self, number: int, line: str) -> None:
        self._factor = 1.0 if re.search(r"[KMGT]i?\b", line) else 1024.0
        self.table = HostTable("free", number)

    @staticmethod
    def opens(line: str) -> bool:
        """Tell whether a line is the header of `free`."""
        return "buff/cache" in line and "available" in line

    def feed(self, number: int, line: str) -> bool:
        """Take the next line; return whether it may be of this output."""
        if number == self.table.line:
            return True
        found = _MEMORY.match(line)
        if found is not None:
            total, available = self._bytes(found[1]), self._bytes(found[2])
            if total and available is not None:
                self.table.memory, self.table.text = (available, total), line.strip()
                self.table.line = number
        return False

    def end(self) -> HostTable:
        """Return the output."""
        return self.table

    def _bytes(self, text: str) -> float | None:
        """Return a size in bytes; without a unit all of one output have the same, KiB as a rule."""
        found = _SIZE.match(text)
        if found is None:
            return None
        power = 1 + _POWERS.index(found[2]) if found[2] else 0
        return float(found[1]) * (1024.0**power if power else self._factor)


class PortTableReader:
    """Reads one output of `ibstat` or `ibv_devinfo`. Feed it the first card's line first."""

    def __init__(self, number: int, line: str) -> None:
        self.table = HostTable("ibstat" if "CA '" in line else "ibv_devinfo", number)
        self._card = self._port = self._state = ""
        self._at, self._text = 0, ""

    @staticmethod
    def opens(line: str) -> bool:
        """Tell whether a line names a card as such an output does."""
        return ("CA '" in line or "hca_id:" in line) and _CARD.match(line) is not None

    def feed(self, number: int, line: str) -> bool:
        """Take the next line; return whether it may be of this output."""
        if found := _CARD.match(line):
            self._close("")
            self._card = found[1] or found[2]
        elif found := _PORT.match(line):
            self._close("")
            self._port = found[1]
        elif found := _STATE.match(line):
            self._state, self._at = (found[1] or found[2]).lower(), number
            self._text = line.strip()
        elif found := _PHYSICAL.match(line):
            self._close((found[1] or found[2]).lower())
        elif line.strip() and not _KEY.match(line):
            return False
        return True

    def end(self) -> HostTable:
        """Return the output."""
        self._close("")
        return self.table

    def _close(self, physical: str) -> None:
        if self._card and self._port and self._state:
            said = f", {physical}" if physical else ""
            text = f"{self._card} port {self._port}: {self._text}{said}"
            self.table.ports.append(
                ShownPort(self._card, self._port, self._state, physical, self._at, text)
            )
        self._state = ""
        if physical == "":
            self._port = ""
