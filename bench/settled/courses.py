"""Courses of checks for one incident: the best one first, a fixed order, or all of them.

After each check the pipeline goes on from a copy with all results so far as events, and ranks
anew. An incident is settled once its first cause has a name and leads by more than two nats.
"""

import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rankscope.checks import choosing
from rankscope.collector.evaluation.schedule import EvaluationSchedule, ScheduleHooks
from rankscope.collector.intake.payloads import DecodedPayload
from rankscope.collector.pipeline.pipeline import DetectionPipeline
from rankscope.lab.scoring import placing
from rankscope.lab.scoring.seen import CaseTruth
from rankscope.lab.simulator.shape import SimulationScenario
from rankscope.vocabulary.checks import ActiveCheck, runnable
from rankscope.vocabulary.faults import UNKNOWN
from rankscope.vocabulary.incidents import Incident
from rankscope.vocabulary.samples import Event

from . import leads, visible
from .collecting import CLOSE_NATS, AskedMoment, CollectedCase
from .simulated import SimulatedChecks

SETTLE_SECONDS = 8.0
"""After so long results are evaluated, and a document says what came of it."""
MOST_CHECKS = 3
"""So many are asked for, one after the other, before people are left with it."""

HostCheck = tuple[ActiveCheck, str]
"""A check and the host that runs it."""


@dataclass(frozen=True, slots=True)
class CourseResult:
    """What a course came to: its checks in order, device-seconds, and the incident at its end.

    `lead` in nats; `after_one`: whether its first check alone settled it rightly.
    """

    checks: tuple[str, ...]
    seconds: float
    lead: float
    named: str
    right: bool
    after_one: bool

    @property
    def settled(self) -> bool:
        """Return whether the true cause leads by more than two nats."""
        return self.right and self.lead > CLOSE_NATS

    @property
    def misled(self) -> bool:
        """Return whether another cause leads by more than two nats now."""
        return not self.right and self.named != UNKNOWN and self.lead > CLOSE_NATS


class IncidentCourses:
    """The courses of one close incident."""

    def __init__(
        self,
        case: CollectedCase,
        asked: AskedMoment,
        scenario: SimulationScenario,
        seed: int = 1,
    ) -> None:
        self._asked = asked
        result = case.result
        self._truths = [truth for truth in (result.truth, *result.also) if truth is not None]
        pipeline = pickle.loads(asked.pipeline)  # noqa: S301  our own
        job = asked.incident.jobs[0]
        attempt = pipeline.windows.attempt(job)
        topology = pipeline.windows.window(attempt, asked.now).topology
        places = [topology.host(rank) for rank in sorted(topology.ranks)]
        self._hosts = list(dict.fromkeys(host for host in places if host is not None))
        name = f"{result.case['name']} {result.case['seed']} {seed}"
        self._simulated = SimulatedChecks(
            self._truths, topology, name, lambda check: visible.share(check, scenario)
        )

    def unasked(self) -> CourseResult:
        """Return the incident as it would be without any check."""
        return self._result([], self._after([]), after_one=False)

    def by_gain(self) -> CourseResult:
        """Ask for what is expected to settle most for what it costs, until it is settled."""
        done: list[HostCheck] = []
        incident, after_one = self._asked.incident, False
        while len(done) < MOST_CHECKS and not _settled(incident):
            best = self._best(incident, done)
            if best is None:
                break
            done.append(best)
            incident = self._after(done)
            after_one = after_one or (len(done) == 1 and self._is_right(incident, settled=True))
        return self._result(done, incident, after_one=after_one)

    def in_order(self) -> CourseResult:
        """Run the checks of the suspected hosts in the table's order, until it is settled."""
        done: list[HostCheck] = []
        incident, after_one = self._asked.incident, False
        for one in self._every():
            if _settled(incident):
                break
            done.append(one)
            incident = self._after(done)
            after_one = after_one or (len(done) == 1 and self._is_right(incident, settled=True))
        return self._result(done, incident, after_one=after_one)

    def everything(self) -> CourseResult:
        """Run every check on every suspected host."""
        done = list(self._every())
        return self._result(done, self._after(done), after_one=False)

    def _best(self, incident: Incident, done: Sequence[HostCheck]) -> HostCheck | None:
        document = incident.document()
        causes = choosing.suspected(document)
        found = [
            (row.worth, row.check, host)
            for host in choosing.hosts(document, self._hosts)
            for row in choosing.ranked(
                causes,
                host=host,
                devices=self._simulated.devices(host),
                past=[check.name for check, where in done if where == host],
            )
        ]
        _, check, host = max(found, key=lambda row: row[0], default=(0.0, None, ""))
        return None if check is None else (check, host)

    def _every(self) -> Iterator[HostCheck]:
        document: dict[str, Any] = self._asked.incident.document()
        for host in choosing.hosts(document, self._hosts):
            for check in runnable().values():
                yield check, host

    def _after(self, done: Sequence[HostCheck]) -> Incident:
        """Return the incident once these results have come."""
        at = self._asked.now + 1.0
        events = [
            event for check, host in done for event in self._simulated.events(check, host, at)
        ]
        return after(self._asked, events, at)

    def _result(
        self, done: Sequence[HostCheck], incident: Incident, *, after_one: bool
    ) -> CourseResult:
        first = incident.root_cause.hypotheses[0]
        cost = sum(choosing.cost(check, self._simulated.devices(host)) for check, host in done)
        return CourseResult(
            checks=tuple(f"{check.name} on {host}" for check, host in done),
            seconds=cost,
            lead=leads.lead(incident.root_cause),
            named=str(first.fault),
            right=self._is_right(incident),
            after_one=after_one,
        )

    def _is_right(self, incident: Incident, *, settled: bool = False) -> bool:
        first = incident.root_cause.hypotheses[0]
        right = any(is_right(first.fault, first.entity, truth) for truth in self._truths)
        return right and (not settled or _settled(incident))


def is_right(fault: str, entity: Any, truth: CaseTruth) -> bool:
    return fault == truth.fault and placing.at_fault(entity, truth)


def after(asked: AskedMoment, events: Sequence[Event], at: float) -> Incident:
    """Return an incident as it is once events have come at `at`, from a copy of its pipeline."""
    found = asked.incident

    def changed(changes: Sequence[Any], now: float) -> None:  # noqa: ARG001
        nonlocal found
        for change in changes:
            if change.incident.id == asked.incident.id and change.incident.status != "resolved":
                found = change.incident

    def failed(stage: str, error: Exception) -> None:  # noqa: ARG001
        raise error

    pipeline: DetectionPipeline = pickle.loads(asked.pipeline)  # noqa: S301  our own
    pipeline.resume(DetectionPipeline())
    schedule = EvaluationSchedule(
        pipeline,
        ScheduleHooks(changed=changed, failed=failed),
        at=asked.evaluated,
    )
    if events:
        schedule.apply(DecodedPayload(events=list(events)), at)
    schedule.until(at + SETTLE_SECONDS)
    return found


def _settled(incident: Incident) -> bool:
    first = incident.root_cause.hypotheses[0]
    return first.fault != UNKNOWN and leads.lead(incident.root_cause) > CLOSE_NATS
