"""A hang by what its ranks logged of it: who waited, who did not, who ended, and since when.

Whoever waits in a collective for the whole time-out logs that; the rank that the others wait for
does not. A live collector would have seen counters of collectives; here they follow from the
numbers in the lines of the watchdogs.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from ...vocabulary.log_lines import ENDS
from ...formats.training_logs import watchdog
from ...formats.training_logs.watchdog import WatchdogReport
from ...vocabulary.groups import ProcessGroup
from ...vocabulary.samples import Event, Sample, Scalar, attributes
from . import hung_groups
from .hung_groups import POINT_TO_POINT, RankStanding

_WATCHDOG = re.compile(r"^nccl\.(?:watchdog_timeout|watchdog_status|dump_signal)$")
_STUCK = re.compile(r"^nccl\.(?:watchdog_stuck|heartbeat_timeout)$")
_FATAL = re.compile(
    r"^(?:python\.(?:exception|segfault|bus_error|fatal_error)|cuda\.|gpu\.out_of_memory|"
    r"dataloader\.|shm\.exhausted)"
)
"""Signatures of errors that end the process of the rank which logs them."""

_WITHOUT_DURATION = 600.0
"""How long a collective ran whose line does not say it, in seconds: torch's own time-out."""

_ZONE_SECONDS, _MOST_ZONES = 900.0, 56
_MOST_APART = 100
"""Numbers in one group that lie further apart count something else on some of the ranks."""


@dataclass(slots=True)
class CollectiveHang:
    """What the watchdogs of all ranks reported, and the ranks that ended by an error of their own.

    `files`: ranks by the file that their lines are in. `joint`: files that hold lines of several.
    """

    reports: dict[int, list[tuple[float | None, WatchdogReport]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    fatal: dict[int, float | None] = field(default_factory=dict)
    files: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    stuck: set[int] = field(default_factory=set)

    def learn(self, event: Event, rank: int | None, at: float | None) -> Event:
        """Take what a line reports, written at `at` where it says so; return it as it is to stand.

        A line of a watchdog that has no time stands for the end of the wait, wherever it is.
        """
        if rank is None or event.name != "log.fault":
            return event
        signature = str(event.attributes.get("signature", ""))
        if _WATCHDOG.match(signature):
            report = watchdog.read(str(event.attributes.get("text", "")))
            if report is not None:
                self.reports[rank].append((at, report))
            return event if at is not None else replace(event, at=0.0)
        if _STUCK.match(signature) and any(one.seq is not None for _, one in self.reports[rank]):
            # It waits for the end of a communicator that it gave up.
            return replace(event, attributes={**event.attributes, "role": "cascade"})
        if _FATAL.match(signature) and event.attributes.get("role") == "root":
            self.fatal.setdefault(rank, event.at or None)
        return event

    def went_on(self, rank: int | None) -> None:
        """Note that a rank ended a step: what it logged before it survived."""
        self.fatal.pop(-1 if rank is None else rank, None)

    @property
    def waited(self) -> set[int]:
        """Return the ranks that waited in a collective for the whole time-out."""
        return {
            rank
            for rank, each in self.reports.items()
            if any(one.seq is not None or one.timed_out for _, one in each)
        }

    def zone_apart(self, stood: float | None) -> float:
        """Return by how much the times of logs are to be moved to agree with `stood`, s.

        That is when dumps say that the last collective was launched, in a zone that is known. Zones
        lie whole quarters of an hour apart; anything else is a difference of another kind: 0.
        """
        if stood is None or not any(at for each in self.reports.values() for at, _ in each):
            return 0.0
        apart = stood - self._times(stood)[0]
        zones = round(apart / _ZONE_SECONDS)
        off = abs(apart - zones * _ZONE_SECONDS)
        return zones * _ZONE_SECONDS if off < 60.0 and abs(zones) <= _MOST_ZONES else 0.0

    def shift(self, seconds: float) -> None:
        """Move all times by so much."""
        for each in self.reports.values():
            each[:] = [(None if at is None else at + seconds, one) for at, one in each]
        self.fatal = {
            rank: None if at is None else at + seconds for rank, at in self.fatal.items()
        }

    def story(self, newest: float, size: int, logs: Iterable[int]) -> "HangStory | None":
        """Return what follows from it all, None where no rank waited.

        `newest`: the time of the newest line that has one, s since the epoch. `size`: of the job, 0
        where it is not known. `logs`: ranks with a log of their own, or with lines in one.
        """
        waited = self.waited
        if not waited:
            return None
        began, until = self._times(newest)
        lacking = _Lacking(self, size, frozenset(logs) | self._spoke())
        known, size = size > 0, max(size, max(lacking.present) + 1)
        standing = hung_groups.standings(
            {rank: [one for _, one in each] for rank, each in self.reports.items()}
        )
        of_key = hung_groups.groups(standing, size)
        hung = [
            (group, {rank: standing[key][rank] for rank in reporting})
            for key, parts in of_key.items()
            for group, reporting in parts
        ]
        involved = {
            rank
            for group, ranks in hung
            if any(one.seq is not None for one in ranks.values())
            for rank in group.ranks
        }
        whole = not involved or any(
            len(group.ranks) >= size and any(one.seq is not None for one in ranks.values())
            for group, ranks in hung
        )
        counted = {rank for _, ranks in hung for rank in ranks}
        crashed = {rank: at for rank, at in self.fatal.items() if rank not in waited}
        silent = lacking.present - waited - counted - crashed.keys()
        if not whole:
            silent &= involved
        return HangStory(
            began=began,
            until=until,
            waited=waited,
            crashed={rank: max(at or began, began) for rank, at in crashed.items()},
            silent=silent,
            absent=lacking.absent & (involved or lacking.absent),
            sized=known,
            hung=[(_without(group, waited - ranks.keys()), ranks) for group, ranks in hung],
        )

    def _times(self, newest: float) -> tuple[float, float]:
        """Return when the ranks began to wait and when they gave up."""
        waits = [
            (at, one.ran or _WITHOUT_DURATION)
            for each in self.reports.values()
            for at, one in each
            if one.timed_out
        ] or [
            (at, _WITHOUT_DURATION)
            for each in self.reports.values()
            for at, one in each
            if one.seq is not None
        ]
        dated = [(at, ran) for at, ran in waits if at is not None]
        if dated:
            return min(at - ran for at, ran in dated), max(at for at, _ in dated)
        longest = max(ran for _, ran in waits)
        return newest, newest + longest

    def _spoke(self) -> set[int]:
        return set(self.reports) | set(self.fatal)


class _Lacking:
    """Which ranks were there to speak, and of which nothing is at hand.

    A rank without a line in a log that holds the lines of its neighbours said nothing; one that has
    no log at all may have said anything.
    """

    def __init__(self, hang: CollectiveHang, size: int, logs: frozenset[int]) -> None:
        joint = [ranks for ranks in hang.files.values() if len(ranks) > 1]
        node = max((len(ranks) for ranks in joint), default=0)
        every = set(range(max(size, max(logs, default=-1) + 1)))
        covered: set[int] = set()
        for ranks in joint:
            lowest, highest = min(ranks), max(ranks)
            inside = set(range(lowest, highest + 1)) - logs
            if len(joint) == 1 and len(every - logs) <= max(1, len(logs) // 3):
                inside = every - logs
            if len(inside) <= max(1, node // 3):
                covered |= inside
        self.present = set(logs) | covered
        self.absent = every - self.present


@dataclass(frozen=True, slots=True)
class HangStory:
    """What the logs of a hang tell.

    `began`, `until`: since when ranks waited and when they gave up, s since the epoch. `crashed`:
    when ranks ended by errors of their own. `silent`: ranks whose logs say nothing of it. `absent`:
    ranks of which there is no log. `hung`: groups, with how far their members were.
    """

    began: float
    until: float
    waited: set[int]
    crashed: Mapping[int, float]
    silent: set[int]
    absent: set[int]
    sized: bool
    hung: list[tuple[ProcessGroup, Mapping[int, RankStanding]]]

    @property
    def present(self) -> set[int]:
        """Return the ranks that the logs are known to be of."""
        return self.waited | self.silent | self.crashed.keys()

    def samples(self) -> Iterator[tuple[int, Sample]]:
        """Yield the counters of collectives by rank: before the ranks waited, since, and at the end."""
        for group, ranks in self.hung:
            inside = {rank: one for rank, one in ranks.items() if one.seq is not None}
            numbers = {one.seq or 0 for one in inside.values()}
            if not numbers or len(group.ranks) < 2:
                continue
            if any(one.kind in POINT_TO_POINT for one in inside.values()):
                continue
            newest = max(numbers)
            ahead = any((one.completed or 0) >= newest for one in ranks.values() if one.seq is None)
            if newest - min(numbers) > _MOST_APART or ahead:
                continue  # these do not count the same
            yield min(ranks), group.info(self.began - 1.0)
            kinds = _unlike(inside)
            for rank, one in ranks.items():
                counters = (newest, newest - 1) if rank in kinds else one.counters(newest)
                yield from self._counted(group, rank, counters)
                if rank in kinds:
                    pairs = attributes(_labels(group, rank) | {"op": kinds[rank]})
                    launched = Sample("collective.launches", float(newest), self.until, pairs)
                    yield rank, launched

    def _counted(
        self, group: ProcessGroup, rank: int, counters: tuple[int, int]
    ) -> Iterator[tuple[int, Sample]]:
        labels = attributes(_labels(group, rank))
        for name, number in zip(("enqueued", "completed"), counters, strict=True):
            metric = f"collective.{name}"
            yield rank, Sample(metric, max(number - 1.0, -1.0), self.began - 1.0, labels)
            for at in (self.began, self.until):
                yield rank, Sample(metric, float(number), at, labels)

    def events(self) -> Iterator[tuple[int, Event]]:
        """Yield the ends of ranks that crashed, and what stands for the silence of the others."""
        for rank, at in sorted(self.crashed.items()):
            yield rank, Event("process.exit", at, {"rank": rank, "exit_code": 1})
        pairs: dict[str, Scalar] = {
            "signature": ENDS,
            "role": "confirmation",
            "text": "the log of this rank says nothing of the collective that others waited in",
        }
        for rank in sorted(self.silent):
            yield rank, Event("log.fault", self.until, pairs)

    def ended(self, rank: int | None) -> float | None:
        """Return when a rank wrote what has no time: as it crashed, None for another rank."""
        return None if rank is None else self.crashed.get(rank)

    def missing(self) -> list[str]:
        """Return what would tell more."""
        found: list[str] = []
        if self.absent and not self.crashed and not self.silent:
            ranks = ", ".join(map(str, sorted(self.absent)[:16]))
            found.append(
                f"no log of ranks {ranks}: any of them may be the one that the others waited for"
            )
        if not self.sized and not self.silent and not self.crashed:
            found.append(
                f"how many ranks the job has: no line says it, and {len(self.waited)} are known; a "
                "rank without a log may be the one that the others waited for"
            )
        return found


def _labels(group: ProcessGroup, rank: int) -> dict[str, Scalar]:
    return {"rank": rank, "group": group.name, "source": "log"}


def _without(group: ProcessGroup, elsewhere: set[int]) -> ProcessGroup:
    """Return a group without members of which only another group's lines are known."""
    return replace(group, ranks=tuple(rank for rank in group.ranks if rank not in elsewhere))


def _unlike(inside: Mapping[int, RankStanding]) -> dict[int, str]:
    """Return what each rank called, where a minority called something else than the others.

    A minority at a higher number of the same kind called one more; one at a lower number is late.
    """
    called = {rank: (one.kind, one.seq or 0) for rank, one in inside.items() if one.kind}
    counts = Counter(called.values()).most_common(1)
    if len(called) < len(inside) or not counts or 2 * counts[0][1] <= len(called):
        return {}
    usual = counts[0][0]
    odd = [one for one in called.values() if one != usual]
    if not any(kind != usual[0] or number > usual[1] for kind, number in odd):
        return {}
    numbered = any(kind == usual[0] for kind, _ in odd)
    return {rank: f"{kind} as {number}" if numbered else kind
            for rank, (kind, number) in called.items()}  # fmt: skip
