"""Drives a pipeline through time: the one order of evaluating and applying, live and in replay.

Before an entry is applied, the whole seconds up to its time are evaluated; a second is therefore
evaluated with exactly the entries whose time is before it. Only seconds in which something changed
or something is due cost anything. Whoever feeds the same entries with the same times, and skips the
same seconds, gets the same calls, and so the same incidents.
"""

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, Protocol

from ...alerts.actions import PersonAction
from ...alerts.closed import ClosedIncident
from ...alerts.shared.messages import Message
from ...formats.otlp.columns import MetricsBatch, SeriesTable
from ...vocabulary.samples import Event
from ..intake.payloads import DecodedPayload
from ..journal.actions import RecordedAction
from .overload import RecordedSkips, SkipPolicy
from .series import SeriesTranslations

QUIET_SECONDS = 900
"""How long evaluation goes on without any entry. Everything silent together is the end of the data,
so a night without telemetry is neither evaluated second by second nor found to be a fault."""


class PipelineEvaluator(Protocol):
    """What a pipeline offers to whoever drives it."""

    @property
    def table(self) -> SeriesTable:
        """Return the series that batches refer to."""
        ...

    bounded: Callable[[str, str, int], None] | None
    """Gets what was left out for its number or size: by which bound, of whom, how much."""

    def metrics(self, batch: MetricsBatch, now: float) -> None:
        """Take samples."""
        ...

    def events(self, events: Sequence[Event], now: float) -> None: ...

    def act(self, action: PersonAction, now: float) -> Sequence[Any]:
        """Take what a person did; return what changed."""
        ...

    def shared(self, message: Message, now: float) -> Sequence[Any]:
        """Take what another partition has sent; return what changed."""
        ...

    def remember(self, incidents: Iterable[ClosedIncident]) -> None:
        """Take in incidents of an earlier process, so that none is announced again."""
        ...

    def share(self, partition: int) -> None:
        """Begin as one partition of several."""
        ...

    def resume(self, started: Any) -> None:
        """Go on after a snapshot with the settings of the one that this process started with."""
        ...

    def evaluate_jobs(self, now: float) -> Iterator[Sequence[Any]]:
        """Evaluate a whole second, job by job; yield what changed in each."""
        ...

    def next_due(self) -> float:
        """Return when time alone could change anything (inf: never)."""
        ...


@dataclass(frozen=True, slots=True)
class ScheduleTime:
    """How far time has come: for a snapshot."""

    evaluated: int | None = None
    quiet_at: int = 0
    changed: bool = False


@dataclass(frozen=True, slots=True)
class ScheduleHooks:
    """Who is called when something happens; nothing is decided by any of it.

    `changed` gets the changes of one second and that second, `acted` an action, its changes and
    its time. `failed` gets what a defect of the pipeline raised: the stage ("evaluate", "metrics",
    "events", "act", "shared") and the exception; time goes on. `took` gets the seconds of each
    evaluation.
    """

    changed: Callable[[Sequence[Any], float], None]
    failed: Callable[[str, Exception], None]
    acted: Callable[[RecordedAction, Sequence[Any], float], None] = lambda *_: None
    took: Callable[[float], None] = lambda _seconds: None


class EvaluationSchedule:
    """A pipeline and how far its time has come. `lock` is held in pieces, for readers' sake."""

    def __init__(
        self,
        pipeline: PipelineEvaluator,
        hooks: ScheduleHooks,
        *,
        skips: SkipPolicy | None = None,
        lock: AbstractContextManager[None] | None = None,
        at: ScheduleTime | None = None,
    ) -> None:
        at = at or ScheduleTime()
        self._pipeline = pipeline
        self._hooks = hooks
        self._skips: SkipPolicy = skips or RecordedSkips()
        self._lock = lock or nullcontext()
        self.translations = SeriesTranslations(pipeline.table)
        self._evaluated = at.evaluated
        self._quiet_at = at.quiet_at
        self._changed = at.changed

    @property
    def evaluated(self) -> int | None:
        """Return the last whole second that was reached, None before the first entry."""
        return self._evaluated

    @property
    def moment(self) -> ScheduleTime:
        """Return how far time has come."""
        return ScheduleTime(self._evaluated, self._quiet_at, self._changed)

    def apply(self, entry: DecodedPayload, now: float) -> None:
        """Evaluate what is due before `now`, then take the entry. `now` never goes back."""
        if self._evaluated is None:
            self._evaluated = math.floor(now)
        self.until(now)
        if entry.action is not None:
            self._act(entry.action, now)
            return
        if entry.shared is not None:
            self._share(entry.shared, now)
            return
        self._quiet_at = math.floor(now) + QUIET_SECONDS
        self._changed = True
        try:
            with self._lock:
                if entry.metrics is not None:
                    batch = entry.metrics
                    if entry.table is not None:
                        batch = self.translations.translated(batch, entry.table)
                    self._pipeline.metrics(batch, now)
                elif entry.events:
                    self._pipeline.events(entry.events, now)
        except Exception as error:  # noqa: BLE001  the edge of one entry: it must not end the others
            self._hooks.failed("events" if entry.metrics is None else "metrics", error)

    def until(self, now: float) -> None:
        """Evaluate the whole seconds up to `now`, as long as anything was received lately."""
        if self._evaluated is None:
            return
        last = math.floor(now)
        while (second := self._next(min(last, self._quiet_at))) is not None:
            skipped = self._skips.until(second)
            if skipped is not None:
                self._evaluated = skipped
                continue
            self._evaluated, self._changed = second, False
            self._evaluate(float(second))
        self._evaluated = max(self._evaluated, last)

    def _next(self, last: int) -> int | None:
        """Return the next second to evaluate up to the last one, None where there is none."""
        assert self._evaluated is not None  # noqa: S101  `until` has looked
        second = self._evaluated + 1
        if not self._changed:
            due = self._pipeline.next_due()
            if due > last:
                return None
            if due > second:
                second = math.ceil(due)
        return second if second <= last else None

    def _evaluate(self, second: float) -> None:
        began = time.perf_counter()
        changes: list[Any] = []
        try:
            jobs = self._pipeline.evaluate_jobs(second)
            while True:
                with self._lock:
                    part = next(jobs, None)
                if part is None:
                    break
                changes += part
        except Exception as error:  # noqa: BLE001  the edge of one evaluation, counted
            self._hooks.failed("evaluate", error)
        finally:
            self._hooks.took(time.perf_counter() - began)
        if changes:
            self._hooks.changed(changes, second)

    def _share(self, message: Message, now: float) -> None:
        """Take what is sent whenever incidents are open: it is no sign of telemetry."""
        changes: Sequence[Any] = ()
        try:
            with self._lock:
                changes = self._pipeline.shared(message, now)
        except Exception as error:  # noqa: BLE001  the edge of one message
            self._hooks.failed("shared", error)
        if changes:
            self._hooks.changed(changes, now)

    def _act(self, entered: RecordedAction, now: float) -> None:
        # It happened when it was received: the clock of the API may have been another.
        action = replace(entered.action, at=now)
        changes: Sequence[Any] = ()
        try:
            with self._lock:
                changes = self._pipeline.act(action, now)
        except Exception as error:  # noqa: BLE001  the edge of one action
            self._hooks.failed("act", error)
        self._hooks.acted(replace(entered, action=action), changes, now)
