"""Reads a whole kernel log: when each telling line was written, on which host, in which boot.

A line without anything before it continues the one above. Times since boot become times of day by
lines that have both, or by what the kernel logs of its real-time clock and of audits.
"""

import re
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import tzinfo

from . import records, signatures
from .records import KernelRecord

MOST_ABOVE = 16
"""So many lines above a continued one are looked at."""
_BACK_SECONDS = 5.0
"""Lines of several CPUs may stand in another order; a boot starts at nought again."""

_CLOCK = re.compile(r"(?:setting system clock to .{0,40}\(|\baudit\()(\d{10})(?:\.(\d{1,6}))?")
_NAMED = re.compile(r"(?:Hostname set to|Set hostname to) <([A-Za-z0-9][\w.-]{0,252})>")
_BOOT = re.compile(r"-- (?:Boot [0-9a-f]{32}|Reboot) --")
_FIELD = re.compile(
    r'\s*(?:(?P<name>[A-Z_]{3,40})=|"(?P<json>pri|time|msg)":\s*)(?P<value>.*?),?\s*$', re.DOTALL
)
_MICROSECONDS = re.compile(r"[0-9]{1,19}")
_TIMES = (
    b"Linux version ", b"setting system clock", b"audit(", b"Hostname set to", b"Set hostname to",
    b"-- Boot ", b"-- Reboot", b"MESSAGE=", b"_TIMESTAMP=", b"_HOSTNAME=", b'"time":', b'"msg":',
)  # fmt: skip
"""What lines have that say when or where others were written."""
_NOTED = re.compile(b"|".join(map(re.escape, _TIMES)))
_SECONDS = re.compile(r"\d{1,12}\.\d{1,9}")
_FIRST = "Linux version "
"""What a kernel logs first."""
_LONGEST = 65_536


@dataclass(frozen=True, slots=True)
class KernelLogLine:
    """A line that may tell of a fault. at: seconds since the epoch, None where the line has none.

    uptime: seconds since boot; boot: which of the log's boots it is of, oldest 0. headed: the line
    or one that it continues says when; kernels: it bears the mark of a kernel's log.
    """

    number: int
    text: str
    host: str
    at: float | None
    uptime: float | None
    boot: int
    headed: bool
    kernels: bool


@dataclass(slots=True)
class LoggedBoot:
    """One boot. began: seconds since the epoch, None where nothing tells; last: newest uptime.

    line: the first that was read of it.
    """

    began: float | None = None
    last: float = 0.0
    line: int = 1


def texts() -> tuple[bytes, ...]:
    """Return the texts of lines that a reading looks at."""
    return (*signatures.texts(), *_TIMES)


@dataclass(slots=True)
class KernelLogReading:
    """Reads one log. `near` gives times without a year theirs (see records.line)."""

    zone: tzinfo | None
    near: float | None
    boots: list[LoggedBoot] = field(default_factory=lambda: [LoggedBoot()])
    host: str = ""
    """The host that the log last named."""
    _last: KernelRecord | None = None
    _number: int = 1
    _entry: dict[str, str] = field(default_factory=dict[str, str])

    def read(self, lines: Iterable[tuple[int, bytes, bool]]) -> Iterator[KernelLogLine]:
        """Yield the lines that may tell of a fault; `lines` are numbers, lines, and in order.

        Some may be left out. Needed are the first, those with one of `texts()`, MOST_ABOVE above
        each of these, and so many at the end. With each stands whether it may have a text.
        """
        above: deque[bytes] = deque(maxlen=MOST_ABOVE)
        for number, data, named in lines:
            self._number = number
            telling = named and signatures.relevant(data)
            noted = telling or (named and _NOTED.search(data) is not None)
            if not noted and number > 1:
                above.append(data)
                continue
            record = self._record(data[:_LONGEST])
            if record is not None and not record.headed:
                record = self._continued(record, above)
            above.clear()
            if record is None:
                continue
            self._learn(record)
            if telling or signatures.relevant(record.text.encode()):
                yield self._line(number, record)
        if above:
            record = self._record(above[-1][:_LONGEST])
            if record is not None and record.headed:
                self._learn(record)

    def settle(self, until: float | None) -> None:
        """Give boots without a time one: the newest ended at `until`, where that is known."""
        for boot in reversed(self.boots):
            if boot.began is None and until is not None:
                boot.began = until - boot.last
            until = boot.began

    def when(self, line: KernelLogLine) -> float | None:
        """Return when a line was written, by itself or by its boot."""
        began = self.boots[line.boot].began
        if line.at is not None or line.uptime is None or began is None:
            return line.at
        return began + line.uptime

    def booted(self, line: KernelLogLine) -> float | None:
        """Return how long its host had run when a line was written, s; None: not known."""
        began, at = self.boots[line.boot].began, line.at
        if line.uptime is not None or began is None or at is None:
            return line.uptime
        return at - began

    def _record(self, data: bytes) -> KernelRecord | None:
        text = records.unescaped(data).rstrip("\r\n")
        if _BOOT.match(text.strip()):
            self._boot()
            return None
        if (found := _FIELD.match(text)) is not None:
            return self._exported(found)
        return records.line(text, self.zone, self.near)

    def _exported(self, found: re.Match[str]) -> KernelRecord | None:
        """Take a field of an entry that stands on several lines; its message is the record."""
        name, value = found["name"] or found["json"], found["value"]
        if name in ("__REALTIME_TIMESTAMP", "_SOURCE_REALTIME_TIMESTAMP", "pri"):
            host = self._entry.get("_HOSTNAME", "")
            self._entry = {"_HOSTNAME": host, name: value}
        elif name in ("MESSAGE", "msg"):
            text = value.strip('"') if name == "msg" else value
            return self._entered(records.line(text, self.zone, self.near))
        elif len(self._entry) < 64:
            self._entry[name] = value
        return None

    def _entered(self, record: KernelRecord) -> KernelRecord:
        """Return a message with what the fields before it say."""
        entry = self._entry
        micro = entry.get("__REALTIME_TIMESTAMP") or entry.get("_SOURCE_REALTIME_TIMESTAMP") or ""
        at = int(micro) / 1e6 if _MICROSECONDS.fullmatch(micro) else record.at
        seconds = _SECONDS.fullmatch(entry.get("time", ""))
        uptime = float(seconds[0]) if seconds else record.uptime
        host = record.host or entry.get("_HOSTNAME", "")
        return replace(record, at=at, uptime=uptime, host=host, kernels=True)

    def _continued(self, record: KernelRecord, above: Iterable[bytes]) -> KernelRecord:
        """Return a line that has no head with that of the nearest line above that has one."""
        before = self._last
        for data in reversed(list(above)):
            found = self._record(data[:_LONGEST])
            if found is not None and found.headed:
                self._learn(found)
                before = self._last
                break
        if before is None:
            return record
        return replace(before, text=record.text.lstrip(), since=None)

    def _learn(self, record: KernelRecord) -> None:
        """Learn the host, and how the boot's clock stands to that of the day."""
        before = self._last
        if record.since is not None and before is not None and record.at is None:
            at = None if before.at is None else before.at + record.since
            record = replace(before, text=record.text, at=at)
        boot = self.boots[-1]
        if record.uptime is not None:
            if record.uptime < boot.last - _BACK_SECONDS:
                boot = self._boot()
            boot.last = max(boot.last, record.uptime)
            at = record.at
            if at is None and (clock := _CLOCK.search(record.text)):
                at = float(f"{clock[1]}.{clock[2] or 0}")
            if at is not None and boot.began is None:
                boot.began = at - record.uptime
        elif record.at is not None and record.text.startswith(_FIRST):
            boot = boot if boot.began is None and boot is self.boots[0] else self._boot()
            boot.began, boot.line = record.at, self._number
        if named := _NAMED.search(record.text):
            self.host = named[1]
        self.host = record.host or self.host
        if record.headed:
            self._last = record

    def _boot(self) -> LoggedBoot:
        self.boots.append(LoggedBoot(line=self._number))
        return self.boots[-1]

    def _line(self, number: int, record: KernelRecord) -> KernelLogLine:
        last = self._last
        at = record.at
        if at is None and record.since is not None and last is not None:
            at = last.at
        return KernelLogLine(
            number=number,
            text=record.text,
            host=record.host or self.host,
            at=at,
            uptime=record.uptime,
            boot=len(self.boots) - 1,
            headed=record.headed,
            kernels=record.kernels,
        )
