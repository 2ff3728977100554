"""Answers of RAS, one after the other, as telemetry of the job that they are about."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from ...formats.nccl.ras import RasCommunicator
from ...vocabulary.groups import communicator_group, communicator_info
from ...vocabulary.samples import Event, Sample, Scalar, attributes
from .placed import LocalAttempt

SOURCE = "ras"
_INFO_SECONDS = 600.0
_MISSING_ANSWERS = 2
"""A rank that lacks in one answer may have been slow to reply."""
_MOST_SAMPLES = 50_000


@dataclass(slots=True)
class RasReport:
    """What leaves after an answer: of the ranks of this node, and of those elsewhere.

    `left_out`: ranks that no process of the job could be found for, samples beyond the bound.
    """

    here: list[Sample] = field(default_factory=list)
    elsewhere: list[Sample] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    left_out: int = 0


@dataclass(slots=True)
class RasHistory:
    """The answers about one attempt, in order."""

    _info_at: dict[str, float] = field(default_factory=dict)
    _missing: dict[int, int] = field(default_factory=dict)
    _unlike: set[str] = field(default_factory=set)

    def take(
        self, communicators: Sequence[RasCommunicator], where: LocalAttempt, at: float
    ) -> RasReport:
        """Return what the next answer says."""
        report = RasReport()
        unlike: set[str] = set()
        # Those that say something first: of too many the others are left out.
        for one in sorted(communicators, key=lambda one: (not _uneven(one), -one.size)):
            group = communicator_group(
                one.name, whole=one is where.world or one.size == where.world_size
            )
            ranks = {
                number: rank
                for number, place in one.places.items()
                if (rank := where.rank_of.get((place.host, place.pid))) is not None
            }
            if one is where.world:
                ranks |= {number: number for number in (*one.launched, *one.missing)}
            self._describe(one, group, ranks, at, report)
            of_kind = _kinds_differ(one)
            if of_kind:
                unlike.add(group)
            for number, count in one.launched.items():
                if number not in ranks or len(report.here) + len(report.elsewhere) > _MOST_SAMPLES:
                    report.left_out += 1
                    continue
                rank = ranks[number]
                found = report.here if rank in where.local else report.elsewhere
                labels: dict[str, Scalar] = {"rank": rank, "group": group, "source": SOURCE}
                found.append(Sample("collective.enqueued", float(count), at, attributes(labels)))
                if not of_kind or group not in self._unlike:
                    continue  # counts of one answer may have been taken at different moments
                for kind, launched in one.kinds[number].items():
                    pairs = attributes(labels | {"op": kind})
                    found.append(Sample("collective.launches", float(launched), at, pairs))
        self._unlike = unlike
        self._report_missing(communicators, where, at, report)
        return report

    def _describe(
        self, one: RasCommunicator, group: str, ranks: dict[int, int], at: float, report: RasReport
    ) -> None:
        if at - self._info_at.get(group, -_INFO_SECONDS) < _INFO_SECONDS or len(ranks) < one.size:
            return
        self._info_at[group] = at
        report.here.append(communicator_info(group, one.name, ranks.values(), at))

    def _report_missing(
        self,
        communicators: Sequence[RasCommunicator],
        where: LocalAttempt,
        at: float,
        report: RasReport,
    ) -> None:
        missing: dict[int, str] = {}
        for one in communicators:
            for number in one.missing:
                place = one.places.get(number)
                rank = where.rank_of.get((place.host, place.pid)) if place else None
                if rank is None and one is where.world:
                    rank = number
                if rank is not None:
                    at_process = f" (process {place.pid} on {place.host})" if place else ""
                    missing[rank] = at_process
        self._missing = {rank: self._missing.get(rank, 0) + 1 for rank in missing}
        for rank, count in sorted(self._missing.items()):
            if count == _MISSING_ANSWERS:
                text = f"rank {rank}{missing[rank]} did not answer NCCL's RAS service"
                pairs: dict[str, Scalar] = {
                    "signature": "nccl.ras_missing", "role": "root", "rank": rank, "text": text,
                }  # fmt: skip
                report.events.append(Event("log.fault", at, pairs))


def _uneven(one: RasCommunicator) -> bool:
    return bool(one.missing) or len(set(one.launched.values())) > 1


def _kinds_differ(one: RasCommunicator) -> bool:
    """Tell whether ranks launched equally many, but not of each kind."""
    if len(set(one.launched.values())) != 1 or len(one.kinds) < 2:
        return False
    return len({tuple(sorted(kinds.items())) for kinds in one.kinds.values()}) > 1
