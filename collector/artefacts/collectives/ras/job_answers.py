"""What answers of RAS about one job say of its ranks, and of what stands between two of them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from .....formats.nccl.ras import RankPlace, RasCommunicator, RasStatus
from .....vocabulary.samples import Scalar, TelemetryResource
from .dated_answers import DatedAnswer

_REPORT_SECONDS, _MOST_FILLED = 5.0, 24


@dataclass(slots=True)
class JobAnswers:
    """All answers about one job, in order of time, and what they say of its ranks."""

    answers: Sequence[DatedAnswer]
    hosts: Mapping[int, str]
    pids: Mapping[int, int]
    size: int = 0
    """Ranks of the job, 0 where no communicator has all of its devices."""
    ranks: dict[tuple[str, int, int | None], int] = field(default_factory=dict)
    known: set[int] = field(default_factory=set)
    """Ranks that did not answer and were described."""

    def __post_init__(self) -> None:
        sizes = [size for one in self.answers for size, _ in one.answer.sizes]
        sizes += [made.size for one in self.answers for made in one.answer.communicators]
        devices = max((one.answer.devices for one in self.answers), default=0)
        largest = max(sizes, default=0)
        self.size = largest if largest >= devices else 0
        for one in self.answers:
            for made in one.answer.communicators:
                if made.size == self.size:
                    self.ranks |= made.by_process()

    def rank(self, number: int, made: RasCommunicator, nodes: int) -> int | None:
        """Return the job's rank of a communicator's; None where nothing tells it."""
        if self.size and made.size == self.size:
            return number
        place = made.places.get(number)
        return None if place is None else self.of_process(place, nodes)

    def of_process(self, place: RankPlace, nodes: int) -> int | None:
        """Return the rank of a process and its device.

        On one node alone ranks follow the devices, as launchers number them.
        """
        known = self.ranks.get((place.host, place.pid, place.device))
        if known is not None:
            return known
        of_pid = [rank for rank, pid in self.pids.items() if pid == place.pid]
        if len(of_pid) == 1:
            return of_pid[0]
        of_pid = [rank for (host, pid, _), rank in self.ranks.items()
                  if (host, pid) == (place.host, place.pid)]  # fmt: skip
        if len(of_pid) == 1:
            return of_pid[0]
        return place.device if nodes == 1 else None

    def resource(
        self, rank: int | None, place: RankPlace | None, resource: TelemetryResource
    ) -> TelemetryResource:
        """Return a resource with the host of a rank or its process, "" where neither is known."""
        host = self.hosts.get(-1 if rank is None else rank, "") or (place.host if place else "")
        return replace(resource, host=host)

    def labels(self, rank: int, place: RankPlace | None) -> dict[str, Scalar | None]:
        """Return the attributes of a rank's info."""
        return {
            "rank": rank,
            "world_size": self.size or None,
            "pid": place.pid if place else self.pids.get(rank),
        }


def moments(answers: Sequence[DatedAnswer]) -> list[tuple[DatedAnswer, float]]:
    """Return each answer with the times at which it held.

    Counts only grow: what is the same in two answers was the same between them. Nobody asks a job
    at work: one answer alone that says something is taken to have stood for a while.
    """
    moments: list[tuple[DatedAnswer, float]] = []
    told = [_told(one.answer) for one in answers]
    for place, one in enumerate(answers):
        alike = told[place] in (told[place - 1 : place] + told[place + 1 : place + 2])
        last = place == len(answers) - 1
        if alike or (last and not any(told[:place]) and _stands(one.answer)):
            before = answers[place - 1].at if place else -math.inf
            held = before if place and told[place - 1] == told[place] else one.since
            moments += [(one, at) for at in _filled(max(held, before), one.at)]
        moments.append((one, one.at))
    return moments


def standing(answers: Sequence[DatedAnswer]) -> bool:
    """Tell whether what the last answer says stands: it was said before, or is too much to pass."""
    told = [_told(one.answer) for one in answers]
    if len(told) > 1 and any(told[:-1]):
        return told[-1] == told[-2]
    return _stands(answers[-1].answer)


def _filled(since: float, until: float) -> list[float]:
    """Return times from one to before the other, as often as a live source reports."""
    count = min(max(int((until - since) / _REPORT_SECONDS), 1), _MOST_FILLED)
    return [since + (until - since) * number / count for number in range(count)][since >= until :]


def _told(answer: RasStatus) -> list[object]:
    """Return what an answer says of ranks, to compare it with another's."""
    every = sorted(answer.communicators, key=lambda one: one.name)
    return [(one.name, one.launched, one.kinds, one.missing, one.left) for one in every]


def _stands(answer: RasStatus) -> bool:
    """Tell whether one answer alone is enough to take a job for one that stands."""
    return not answer.answered or any(made.lag > 1 for made in answer.communicators)
