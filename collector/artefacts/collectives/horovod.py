"""Stalls as Horovod's coordinators log them: which ranks did not submit which operation.

A warning comes every minute (or as often as the job sets it) while a stall lasts, and lists all
that stands still then. Up to 0.13.10 it named the ranks that had submitted an operation, up to
0.16.1 those that had not, a line each; later it lists by rank the first six of its operations.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from ....formats.training_logs.watchdog import WatchdogReport
from ....vocabulary.samples import Event
from ..job.size import MOST_RANKS
from . import differing

_SIGNATURES = frozenset({"horovod.stall_warning", "horovod.stalled"})

_BEGINS = re.compile(
    r"by subset of ranks and are waiting for remainder of ranks for more than (\d{1,9}) second"
    r"|^Stalled ops:"
)
_OF_OPERATION = re.compile(
    r"(?P<op>[^\s\[]{1,400}) \[(?P<kind>missing|ready) ranks: ?(?P<ranks>\d{1,7}(?:, ?\d{1,7})*)\]"
)
_OF_RANK = re.compile(r"^(?P<rank>\d{1,7})!?: \[(?P<ops>[^\]]*)(?P<end>\]?)")
_MORE = " ..."
"""Stands behind the last operation of a list that goes on, in the order of names."""

_SECONDS = 60.0
"""Between two warnings, where none says it."""


@dataclass(slots=True)
class HorovodStall:
    """All that the lines of the newest warning say, and since when there are warnings.

    `missing`, `ready`: by operation the ranks that did not submit it, or that did. `listed`: by
    rank the last operation of its list, where that goes on. `last`: file and number of the newest
    line, "" where there is none.
    """

    missing: dict[str, set[int]] = field(default_factory=dict[str, set[int]])
    ready: dict[str, set[int]] = field(default_factory=dict[str, set[int]])
    listed: dict[int, str] = field(default_factory=dict[int, str])
    last: tuple[str, int] = ("", 0)
    _begun: float | None = None
    _at: float | None = None
    _seconds: float = _SECONDS

    def learn(self, text: str, at: float | None) -> None:
        """Take the text of a line, written at `at` where it says so."""
        if begins := _BEGINS.search(text):
            self.missing, self.ready, self.listed = {}, {}, {}
            self._seconds = float(begins[1] or _SECONDS)
        for found in _OF_OPERATION.finditer(text):
            of = self.missing if found["kind"] == "missing" else self.ready
            of.setdefault(found["op"], set()).update(_numbers(found["ranks"]))
        if listed := _OF_RANK.match(text.strip()):
            self._list(listed)
        self._at = self._at if at is None else at
        if self._begun is None and self._at is not None:
            self._begun = self._at - self._seconds

    @property
    def report(self) -> tuple[float | None, WatchdogReport]:
        """Return when the newest line was written, and what it says of a rank that waits."""
        if self._at is None or self._begun is None:
            return None, WatchdogReport(ran=self._seconds)
        return self._at, WatchdogReport(ran=max(self._at - self._begun, self._seconds))

    def shift(self, seconds: float) -> None:
        """Move all times by so much."""
        self._at = None if self._at is None else self._at + seconds
        self._begun = None if self._begun is None else self._begun + seconds

    def _list(self, found: re.Match[str]) -> None:
        rank = int(found["rank"])
        if rank >= MOST_RANKS:
            return
        names = [one.strip() for one in found["ops"].removesuffix(_MORE).split(",")]
        if not found["end"] and len(names) > 1:
            names.pop()  # cut off in the middle
        for name in names:
            self.missing.setdefault(name, set()).add(rank)
        if not found["end"] or found["ops"].endswith(_MORE):
            self.listed[rank] = names[-1]

    def _lacking(self, size: int) -> Iterator[set[int]]:
        """Yield by operation the ranks that have not submitted it, of a job of `size` or more."""
        ranks = set(range(size)).union(*self.missing.values(), *self.ready.values())
        ranks |= set(range(max(ranks, default=-1)))
        for name, missing in self.missing.items():
            further = {r for r, last in self.listed.items() if name > last} - missing
            # Somebody submitted what others wait for: of all ranks the only one that may lack it.
            alone = len(further) == 1 and ranks <= missing | further
            yield missing if alone else missing | further
        for ready in self.ready.values():
            yield ranks - ready

    def late(self, size: int = 0) -> frozenset[int]:
        """Return the ranks that submitted nothing of what the others wait for."""
        lacking = list(self._lacking(size))
        return frozenset(set.intersection(*lacking)) if lacking else frozenset()

    def apart(self, size: int = 0) -> frozenset[int]:
        """Return ranks that wait for others which wait for them: they did not submit the same."""
        lacking = list(self._lacking(size))
        if not lacking or set.intersection(*lacking):
            return frozenset()
        every = set[int]().union(*lacking)
        called = {rank: tuple(rank in missing for missing in lacking) for rank in every}
        return frozenset(differing.smaller_sides(called))

    @property
    def waiting(self) -> int:
        """Return a rank that waits: the coordinator, which logs it, or the first one after it."""
        rank, late = 0, self.late()
        while rank in late:
            rank += 1
        return rank


def is_stall(event: Event) -> bool:
    """Tell whether an event is such a line."""
    return event.attributes.get("signature") in _SIGNATURES


def _numbers(written: str) -> set[int]:
    return {rank for rank in map(int, written.split(",")) if rank < MOST_RANKS}
