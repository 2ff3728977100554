"""From verdicts to planned actions: each once, while nothing holds it back."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import structlog

from ..settings.actions import ActionsSettings
from ..store import mutes
from ..store.remedied import RemedyStore
from ..store.remedy_changes import PLANNED_ALREADY, PlannedRemedy
from ..windows.queries import JobSummary
from . import verdicts, wording
from .verdicts import ChosenRemedy, ExecutorReach, NoRemedy, RemedyVerdict

_LOG = structlog.get_logger(__name__)
_MOST_KNOWN = 10_000

Jobs = Mapping[str, JobSummary]


class RemedyPlanner:
    """Plans what incidents ask for. For one thread."""

    def __init__(
        self, settings: ActionsSettings, reach: Sequence[ExecutorReach], store: RemedyStore
    ) -> None:
        self._settings = settings
        self._reach = reach
        self._store = store
        self._known: dict[str, None] = {}
        """Actions that are planned for certain: not to be looked up at each change."""

    def plan(
        self, documents: Sequence[Mapping[str, Any]], jobs: Callable[[], Jobs], now: float
    ) -> None:
        """Plan what these incidents ask for. Raises StoreError."""
        wanted = [
            (document, found, choice)
            for document in documents
            if isinstance(found := verdicts.verdict(document, self._settings), RemedyVerdict)
            and not isinstance(
                choice := verdicts.chosen(found, self._reach, self._settings), NoRemedy
            )
            and verdicts.identity(found, choice.action) not in self._known
        ]
        if not wanted:
            return
        held, running = self._store.active_mutes(now), jobs()
        for document, found, choice in wanted:
            if mutes.holding(held, document) is None:
                self._keep(found, choice, running, now)

    def _keep(self, found: RemedyVerdict, choice: ChosenRemedy, jobs: Jobs, now: float) -> None:
        identity, due_at = (
            verdicts.identity(found, choice.action),
            now + self._settings.veto_seconds,
        )
        summary = jobs.get(found.job)
        why = self._store.plan_remedy(
            PlannedRemedy(
                id=identity,
                incident=found.incident,
                job=found.job,
                attempt=found.attempt if summary is None else summary.attempt,
                fault=found.fault,
                entity=found.entity,
                host=found.host,
                action=choice.action,
                executor=choice.executor,
                mode="act" if self._settings.mode == "act" else "dry_run",
                probability=found.probability,
                due_at=due_at,
                text=wording.planned(found.fault, found.probability, due_at, choice.executor),
            ),
            now,
            settle_seconds=self._settings.outcome_seconds,
        )
        if why in ("", PLANNED_ALREADY):
            self._known[identity] = None
            if len(self._known) > _MOST_KNOWN:
                del self._known[next(iter(self._known))]
        if not why:
            what = wording.named(choice.action, found.job, found.host, found.entity)
            _LOG.warning("an action is planned", id=identity, what=what, due_at=due_at)
