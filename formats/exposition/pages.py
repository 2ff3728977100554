"""Pages of one exporter: read in pieces, and cheaply from the second one on.

An exporter answers the same series each time. What a series means is therefore asked once (`bind`)
and remembered by the very text that stands before the value: an unchanged line costs a look into a
dictionary and one number.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from . import lines
from .errors import ForeignPageError, PageTooLargeError
from .lines import ExpositionSeries

MAX_BYTES = 16 << 20
"""A busy exporter writes 1-3 MB; 16 MiB is no metrics page of one node."""
_MAX_LINE = 64 << 10
_MAX_KNOWN = 400_000
_STALE_SECONDS = 300.0
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"

T = TypeVar("T")


@dataclass(slots=True)
class PageContents(Generic[T]):
    """What a page holds: the values of the series that are wanted, in its order.

    `problems` counts: `bad_line`, `duplicate` (the first one holds), `too_long` (a line), `cut`
    (the last line does not end: its number may be half of one), `stale_timestamp` (more than five
    minutes from now; no timestamp is used as a time).
    """

    values: list[tuple[T, float]] = field(default_factory=list)
    problems: Counter[str] = field(default_factory=Counter)
    lines: int = 0
    series: int = 0
    size: int = 0


class PageReader(Generic[T]):
    """Reads the pages of one exporter.

    `bind` maps a series to what it is for the caller, None for one that is not wanted; it is
    asked once a series. Not for two threads at once.
    """

    def __init__(
        self, bind: Callable[[ExpositionSeries], T | None], *, max_bytes: int = MAX_BYTES
    ) -> None:
        self._bind = bind
        self._max_bytes = max_bytes
        self.forgotten = 0
        self._known: dict[str, tuple[int, T | None]] = {}
        # By hash: thousands of series with their labels would cost megabytes.
        self._series: dict[int, tuple[int, T | None]] = {}

    def read(self, pieces: Iterable[bytes], *, now: float) -> PageContents[T]:
        """Read a page that comes in pieces. `now` judges timestamps, seconds since the epoch.

        Raises ForeignPageError or PageTooLargeError, and whatever `pieces` raises.
        """
        page: PageContents[T] = PageContents()
        seen: set[int] = set()
        rest, skipping, looked = b"", False, False
        for piece in pieces:
            page.size += len(piece)
            if page.size > self._max_bytes:
                raise PageTooLargeError(
                    f"more than {self._max_bytes} bytes were answered and the rest was not read; "
                    "is this the metrics page of one node? Else raise exporters.max_bytes"
                )
            rest += piece
            if not looked and rest.strip():
                looked = True
                rest = rest.removeprefix(_BYTE_ORDER_MARK)
                _refuse_foreign(rest)
            whole, newline, rest = rest.rpartition(b"\n")
            if newline:
                text = whole.decode("utf-8", "replace")
                if skipping:
                    text = text.partition("\n")[2]
                    skipping = False
                self._take(text, page, seen, now)
            if len(rest) > _MAX_LINE:
                if not skipping:
                    page.problems["too_long"] += 1
                rest, skipping = b"", True
        if rest.strip() and not rest.lstrip().startswith(b"#"):
            page.problems["cut"] += 1
        if not page.series and (page.problems["bad_line"] or page.problems["cut"]):
            raise ForeignPageError(
                f"none of its {page.lines} lines is a metric in the Prometheus text format; "
                "check the path of the URL (usually /metrics)"
            )
        self._shrink(len(seen))
        return page

    def _take(self, text: str, page: PageContents[T], seen: set[int], now: float) -> None:
        known, wanted, problems = self._known, page.values, page.problems
        for line in text.split("\n"):
            if not line or line[0] == "#":
                continue
            head, _, tail = line.rpartition("} ")
            if not head:
                head, _, tail = line.partition(" ")
            entry = known.get(head)
            try:
                if entry is None or "_" in tail or "#" in tail:
                    entry, number, stamp = self._slowly(line)
                    if entry is None:
                        continue
                elif " " in tail:
                    first, _, second = tail.partition(" ")
                    number, stamp = float(first), float(second)
                else:
                    number, stamp = float(tail), None
                if stamp is not None and not _recent(stamp, now):
                    problems["stale_timestamp"] += 1
            except ValueError:  # BadLineError is one
                page.lines += 1
                problems["bad_line"] += 1
                continue
            page.lines += 1
            which, bound = entry
            if which in seen:
                problems["duplicate"] += 1
                continue
            seen.add(which)
            page.series += 1
            if bound is not None:
                wanted.append((bound, number))

    def _slowly(self, line: str) -> tuple[tuple[int, T | None] | None, float, float | None]:
        """Read a line exactly, and remember its series."""
        line = line.strip()
        if not line or line[0] == "#":
            return None, math.nan, None
        text, rest = lines.split(line)
        number, stamp = lines.tail(rest)
        head = text.removesuffix("}")
        entry = self._known.get(head)
        if entry is None:
            series = lines.series(text)
            which = hash(series)
            entry = self._series.get(which)
            if entry is None:
                entry = self._series[which] = (which, self._bind(series))
            self._known[head] = entry
        return entry, number, stamp

    def _shrink(self, live: int) -> None:
        """Forget series that are long gone, such as those of pods and processes."""
        if len(self._known) > min(_MAX_KNOWN, 2 * live + 500):
            self.forget()

    def forget(self) -> None:
        """Ask again what each series is; `forgotten` counts."""
        self._known.clear()
        self._series.clear()
        self.forgotten += 1


def parse(data: bytes, *, now: float = 0.0) -> PageContents[ExpositionSeries]:
    """Read one page as it is: every series is wanted."""
    return PageReader(lambda series: series, max_bytes=len(data) + 1).read([data], now=now)


def _recent(stamp: float, now: float) -> bool:
    """Return whether a timestamp, in milliseconds as the format says, is about now."""
    return abs(stamp / 1000.0 - now) <= _STALE_SECONDS


def _refuse_foreign(start: bytes) -> None:
    begins = start.lstrip()[:200].lower()
    if begins.startswith(b"<"):
        raise ForeignPageError(
            "a web page (HTML) was answered, not metrics; check port and path (usually /metrics), "
            "and whether a proxy or a login stands before it"
        )
    if begins.startswith((b"{", b"[")):
        raise ForeignPageError("JSON was answered, not the Prometheus text format; check the path")
