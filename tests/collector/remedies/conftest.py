"""A runner over a real store, an executor that remembers, and a job that the test moves on."""

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, cast

import pytest

from rankscope.alerts.actions import PersonAction
from rankscope.alerts.lifecycle import IncidentChange
from rankscope.collector.journal.actions import RecordedAction
from rankscope.collector.remedies.executors.contract import Allowed, ExecutorError, RemedyOrder
from rankscope.collector.remedies.runner import RemedyRunner
from rankscope.collector.settings.actions import ActionsSettings, ExecutorSettings
from rankscope.collector.store import IncidentDatabaseStore
from rankscope.collector.windows.queries import JobSummary
from rankscope.vocabulary.ids import Job
from rankscope.vocabulary.incidents import CauseStatus, Happening, Incident, TimelineMoment
from rankscope.vocabulary.remedies import RemedyKind


@dataclass
class RememberingExecutor:
    """Does what it is asked, and notes it. `raises`: how the next calls end, after the deed."""

    kinds: frozenset[RemedyKind] = frozenset(("restart", "exclude_node", "pause"))
    orders: list[tuple[str, str]] = field(default_factory=list)
    raises: list[ExecutorError | None] = field(default_factory=list)
    looks: list[ExecutorError | None] = field(default_factory=list)
    meanwhile: Callable[[], None] = lambda: None
    asks_only_what_is_left: bool = False

    def look(self, order: RemedyOrder) -> Mapping[str, Any]:
        error = self.looks.pop(0) if self.looks else None
        if error is not None:
            raise error
        return {"attempt": 0}

    def carry_out(self, order: RemedyOrder, seen: Mapping[str, Any], allowed: Allowed) -> str:
        return self._do(order.action, order, allowed)

    def undo(self, order: RemedyOrder, seen: Mapping[str, Any], allowed: Allowed) -> str:
        return self._do("undo", order, allowed)

    def _do(self, what: str, order: RemedyOrder, allowed: Allowed) -> str:
        allowed()
        self.orders.append((what, order.host or order.job))
        self.meanwhile()
        error = self.raises.pop(0) if self.raises else None
        if error is not None:
            raise error
        return f"{what} done"


SUMMARY = JobSummary(
    job=Job("run-1"), attempt=0, cluster=None, first_at=0.0, last_at=0.0, last_received=0.0,
    world_size=16, hosts=("gpu-1", "gpu-2"), ranks=16, last_step=100, step_seconds=1.5,
)  # fmt: skip


@dataclass
class MovedJob:
    """A job whose steps the test sets, and what was entered in the journal."""

    store: IncidentDatabaseStore
    clock: Any
    summary: JobSummary | None = SUMMARY
    entered: list[RecordedAction] = field(default_factory=list)
    takes: bool = True

    @property
    def summaries(self) -> "MovedJob":
        return self

    def jobs(self) -> list[JobSummary]:
        if self.summary is None:
            return []
        return [dataclasses.replace(self.summary, last_received=self.clock.at)]

    def moves(self, **more: Any) -> None:
        assert self.summary is not None
        self.summary = dataclasses.replace(self.summary, **more)

    def act(self, action: RecordedAction, *, timeout_seconds: float) -> bool:
        if not self.takes:
            return False
        self.entered.append(action)
        self.store.enter(action, [], self.clock.at)
        return True


@pytest.fixture
def executor():
    return RememberingExecutor()


@pytest.fixture
def flow(store, clock):
    return MovedJob(store, clock)


@pytest.fixture
def settings_of():
    """Return a function that makes settings with one executor, `double`."""

    def make(**more: Any) -> ActionsSettings:
        given = {
            "mode": "act",
            "veto_seconds": 60.0,
            "executors": (ExecutorSettings(kind="slurm", name="double"),),
            **more,
        }
        return ActionsSettings(**given)

    return make


@pytest.fixture
def new_runner(store, executor, flow, clock, settings_of):
    """Return a function that makes a runner, as a start of the collector does."""
    started: list[Callable[[], None]] = []

    def make(**more: Any) -> RemedyRunner:
        for stop in started:
            stop()
        runner = RemedyRunner(
            settings=settings_of(**more),
            executors={"double": executor},
            store=store,
            flow=flow,
            clock=clock,
            store_clock=clock,
            owner=f"process-{len(started)}",
        )
        started.append(store.subscribe(runner.changed))
        return runner

    return make


@pytest.fixture
def incident_of(new_incident, clock):
    """Return a function that makes an incident as evaluation decides on it now."""

    def make(
        *,
        fault: str = "gpu.lost",
        cause: CauseStatus = "stable",
        probability: float | None = 0.98,
        slowdown: float | None = None,
        quality: Literal["", "claimed"] = "",
        **more: Any,
    ) -> Incident:
        made: Incident = new_incident(fault=fault, updated_at=clock.at, **more)
        first = made.root_cause.hypotheses[0]
        evidence = tuple(dataclasses.replace(row, quality=quality) for row in first.evidence)
        first = dataclasses.replace(first, probability=probability, evidence=evidence)
        return dataclasses.replace(
            made,
            root_cause=dataclasses.replace(made.root_cause, status=cause, hypotheses=(first,)),
            impact=dataclasses.replace(made.impact, slowdown=slowdown),
            timeline=(TimelineMoment(clock.at, "opened", "it is slow"),),
        )

    return make


@pytest.fixture
def happens(store, incident_of, clock):
    """Return a function that commits an incident as it is decided now."""
    known = set()

    def commit(kind: str = "", **more: Any) -> Incident:
        if kind == "resolved":
            more["status"] = "resolved"
        made: Incident = incident_of(**more)
        kind = kind or ("updated" if made.id in known else "opened")
        happening = cast("Happening", f"incident.{kind}")
        known.add(made.id)
        store.commit([IncidentChange(happening, made, notify=False)], clock.at)
        return made

    return commit


@pytest.fixture
def passes(clock, happens, store):
    """Return a function that lets time pass in steps of a runner; incidents are renewed."""

    def wait(runner: RemedyRunner, seconds: float, *, renewed: bool = True, **more: Any) -> None:
        end = clock.at + seconds
        while clock.at < end:
            clock.at += min(20.0, end - clock.at)
            if renewed:
                happens(**more)
            runner.step()

    return wait


@pytest.fixture
def states(store):
    """Return a function that gives the states of all actions, the oldest first."""
    return lambda: [row.state for row in reversed(store.remedies())]


@pytest.fixture
def mute_of(store, clock):
    """Return a function that enters a maintenance window: a label, its patterns, how long."""

    def enter(name: str, patterns: list[str], *, seconds: float) -> None:
        detail = {
            "matchers": [[name, patterns, False]],
            "starts_at": clock.at,
            "ends_at": clock.at + seconds,
        }
        done = PersonAction("maintenance", None, clock.at, "ann", detail)
        store.enter(RecordedAction.new(done), [], clock.at)

    return enter
