"""The thread that plans actions, carries them out once, and looks what came of them.

It stands outside of what a replay repeats: it reads incidents as they were kept, and what it does
is entered in the journal, as what people do. Everything that it needs to know of an action is in
the store, so that a start goes on where the last process was killed. `step` is what the thread
does.
"""

import threading
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import structlog
from prometheus_client import CollectorRegistry, Counter

from ...vocabulary.clock import Clock
from ..accounting.metering import SummarySource
from ..settings.actions import ActionsSettings
from ..store.incidents import RecordedChange
from ..store.remedy_changes import LostLeaseError
from ..store.remedy_rows import RemedyRecord
from ..store.store import IncidentDatabaseStore
from ..windows.queries import JobSummary
from . import outcomes
from .carrying import RemedyCarrier
from .doubts import RemedyDoubts
from .executors.contract import RemedyExecutor
from .freshness import VerdictFreshness
from .outcomes import StepsSince
from .planning import RemedyPlanner
from .timelines import ActionJournal, RemedyTimelines
from .verdicts import ExecutorReach

_LOG = structlog.get_logger(__name__)
_LOOK_SECONDS = 1.0


class RemedyFlow(ActionJournal, Protocol):
    """What is needed of whoever evaluates jobs and keeps the journal."""

    @property
    def summaries(self) -> SummarySource:
        """Return the summaries of all jobs."""
        ...


class RemedyRunner:
    """Plans, carries out, takes back, judges. With mode off it only ends what was begun."""

    def __init__(
        self,
        *,
        settings: ActionsSettings,
        executors: Mapping[str, RemedyExecutor],
        store: IncidentDatabaseStore,
        flow: RemedyFlow,
        clock: Clock,
        store_clock: Clock,
        owner: str,
        registry: CollectorRegistry | None = None,
    ) -> None:
        """`clock` is that of evaluation; leases and budgets go by `store_clock`.

        `owner` names this process among all that ever used the store.
        """
        self._settings = settings
        self._store = store
        self._flow = flow
        self._store_clock = store_clock
        self._fresh = VerdictFreshness()
        reach = [
            ExecutorReach(row.label, row.jobs, executors[row.label].kinds)
            for row in settings.executors
        ]
        self._planner = RemedyPlanner(settings, reach, store)
        self._carrier = RemedyCarrier(
            settings=settings,
            executors=executors,
            store=store,
            incidents=store,
            doubts=RemedyDoubts(
                settings=settings,
                executors=executors,
                incidents=store,
                fresh=self._fresh,
                clock=clock,
            ),
            clock=clock,
            store_clock=store_clock,
            owner=owner,
        )
        self._timelines = RemedyTimelines(store, flow, registry)
        self._since: dict[str, StepsSince] = {}
        self._documents: dict[str, Mapping[str, Any]] = {}
        self._changed = threading.Condition()
        self._stopping = False
        self._failing = False
        self._thread = threading.Thread(target=self._run, name="actions", daemon=True)
        self._failures = Counter(
            "rankscope_collector_action_failures",
            "Rounds of actions cut short: the store did not answer, or a defect.",
            registry=registry or CollectorRegistry(),
        )

    def start(self) -> None:
        """Begin to act."""
        self._thread.start()

    def stop(self) -> None:
        """End after the action that is under way; the rest is done after the next start."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        if self._thread.ident is not None:
            self._thread.join()

    def changed(self, news: Sequence[RecordedChange]) -> None:
        """Take changes of incidents that were kept, in the thread that wrote them."""
        with self._changed:
            for change in news:
                self._fresh.take(change.document)
                if self._settings.mode != "off":
                    self._documents[str(change.document["id"])] = change.document
            if self._documents:
                self._changed.notify_all()

    def step(self) -> None:
        """Do what can be done now. Raises StoreError."""
        with self._changed:
            documents, self._documents = self._documents, {}
        now = self._store_clock.now()
        self._planner.plan(list(documents.values()), self._jobs, now)
        rows = self._store.remedies_waiting(now)
        jobs = self._jobs() if rows else {}
        for row in rows:
            if self._stopping:
                return
            try:
                self._attend(row, jobs)
            except LostLeaseError as error:
                _LOG.info("somebody else has an action", action=row.id, why=str(error))
        self._timelines.enter()

    def _jobs(self) -> Mapping[str, JobSummary]:
        return {row.job: row for row in self._flow.summaries.jobs()}

    def _attend(self, row: RemedyRecord, jobs: Mapping[str, JobSummary]) -> None:
        if row.undo in ("wanted", "started"):
            self._carrier.undo(row)
        elif row.state == "planned":
            self._carrier.consider(row, jobs)
        elif row.state == "started":
            self._carrier.resume(row, jobs)
        elif row.state == "done":
            self._judge(row, jobs.get(row.job))

    def _judge(self, row: RemedyRecord, summary: JobSummary | None) -> None:
        """Note what came of an action, once that can be said."""
        now, since = self._store_clock.now(), self._since.get(row.id)
        if since is None:
            attempt = -1 if summary is None else summary.attempt
            since = StepsSince(attempt, None if summary is None else summary.last_step, now)
            self._since[row.id] = since
        found = outcomes.result(row, summary, since, now, within=self._settings.outcome_seconds)
        if found is None:
            return
        self._store.settle_remedy(
            row.id, outcome=found.outcome, after=found.after_seconds, text=found.text, now=now
        )
        self._since.pop(row.id, None)
        _LOG.warning("what came of an action", id=row.id, outcome=found.outcome, text=found.text)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._stopping or self._documents, _LOOK_SECONDS)
                if self._stopping:
                    return
            try:
                self.step()
                self._failing = False
            except Exception as error:  # noqa: BLE001  the edge of one round: the next one looks again
                self._failures.inc()
                if not self._failing:
                    _LOG.error("actions wait", error=str(error), type=type(error).__name__)
                self._failing = True
                with self._changed:
                    self._changed.wait_for(lambda: self._stopping, _LOOK_SECONDS)
