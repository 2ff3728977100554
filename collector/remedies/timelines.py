"""What happened to actions, entered in their incidents' timelines and counted: each step once.

By the journal, as what people do: a replay of it shows the same. A crash between the journal and
our note of it enters a step again, with the same time and text, which changes nothing.
"""

from typing import Protocol

import structlog
from prometheus_client import CollectorRegistry, Counter

from ...alerts.actions import PersonAction
from ...vocabulary.ids import IncidentId
from ...vocabulary.remedies import REMEDY_OUTCOMES
from ..intake.waiting import UnavailableError
from ..journal.actions import RecordedAction
from ..store.remedied import RemedyStore
from ..store.remedy_rows import RemedyRecord, RemedyStep
from . import wording

_LOG = structlog.get_logger(__name__)
_ACT_SECONDS = 5.0


class ActionJournal(Protocol):
    """What is needed of whoever keeps the journal."""

    def act(self, action: RecordedAction, *, timeout_seconds: float) -> bool:
        """Enter an action; False where the store does not have it when time is up."""
        ...


class RemedyTimelines:
    """Enters and counts steps."""

    def __init__(
        self, store: RemedyStore, journal: ActionJournal, registry: CollectorRegistry | None
    ) -> None:
        self._store = store
        self._journal = journal
        registry = registry or CollectorRegistry()
        self._steps = Counter(
            "rankscope_collector_actions",
            "Changes of actions about causes, by what each came to be: planned, started, done, "
            "failed, vetoed, withdrawn, undone.",
            ["cause", "action", "executor", "mode", "state"],
            registry=registry,
        )
        self._outcomes = Counter(
            "rankscope_collector_action_outcomes",
            "What came of actions: recovered, not_recovered, undetermined.",
            ["cause", "action", "executor", "outcome"],
            registry=registry,
        )

    def enter(self) -> None:
        """Enter what happened since the last time, as far as the journal takes it."""
        for step, row in self._store.remedy_steps_to_enter():
            try:
                if not self._journal.act(_entry(step, row), timeout_seconds=_ACT_SECONDS):
                    return
            except UnavailableError as error:
                _LOG.debug("a timeline waits for the journal", error=str(error))
                return
            self._store.entered_remedy_step(step.number)
            self._count(step, row)

    def _count(self, step: RemedyStep, row: RemedyRecord) -> None:
        if step.state in REMEDY_OUTCOMES:
            self._outcomes.labels(row.fault, row.action, row.executor, step.state).inc()
        else:
            labels = (row.fault, row.action, row.executor, row.mode, step.state)
            self._steps.labels(*labels).inc()


def _entry(step: RemedyStep, row: RemedyRecord) -> RecordedAction:
    return RecordedAction(
        id=f"{step.remedy[:20]}-{step.number}",
        action=PersonAction(
            kind="remedy",
            incident=IncidentId(row.incident),
            at=step.at,
            by=step.author,
            detail={"note": wording.moment(step, row), "action": row.id, "state": step.state},
        ),
    )
