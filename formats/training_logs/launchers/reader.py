"""Lines of a log to what launchers reported in them."""

import re
import signal
from collections.abc import Iterable, Iterator, Sequence
from datetime import tzinfo
from functools import cache

from ... import needles
from .. import behind_bars, cleaning, times
from ..prefilter import TextPrefilter
from .forms import LaunchForm, catalogue
from .pods import NEEDLES, PodDescription, index_of
from .reports import LaunchReport

_LONGEST_LINE = 1 << 20
_TAIL = 1 << 15
_MOST_TASKS = 100_000
_LOOK_BACK = 300
"""Lines before one without a time among which one with a time is looked for."""
_HEAD = 500
_RANGE = re.compile(r"(\d{1,7})(?:-(\d{1,7}))?")
_EPOCH = re.compile(r"\d{10}(?:\.\d{1,9})?")
_WORDS = {
    "killed": 9, "terminated": 15, "aborted": 6, "segmentation fault": 11, "bus error": 7,
    "floating point exception": 8, "illegal instruction": 4, "hangup": 1, "interrupt": 2,
    "quit": 3, "trace/breakpoint trap": 5, "abort trap": 6, "abort": 6, "trace trap": 5,
    "illegal hardware instruction": 4, "user defined signal 1": 10, "user defined signal 2": 12,
}  # fmt: skip
"""Signals as strsignal() names them: glibc's, macOS's, zsh's."""


def read(
    pieces: Iterable[bytes], *, zone: tzinfo | None = None, near: float | None = None
) -> Iterator[LaunchReport]:
    """Yield what launchers reported in a log, given in pieces of any size, in its order.

    zone: of times without one, None: the machine's. near: a time close to that of lines that name
    no year.
    """
    reader = LaunchLines(zone, near)
    rest = b""
    for piece in pieces:
        data = rest + piece if rest else piece
        cut = data.rfind(b"\n") + 1
        rest = data[cut:]
        if len(rest) > _LONGEST_LINE:
            data, rest, cut = data + b"\n", b"", len(data) + 1
        if cut:
            yield from reader.block(data[:cut])
    if rest:
        yield from reader.block(rest + b"\n")
    yield from reader.end()


class LaunchLines:
    """Follows the lines of one log; zone and near as for `read`."""

    def __init__(self, zone: tzinfo | None, near: float | None) -> None:
        self._zone = zone
        self._near = near
        self._prefilter = _prefilter()
        self._last_at: float | None = None
        self._opened: dict[str, tuple[int, dict[str, str], str]] = {}
        """By form: the line that had it last, what it named, and its text."""
        self._look_until = 0
        """Up to this line every one is looked at: a form that another one follows was seen."""
        self._pod = PodDescription()
        self._before = 0
        self._tail = b""
        """Lines before the block, and the end of the last one of them."""

    def block(self, data: bytes, places: Sequence[int] | None = None) -> Iterator[LaunchReport]:
        """Look at whole lines; most blocks have none that matters, and cost one search.

        places: where `texts` stand in them, ascending, where that is known already.
        """
        if places is None:
            places = self._prefilter.find(data)
        if places or self._look_until > self._before or self._pod.open:
            yield from self._lines(data, places)
        self._before += data.count(b"\n")
        self._tail = (self._tail + data)[-_TAIL:]

    def _lines(self, data: bytes, places: Sequence[int]) -> Iterator[LaunchReport]:
        lines = data.split(b"\n")[:-1]
        start = place = seen = 0
        for index, line in enumerate(lines):
            number = self._before + 1 + index
            end = start + len(line) + 1
            named = False
            while place < len(places) and places[place] < end:
                named, place = True, place + 1
            if named or number <= self._look_until or self._pod.open:
                if not seen:
                    self._date(self._tail.split(b"\n"))
                self._date(lines[max(seen, index - _LOOK_BACK) : index])
                seen = index
                reports = list(self._pieces(line, number))
                _, turned, last = line.rstrip(b"\r").rpartition(b"\r")
                if turned and not reports:  # behind what a bar wrote on the same line
                    reports = list(self._pieces(last, number))
                yield from reports
            start = end

    def end(self) -> Iterator[LaunchReport]:
        """Take the end of the log."""
        yield from self._pod.end()

    def _date(self, lines: list[bytes]) -> None:
        """Learn the time of the newest of some lines that has one."""
        for line in reversed(lines):
            cleaned = cleaning.clean(line[:_HEAD])
            at = times.read(cleaned.stamp or cleaned.text, self._zone, self._last_at or self._near)
            if at is not None:
                self._last_at = at
                return

    def _pieces(self, line: bytes, number: int) -> Iterator[LaunchReport]:
        for piece in behind_bars.parted(line[: cleaning.LONGEST]):
            yield from self._line(piece, number)

    def _line(self, line: bytes, number: int) -> Iterator[LaunchReport]:
        cleaned = cleaning.clean(line)
        text = cleaned.text
        stamped = times.read(cleaned.stamp or text, self._zone, self._last_at or self._near)
        self._last_at = stamped if stamped is not None else self._last_at
        yield from self._pod.read(text, number)
        for form, found in needles.matches(catalogue(), text):
            groups = {name: value for name, value in found.groupdict().items() if value}
            before = self._opener(form, number)
            if before is None:
                continue
            named, opener = before
            groups = named | groups
            whole = f"{opener} {text}" if opener else text
            code = {} if form.code is None else {"code": str(form.code)}
            self._opened[form.name] = (number, code | groups, whole)
            if form.name in _openers():
                self._look_until = max(self._look_until, number + _openers()[form.name])
            yield self._report(form, number, whole, groups, stamped)
            return

    def _opener(self, form: LaunchForm, number: int) -> tuple[dict[str, str], str] | None:
        """Return what the line named that a form needs before it, and it; None: there is none."""
        if not form.after:
            return {}, ""
        known = [self._opened[name] for name in form.after if name in self._opened]
        known = [one for one in known if number - one[0] <= form.within]
        if not known:
            return None
        _, groups, text = max(known, key=lambda one: one[0])
        return groups, text

    def _report(
        self,
        form: LaunchForm,
        number: int,
        text: str,
        groups: dict[str, str],
        stamped: float | None,
    ) -> LaunchReport:
        own = _moment(groups.get("time", ""), self._zone)
        at = own if own is not None else stamped
        return LaunchReport(
            form,
            number,
            cleaning.shown(text),
            tasks=_numbers(form, groups),
            host=cleaning.shown(groups.get("host", "")) or self._described(form),
            pod=cleaning.shown(groups.get("pod", "")),
            job=groups.get("job", ""),
            pid=int(groups["pid"]) if "pid" in groups else None,
            code=_code(form, groups),
            size=int(groups.get("size", 0)),
            at=self._last_at if at is None else at,
            dated=at is not None,
        )

    def _described(self, form: LaunchForm) -> str:
        """Return the node of the pod that was described just before its events."""
        return self._pod.place if form.name.startswith("kubernetes.") else ""


def texts() -> tuple[bytes, ...]:
    """Return what a line has that a launcher may have written, one of these at least."""
    return _prefilter().texts


@cache
def _prefilter() -> TextPrefilter:
    return TextPrefilter([*(form.needle for form in catalogue() if not form.after), *NEEDLES])


@cache
def _openers() -> dict[str, int]:
    """Return by form how many lines behind it one that belongs to it may stand."""
    found: dict[str, int] = {}
    for form in catalogue():
        for name in form.after:
            found[name] = max(found.get(name, 0), form.within)
    return found


def _moment(text: str, zone: tzinfo | None) -> float | None:
    if _EPOCH.fullmatch(text):
        return float(text)
    return times.read(text, zone) if text else None


def _numbers(form: LaunchForm, groups: dict[str, str]) -> tuple[int, ...]:
    """Return the processes that a line is about; a pod's is that of its name."""
    if form.counts == "pod":
        index = index_of(groups.get("host", ""))
        return () if index is None else (index,)
    named = _tasks(groups.get("tasks", ""))
    return named or (() if form.task is None else (form.task,))


def _tasks(text: str) -> tuple[int, ...]:
    """Return the numbers of a list as `0-3,5`."""
    found: list[int] = []
    for part in _RANGE.finditer(text):
        first = int(part[1])
        last = int(part[2] or first)
        found += range(first, min(last, first + _MOST_TASKS - len(found)) + 1)
    return tuple(found)


def _code(form: LaunchForm, groups: dict[str, str]) -> int | None:
    """Return an exit code, negative for a signal."""
    if named := groups.get("signal"):
        number = _signal(named)
        if number is not None:
            return -number
    if code := groups.get("code"):
        number = int(code)
        return 128 - number if 128 < number < 160 else number
    return form.code


def _signal(named: str) -> int | None:
    text = named.strip().lower()
    if text.isdigit():
        return int(text)
    if text in _WORDS:
        return _WORDS[text]
    name = text.upper() if text.startswith("sig") else f"SIG{text.upper()}"
    return int(signal.Signals[name]) if name in signal.Signals.__members__ else None
