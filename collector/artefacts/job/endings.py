"""How the ranks of a dead job ended: by what a launcher listed, and by errors that have no time.

Python's errors and gloo's have no time. A rank logs them as it ends; one that a launcher asked to
end afterwards logged them before, when the first rank ended by itself. The steps of a log without
times ended before that, and before the time that the ranks waited in their last collective.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from ....vocabulary.log_lines import ENDS
from ....vocabulary.samples import Event, Sample

_ASKED = {9, 15, 2}
"""Signals by which a launcher ends the ranks that are left."""

_TIMED_OUT = re.compile(r"Timed out waiting (\d{1,12})ms for (?:recv|send) operation")
_FAILED = frozenset({"gloo.timeout", "gloo.connection_lost", "gloo.pair_closed"})
"""Signatures of a rank whose last collective failed."""

_DURATION = "training.step.duration"
UNDATED = 1e6
"""Times before this, in seconds, only keep the order of lines without one."""


@dataclass(slots=True)
class RankEndings:
    """What is known of the ends of all ranks.

    exits: by rank, when (s since the epoch) and the signal, 0 for none. failed: ranks whose last
    collective failed by their log. waited: the longest time that one of them waited in it, s, 0
    where none says so. faults, roots: ranks that logged any, and one that may be the cause. logs:
    ranks with a log of their own.
    """

    exits: dict[int, tuple[float, int]] = field(default_factory=dict[int, tuple[float, int]])
    failed: set[int] = field(default_factory=set[int])
    waited: float = 0.0
    faults: set[int] = field(default_factory=set[int])
    roots: set[int] = field(default_factory=set[int])
    logs: set[int] = field(default_factory=set[int])
    unnamed: list[float] = field(default_factory=list[float])
    """Of each line of no rank that says that a collective failed, how long it waited, 0 unsaid."""
    stood: float | None = None
    """When the last collective was launched, where dumps tell."""

    def learn(self, event: Event, rank: int | None) -> None:
        """Take what a line reports."""
        if rank is None:
            if event.attributes.get("signature") in _FAILED:
                self.unnamed.append(_waited(event))
            return
        if event.name == "process.exit" and event.at > UNDATED:
            signal = event.attributes.get("signal")
            self.exits.setdefault(rank, (event.at, signal if isinstance(signal, int) else 0))
        if event.name != "log.fault":
            return
        self.faults.add(rank)
        if event.attributes.get("role") == "root":
            self.roots.add(rank)
        if event.attributes.get("signature") in _FAILED:
            self.failed.add(rank)
            self.waited = max(self.waited, _waited(event))

    def dumped(self, ranks: Collection[int]) -> None:
        """Take the ranks that left dumps: where as many lines of no rank say so, theirs failed."""
        if not self.failed and 0 < len(ranks) <= len(self.unnamed):
            self.failed |= set(ranks)
            self.waited = max(self.waited, *self.unnamed)

    @property
    def first(self) -> float | None:
        """Return when the first rank ended that nobody asked to; None where no end is listed."""
        own = [at for at, signal in self.exits.values() if signal not in _ASKED]
        return min(own or [at for at, _ in self.exits.values()], default=None)

    @property
    def silent(self) -> list[int]:
        """Return the ranks whose logs say nothing of an end, where other ranks' collectives failed.

        They wait for one of these: a rank that waits in a collective logs that it failed.
        """
        ended = {rank for rank, (_, signal) in self.exits.items() if signal not in _ASKED}
        return sorted(self.logs - self.faults - ended) if self.failed else []

    def of(self, rank: int | None, otherwise: float) -> float:
        """Return when a rank logged what has no time."""
        first = self.first
        at, signal = self.exits.get(-1 if rank is None else rank, (otherwise, 0))
        if first is None or (signal not in _ASKED and at != otherwise):
            return at
        return first

    def dated(
        self, samples: Iterable[tuple[int | None, Sample]], otherwise: float
    ) -> list[tuple[int | None, Sample]]:
        """Return the samples with times: those of lines without one end before the rank's end."""
        every = list(samples)
        if self.stood is not None and any(sample.at >= UNDATED for _, sample in every):
            return [(rank, sample) for rank, sample in every if sample.at >= UNDATED]
        moved = self.moved(every, otherwise)
        if not moved:
            return every
        return [
            (rank, Sample(one.metric, one.value, moved.get((rank, one.at), one.at), one.attributes))
            for rank, one in every
        ]

    def moved(
        self, samples: Sequence[tuple[int | None, Sample]], otherwise: float
    ) -> dict[tuple[int | None, float], float]:
        """Return the times of lines without one, by rank and order."""
        own: dict[int | None, list[Sample]] = {}
        for rank, sample in samples:
            if sample.at < UNDATED:
                own.setdefault(rank, []).append(sample)
        return {
            (rank, at): to
            for rank, of_rank in own.items()
            for at, to in self._steps(rank, of_rank, otherwise)
        }

    def _steps(
        self, rank: int | None, samples: Sequence[Sample], otherwise: float
    ) -> list[tuple[float, float]]:
        """Return (order, time) of lines without a time, newest first: as far apart as they say."""
        took = {one.at: one.value for one in samples if one.metric == _DURATION}
        usual = sorted(took.values())[len(took) // 2] if took else 1.0
        at = self.of(rank, otherwise) - self.waited if self.stood is None else self.stood
        found: list[tuple[float, float]] = []
        for order in sorted({one.at for one in samples}, reverse=True):
            found.append((order, at))
            seconds = took.get(order, usual)
            at -= seconds if 0 < seconds < UNDATED else usual
        return found

    def without_words(self, at: float) -> list[tuple[int, Event]]:
        """Return what stands for the silence of ranks.

        Where no end is listed but of ranks that lost a peer, and no collective timed out, a rank
        went away: one that logged an error of its own, else one that says nothing.
        """
        found: list[tuple[int, Event]] = []
        silent = self.silent if len(self.silent) <= len(self.failed) else []
        if self.failed and not self.waited and self.exits.keys() <= self.failed:
            ended = at if self.first is None else self.first - 1.0
            found += [
                (rank, Event("process.exit", ended, {"rank": rank}))
                for rank in sorted(self.roots) or silent
            ]
        pairs = {"signature": ENDS, "role": "confirmation",
                 "text": "the log of this rank ends without an error"}  # fmt: skip
        return [*found, *((rank, Event("log.fault", at, pairs)) for rank in silent)]

    def missing(self) -> list[str]:
        """Return what would tell the silent ranks apart, where they are several."""
        silent = self.silent
        if len(silent) < 2 or self.roots or self.first is not None:
            return []
        ranks = ", ".join(map(str, silent[:16]))
        return [
            f"which of ranks {ranks} the others waited for: no log of these says how they ended"
        ]


def _waited(event: Event) -> float:
    """Return how long a line says that its collective waited, s; 0 where it does not."""
    found = _TIMED_OUT.search(str(event.attributes.get("text", "")))
    return int(found[1]) / 1000 if found else 0.0
