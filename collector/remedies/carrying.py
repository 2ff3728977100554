"""Actions that are due: started under a lease, carried out, taken back.

Between any two writes the process may be killed. What is planned is not begun; what is started has
a lease that ends, and whoever takes it over asks the executor for what is not done yet.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import structlog

from ...vocabulary.clock import Clock
from ...vocabulary.remedies import UNDOABLE
from ..settings.actions import ActionsSettings
from ..store.remedied import RemedyStore
from ..store.remedy_changes import RemedyBudget
from ..store.remedy_rows import RemedyRecord
from ..windows.queries import JobSummary
from . import outcomes, records, wording
from .doubts import KeptIncidents, RemedyDoubts
from .executors.contract import (
    ExecutorError,
    RefusedOrderError,
    RemedyExecutor,
    UnansweredOrderError,
)

_LOG = structlog.get_logger(__name__)
_RETRY_SECONDS = 10.0
"""After so long an executor that did not answer is asked again."""
_SEEN_SECONDS = 600.0
"""Hosts of jobs that reported within so long make up the fleet."""

Jobs = Mapping[str, JobSummary]


class _StepLeftError(Exception):
    """Something of an action is not done yet."""


def _nothing_more() -> None:
    raise _StepLeftError


class RemedyCarrier:
    """Starts, carries out and takes back. Every call may raise LostLeaseError and StoreError."""

    def __init__(
        self,
        *,
        settings: ActionsSettings,
        executors: Mapping[str, RemedyExecutor],
        store: RemedyStore,
        incidents: KeptIncidents,
        doubts: RemedyDoubts,
        clock: Clock,
        store_clock: Clock,
        owner: str,
    ) -> None:
        self._settings = settings
        self._executors = executors
        self._store = store
        self._incidents = incidents
        self._doubts = doubts
        self._clock = clock
        self._store_clock = store_clock
        self._owner = owner
        self._undoing: dict[str, float] = {}
        """When this process first asked for each undo that is not answered yet."""

    def consider(self, row: RemedyRecord, jobs: Jobs) -> None:
        """Withdraw a planned action whose reason is gone, or start it once it is due."""
        now, summary = self._store_clock.now(), jobs.get(row.job)
        doubt = self._doubts.about(row, summary, now)
        if doubt is not None and doubt.lasting:
            self._store.withdraw_remedy(row.id, doubt.why, now)
            return
        if now < row.due_at:
            return
        why = self._begin(row, jobs, now) if doubt is None else doubt.why
        if why and now > row.due_at + self._settings.wait_seconds:
            self._store.withdraw_remedy(row.id, f"waited in vain: {why}", now)
        elif why and why != row.reason:
            self._store.hold_remedy(row.id, why)

    def resume(self, row: RemedyRecord, jobs: Jobs) -> None:
        """Go on with what was started and nobody is at, where its reason still holds.

        Where it does not, what is done to the last step counts as done, and the rest is not done:
        what was done of it is taken back.
        """
        now = self._store_clock.now()
        if not self._store.take_remedy(row.id, owner=self._owner, now=now):
            return
        doubt = None if row.mode == "dry_run" else self._doubts.about_rest(row)
        if doubt is None or self._is_anew(row, jobs):
            self._carry_out(row)
            return
        try:
            executor = self._executors.get(row.executor)
            if executor is not None and executor.asks_only_what_is_left:
                text = executor.carry_out(records.order(row), row.seen, _nothing_more)
                self._finish(row, "done", text)
                return
        except _StepLeftError:
            pass
        except ExecutorError as error:
            doubt = replace(doubt, why=f"{doubt.why}; {error}")
        if doubt.lasting or now - (row.started_at or 0.0) >= self._settings.give_up_seconds:
            text = f"given up before it was done: {doubt.why}"
            self._finish(row, "failed", text, undo=row.action in UNDOABLE)
        else:
            self._let_go(row, doubt.why)

    def _is_anew(self, row: RemedyRecord, jobs: Jobs) -> bool:
        """Return whether only the executor can say what was done, and the job began anew since.

        Its incident is over because the action was carried out, and the answer is what is missing.
        """
        executor, summary = self._executors.get(row.executor), jobs.get(row.job)
        if executor is None or executor.asks_only_what_is_left or summary is None:
            return False
        return summary.attempt > int(row.measured.get("attempt", summary.attempt))

    def undo(self, row: RemedyRecord) -> None:
        """Take back what is wanted back."""
        if not self._store.take_remedy(row.id, owner=self._owner, now=self._store_clock.now()):
            return
        executor = self._executors.get(row.executor)
        if executor is None:
            self._keep(row, f"executor {row.executor} is not in the settings any more")
            return
        if row.action not in UNDOABLE:
            self._keep(row, f"a {row.action} cannot be taken back")
            return
        try:
            text = executor.undo(records.order(row), row.seen, self._allowed(row))
        except RefusedOrderError as error:
            self._keep(row, str(error))
        except UnansweredOrderError as error:
            now = self._store_clock.now()
            # Time in which no collector ran is no time in which nobody answered.
            if now - self._undoing.setdefault(row.id, now) < self._settings.give_up_seconds:
                self._let_go(row, str(error))
                return
            self._keep(row, f"no answer to the undo: {error}")
        else:
            now = self._store_clock.now()
            self._undoing.pop(row.id, None)
            self._store.undid_remedy(row.id, owner=self._owner, text=text, now=now)
            _LOG.warning("an action was undone", id=row.id, text=text)

    def _begin(self, row: RemedyRecord, jobs: Jobs, now: float) -> str:
        """Start an action and carry it out; return why it cannot start yet."""
        executor = self._executors.get(row.executor)
        seen: Mapping[str, Any] = {}
        if executor is not None:
            try:
                seen = executor.look(records.order(row))
            except RefusedOrderError as error:
                self._store.withdraw_remedy(row.id, f"{row.executor}: {error}", now)
                return ""
            except UnansweredOrderError as error:
                return f"{row.executor}: {error}"
        document = self._incidents.incident(row.incident)
        slowdown = None if document is None else document["impact"]["slowdown"]
        why = self._store.start_remedy(
            row.id,
            owner=self._owner,
            seen=seen,
            measured=outcomes.measured(jobs.get(row.job), slowdown),
            budget=self._budget(jobs),
            now=self._store_clock.now(),
        )
        if not why:
            self._carry_out(self._store.remedy(row.id))
        return why

    def _budget(self, jobs: Jobs) -> RemedyBudget:
        since = self._clock.now() - _SEEN_SECONDS
        fleet = {host for row in jobs.values() if row.last_received >= since for host in row.hosts}
        share = self._settings.fleet_share
        return RemedyBudget(
            nodes_per_hour=self._settings.nodes_per_hour,
            nodes_out=max(int(share * len(fleet)), 1) if share else 0,
            restarts_per_job=self._settings.restarts_per_job_hour,
        )

    def _carry_out(self, row: RemedyRecord) -> None:
        """Carry out what is started, under the lease."""
        if row.mode == "dry_run":
            self._finish(row, "done", "a dry run: nothing was done")
            return
        executor = self._executors.get(row.executor)
        if executor is None:
            self._finish(row, "failed", f"executor {row.executor} is not in the settings any more")
            return
        try:
            text = executor.carry_out(records.order(row), row.seen, self._allowed(row))
        except RefusedOrderError as error:
            self._finish(row, "failed", str(error), undo=row.action in UNDOABLE)
        except UnansweredOrderError as error:
            waited = self._store_clock.now() - (row.started_at or 0.0)
            if waited < self._settings.give_up_seconds:
                self._let_go(row, str(error))
                return
            text = f"no answer in {waited:.0f} s, whether it was done is not known: {error}"
            self._finish(row, "failed", text, undo=row.action in UNDOABLE)
        else:
            self._finish(row, "done", text)

    def _allowed(self, row: RemedyRecord) -> Callable[[], None]:
        """Return what renews the lease before each step; it raises where that is lost."""

        def renew() -> None:
            self._store.renew_remedy(row.id, owner=self._owner, now=self._store_clock.now())

        return renew

    def _finish(self, row: RemedyRecord, state: str, reason: str, *, undo: bool = False) -> None:
        now = self._store_clock.now()
        self._store.finish_remedy(
            row.id, owner=self._owner, state=state, reason=reason, now=now, undo=undo
        )
        log = _LOG.warning if row.mode == "act" else _LOG.info
        log("an action ended", id=row.id, state=state, what=wording.of_record(row), text=reason)

    def _let_go(self, row: RemedyRecord, reason: str) -> None:
        until = self._store_clock.now() + _RETRY_SECONDS
        self._store.let_go_of_remedy(row.id, owner=self._owner, until=until, reason=reason)

    def _keep(self, row: RemedyRecord, text: str) -> None:
        self._undoing.pop(row.id, None)
        now = self._store_clock.now()
        self._store.kept_remedy(row.id, owner=self._owner, text=text, now=now)
        _LOG.error("an action cannot be undone", id=row.id, why=text)
