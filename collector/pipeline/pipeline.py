"""The one pipeline of live and replay: batches and events in, incident changes out.

`now` is always passed in. One thread owns a pipeline; the same calls in the same order give the
same incidents, to the byte. A job is evaluated at seconds in which something of it was received or
is due: any other second costs nothing.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ...alerts import checked_nodes
from ...alerts.actions import PersonAction
from ...alerts.causes.catalogue import CauseCatalogue
from ...alerts.causes.engine import RootExplanation, explain
from ...alerts.closed import ClosedIncident
from ...alerts.lifecycle import IncidentChange, is_symptom
from ...alerts.outside import EVENT, OutsideAlerts, TimelineNote
from ...alerts.policy import POST_MORTEM, IncidentPolicy
from ...alerts.repairs import Seen
from ...alerts.shared.messages import Message
from ...alerts.shared.scope import shared_root
from ...alerts.shared.sharing import CORRELATOR, PartitionClaims, Root
from ...alerts.tracker import IncidentTracker
from ...detectors import catalogue
from ...detectors.contract import Detector
from ...detectors.selection import DetectorSelection
from ...detectors.window import JobWindow
from ...formats.otlp.columns import MetricsBatch, SeriesTable
from ...formats.otlp.text_bounds import BOUNDS
from ...vocabulary import metrics
from ...vocabulary.checks import EVENT as CHECKED
from ...vocabulary.findings import Finding
from ...vocabulary.ids import IncidentId, Job
from ...vocabulary.incidents import Incident
from ...vocabulary.samples import Event
from ..windows import TelemetryWindows
from ..windows.attempt import JobAttempt
from ..windows.devices import last_seen
from . import bounds, brief_jobs
from .counterfactuals import compared
from .detection import DetectorAnswer, DetectorRunner
from .explained import AttemptExplanations
from .job_state import job_health, observed, report_interval, stacks_since

if TYPE_CHECKING:
    from ..settings.evaluation import EvaluationSettings

IDLE_SECONDS = 900.0
"""A job that nobody has reported for so long is evaluated only now and then, and only while it has
an open incident."""

IDLE_EVERY_SECONDS = 60.0

FORGET_EVERY_SECONDS = 120.0

MOST_NEW_JOBS = 500
"""Jobs that are evaluated for the first time in one second; more of them wait for the next."""

REPAIRED_EVERY_SECONDS = 10.0
"""How often devices that incidents wait for are looked at."""

UNKEPT = frozenset(row.name for row in metrics.catalogue().values() if row.cadence == "sample")
"""Samples of single operations: in the journal, but no detector of this version looks at them."""

Watch = Callable[[JobWindow, Sequence[Finding]], None]


@dataclass(slots=True)
class _AttemptEvaluation:
    """What was found when an attempt was last evaluated, and when time alone changes it."""

    at: float
    due: float
    turn: float
    """When it was evaluated, or first to be."""
    changed: bool = False
    """Whether anything was received since."""
    asked: dict[str, DetectorAnswer] = field(default_factory=dict)
    """By detector."""
    explained: AttemptExplanations = field(default_factory=AttemptExplanations)


class DetectionPipeline:
    """Windows, detectors, incidents. All of it can be pickled but the detectors: see `resume`."""

    def __init__(
        self,
        *,
        detectors: Sequence[Detector] | DetectorSelection | None = None,
        settings: "EvaluationSettings | None" = None,
        post_mortem: bool = False,
    ) -> None:
        """Begin empty; `post_mortem`: everything that is found is an incident."""
        texts = BOUNDS if settings is None else bounds.of_texts(settings)
        self.table = SeriesTable(unkept=UNKEPT, bounds=texts)
        self.windows = TelemetryWindows(self.table)
        if settings is not None:
            self.table.capacity = settings.max_series
            self.windows.bounds = bounds.of_windows(settings)
            self.windows.collective_timeout_seconds = settings.collective_timeout_seconds
        policy = IncidentPolicy()
        if settings is not None:
            policy = IncidentPolicy(settings.unnamed_gpu_hours, settings.unnamed_minutes)
        self.tracker = IncidentTracker(POST_MORTEM if post_mortem else policy)
        self.outside = OutsideAlerts()
        self.watch: Watch | None = None
        """Gets every window that is evaluated, and what was found in it."""
        self.priors: Callable[[], CauseCatalogue] | None = None
        """Gives the catalogue of causes with learnt priors; None: as it ships. Live only."""
        self.sharing = PartitionClaims(CORRELATOR, alone=True)
        """Makes one incident of what several jobs blame; over partitions where there are others."""
        self.bounded: Callable[[str, str, int], None] | None = None
        """Gets what was left out for its number or size: by which bound, of whom, how much."""
        self.send: Callable[[int, Message], None] | None = None
        """Sends a partition a message; None: in a replay, which finds it in the log, and alone."""
        self.only_job: str | None = None
        """Where set, no other job is evaluated: a question about the past of one."""
        if detectors is None:
            detectors = catalogue.detectors()
        self.detection = DetectorRunner(
            detectors
            if isinstance(detectors, DetectorSelection)
            else DetectorSelection(tuple(detectors))
        )
        self._findings: dict[str, tuple[Finding, ...]] = {}
        self._evaluated: dict[tuple[Job, int], _AttemptEvaluation] = {}
        self._due_at = math.inf
        self._forgot_at = 0.0
        self._repaired_at = 0.0

    def __getstate__(self) -> dict[str, Any]:
        """Return what a snapshot keeps."""
        return {**vars(self), "watch": None, "priors": None, "send": None, "bounded": None}

    def resume(self, started: "DetectionPipeline") -> None:
        """Go on after a snapshot with the settings of the pipeline that this process started with.

        What detectors found last is kept if they are the same with the same parameters.
        """
        if not self.detection.resume(started.detection):
            for row in self._evaluated.values():
                row.asked.clear()
                row.due = -math.inf
        self.priors, self.send, self.bounded = started.priors, started.send, started.bounded
        self.tracker.policy = started.tracker.policy
        self.table.capacity = started.table.capacity
        self.table.bound_texts(started.table.bounds)
        self.windows.bounds = started.windows.bounds
        timeout = started.windows.collective_timeout_seconds
        self.windows.collective_timeout_seconds = timeout
        self.windows.event_memory_seconds = started.windows.event_memory_seconds

    @property
    def detector_failures(self) -> Mapping[str, int]:
        """Return how often each detector failed."""
        return self.detection.failures

    @property
    def incidents(self) -> Mapping[IncidentId, Incident]:
        """Return every incident by id, as the machine sees it."""
        return self.tracker.incidents

    def metrics(self, batch: MetricsBatch, now: float) -> None:
        """Take a decoded batch, received at `now`."""
        self.windows.metrics(batch, now)
        self._note_bounded()

    def events(self, events: Sequence[Event], now: float) -> None:
        """Take events, received at `now`."""
        outside = [event for event in events if event.name == EVENT]
        for event in outside:
            self.outside.take(event if 0 < event.at <= now else replace(event, at=now), now)
        if outside:
            # An alert about a host or job is no report of it: a silent one stays silent.
            events = [event for event in events if event.name != EVENT]
        self.windows.events(events, now)
        self._note_bounded()

    def act(self, action: PersonAction, now: float) -> list[IncidentChange]:
        """Take what a person did; return what changed."""
        return self._shown(self.tracker.act(action, now), now)

    def share(self, partition: int) -> None:
        """Begin as one partition of several."""
        self.sharing = PartitionClaims(partition)

    def shared(self, message: Message, now: float) -> list[IncidentChange]:
        """Take what another partition has sent; return what changed."""
        return [*self.sharing.take(message, self.tracker, now), *self._exchanged(now)]

    def remember(self, incidents: Iterable[ClosedIncident]) -> None:
        """Take in incidents of an earlier process, so that none is announced again."""
        self.tracker.remember(incidents)

    def evaluate(self, now: float) -> list[IncidentChange]:
        """Evaluate a whole second; return what changed."""
        return [change for changes in self.evaluate_jobs(now) for change in changes]

    def evaluate_jobs(self, now: float) -> Iterator[list[IncidentChange]]:
        """Evaluate each job of which something changed or is due; yield what changed in each."""
        asked, due = self._asked(now)
        defects: list[Exception] = []
        for attempt, last in asked:
            try:
                yield self._evaluate(attempt, last, now)
            except Exception as error:  # noqa: BLE001  the edge of one job: the others go on
                defects.append(error)
            due = min(due, last.due)
        if self.tracker.repairs.waiting:
            if now - self._repaired_at >= REPAIRED_EVERY_SECONDS:
                self._repaired_at = now
                yield self._shown(self.tracker.repaired(self._seen_at(now), now), now)
            due = min(due, self._repaired_at + REPAIRED_EVERY_SECONDS)
        self._due_at = due
        if now - self._forgot_at >= FORGET_EVERY_SECONDS:
            self._forget(now)
        if defects:
            raise defects[0]

    def _asked(self, now: float) -> tuple[list[tuple[JobAttempt, _AttemptEvaluation]], float]:
        """Return the jobs to be evaluated now, in the order of their ids, and when others are."""
        due, new = math.inf, 0
        asked: list[tuple[JobAttempt, _AttemptEvaluation]] = []
        waiting: list[tuple[float, int]] = []
        places: list[int] = []
        for attempt in self.windows.current():
            if self.only_job is not None and attempt.job != self.only_job:
                continue
            last = self._evaluated.get((attempt.job, attempt.number))
            if last is None:
                new += 1
                if new > MOST_NEW_JOBS:
                    due = now + 1.0
                    continue
                last = _AttemptEvaluation(-math.inf, now, turn=now)
                self._evaluated[attempt.job, attempt.number] = last
            last.changed = self.windows.last_received(attempt) >= last.at
            if now < last.due and not last.changed:
                due = min(due, last.due)
                continue
            if attempt.is_brief:
                own = brief_jobs.LOGS_COST if attempt.is_logs_only else brief_jobs.SAMPLES_COST
                places.append(len(asked))
                waiting.append((last.turn, own + self.windows.event_count(attempt)))
            asked.append((attempt, last))
        chosen = brief_jobs.in_turn(waiting, brief_jobs.BUDGET)
        if len(chosen) < len(waiting):
            left = {place for number, place in enumerate(places) if number not in chosen}
            asked = [one for place, one in enumerate(asked) if place not in left]
            due = now + 1.0
        return asked, due

    def next_due(self) -> float:
        """Return when time alone could change anything (inf: never)."""
        return self._due_at

    def explain(self, job: str, start: float, end: float) -> dict[str, Any] | None:
        """Return the root cause of what happened to a job in [start, end], None if nothing did.

        Looks at what the windows still hold, as if `end` were now.
        """
        attempt = self.windows.attempt(job)
        if attempt is None:
            return None
        window = self.windows.window(attempt, end, until=end)
        found = self.detection.found(window)
        findings = [f for f in found if f.onset[1] >= start or f.window[1] >= start]
        if not any(is_symptom(finding) for finding in findings):
            return None
        return explain(
            findings,
            window.topology,
            observed=observed(window),
            clock_skew=window.clock_skew,
            interval=report_interval(window),
            knowledge=self._knowledge(),
        ).document()

    def findings(self) -> Mapping[str, Sequence[Finding]]:
        """Return what was found when each job was last evaluated, by job."""
        return dict(self._findings)

    def scores(self) -> list[tuple[str, str, int, float]]:
        """Return (job, detector, rank, score) of the ranks that stood out last."""
        return [
            (job, finding.detector, int(finding.entity.id), finding.score)
            for job, findings in sorted(self._findings.items())
            for finding in findings
            if finding.entity.type == "rank"
        ]

    def _evaluate(
        self, attempt: JobAttempt, last: _AttemptEvaluation, now: float
    ) -> list[IncidentChange]:
        last.at, last.due, last.turn = now, math.inf, now
        idle = now - attempt.last_received > IDLE_SECONDS
        if idle and not self.tracker.has_open(attempt.job):
            self._findings.pop(attempt.job, None)
            return []
        window = self.windows.window(attempt, now, incident_open=self.tracker.slows(attempt.job))
        findings = self.detection.found(window, last.asked, changed=last.changed)
        self._findings[attempt.job] = findings
        if self.watch is not None:
            self.watch(window, findings)
        changes = self.tracker.update(
            attempt.job,
            attempt.number,
            findings,
            partial(self._explanations, window, last.explained),
            job_health(window, attempt),
            now,
            notes=partial(self._outside_notes, window),
            stacks=partial(stacks_since, window),
            seen=self._seen_at(now),
            meter=partial(compared, window),
        )
        last.due = self._due_after(window, attempt, last, now)
        root_of = partial(shared_root, topology=window.topology)
        return self._shown(changes, now, attempt.job, root_of)

    def _shown(
        self,
        changes: list[IncidentChange],
        now: float,
        job: Job | None = None,
        root_of: Root | None = None,
    ) -> list[IncidentChange]:
        """Return what may be shown of changes (of an evaluated `job`), and send the others."""
        if job is None or root_of is None:
            changes = list(self.sharing.passed(self.tracker, changes, now))
        else:
            changes = self.sharing.evaluated(self.tracker, job, changes, root_of, now)
        return [*changes, *self._exchanged(now)]

    def _exchanged(self, now: float) -> list[IncidentChange]:
        """Send what is to be sent; return what changed by messages to itself, which it takes."""
        changes: list[IncidentChange] = []
        while self.sharing.outgoing:
            partition, message = self.sharing.outgoing.pop(0)
            if self.sharing.alone:
                changes += self.sharing.take(message, self.tracker, now)
            elif self.send is not None:
                self.send(partition, message)
        return changes

    def _explanations(
        self, window: JobWindow, explained: AttemptExplanations, findings: Sequence[Finding]
    ) -> Sequence[RootExplanation]:
        """Return the root causes of what was found; the same as last time where it is the same."""
        return explained.of(
            findings,
            window.topology,
            observed=observed(window),
            clock_skew=window.clock_skew,
            interval=report_interval(window),
            knowledge=self._knowledge(),
        )

    def _outside_notes(self, window: JobWindow, opened_at: float) -> Iterable[TimelineNote]:
        """Return what others reported about a job or its hosts around a time of onset."""
        checked = checked_nodes.notes(window.named(CHECKED), window.hosts, opened_at)
        if not self.outside.held:
            return checked  # as nearly always: nobody asks for the hosts of alerts then
        return [*self.outside.notes(window.job, window.hosts, opened_at), *checked]

    def _seen_at(self, now: float) -> Seen:
        """Return a function that says when a device last gave readings."""
        return lambda device: last_seen(self.windows, device, now)

    def _due_after(
        self, window: JobWindow, attempt: JobAttempt, last: _AttemptEvaluation, now: float
    ) -> float:
        """Return when time alone could change what is found about an attempt."""
        if now - attempt.last_received > IDLE_SECONDS:
            return now + IDLE_EVERY_SECONDS if self.tracker.has_open(attempt.job) else math.inf
        due = self.tracker.next_due(attempt.job, now)
        return max(now + 1.0, min(due, self.detection.next_due(window, last.asked)))

    def _note_bounded(self) -> None:
        if not self.windows.notes.found:
            return
        for bound, (count, of) in self.windows.notes.take().items():
            if self.bounded is not None:
                self.bounded(bound, of, count)

    def _knowledge(self) -> CauseCatalogue | None:
        return None if self.priors is None else self.priors()

    def _forget(self, now: float) -> None:
        self._forgot_at = now
        self.windows.forget(now, watched=self.tracker.has_open)
        self.tracker.forget(now)
        held = self.windows.attempts
        self._evaluated = {key: row for key, row in self._evaluated.items() if key in held}
        jobs = {job for job, _ in held}
        self._findings = {job: row for job, row in self._findings.items() if job in jobs}
