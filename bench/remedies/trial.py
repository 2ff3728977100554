"""One trial: an hour and a half of a small cluster, seen by a collector that keeps being killed.

Faults come at random times: of nodes, which slow a job down or stop it, and of jobs' own processes;
some go by themselves. Decoys name healthy nodes in ways that nobody may act on. People veto, undo,
restart jobs and end them; the collector is away for minutes. At the end everything that was done to
the cluster is held against what was true.
"""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rankscope.collector.journal.actions import RecordedAction
from rankscope.collector.remedies.runner import RemedyRunner
from rankscope.collector.settings.actions import ActionsSettings, ExecutorSettings
from rankscope.collector.store import IncidentDatabaseStore
from rankscope.collector.store.errors import RefusedError
from rankscope.collector.store.remedy_rows import RemedyRecord
from rankscope.collector.windows.queries import JobSummary

from . import precision
from .cluster import TrialCluster, TrialEffect
from .executor import TrialExecutor
from .kills import CollectorKilled, KillSwitch
from .precision import ActionTruth
from .verdicts import Mistake, TrialVerdicts

T0 = 1_700_000_000.0
TRIAL_SECONDS = 5400.0
TICK_SECONDS = 10.0
MOST_ROUNDS = 20
"""A collector that is killed again and again within one tick gets so many starts."""

_NODE_FAULTS = (
    ("gpu.lost", "stopped"),
    ("gpu.thermal_throttle", "slow"),
    ("network.nic_down", "slow"),
    ("host.driver_hang", "stopped"),
    ("gpu.memory_uncorrectable", "stopped"),
)
_JOB_FAULTS = ("software.stuck_process", "software.deadlock")
_MISTAKES: tuple[Mistake, ...] = ("unsure", "claimed", "shared", "unknown")


@dataclass(slots=True)
class StepTime:
    """A clock that the trial sets."""

    at: float = T0

    def now(self) -> float:
        return self.at


@dataclass(slots=True)
class TrialFlow:
    """What a runner asks of a collector: summaries of jobs, and the journal."""

    cluster: TrialCluster
    store: IncidentDatabaseStore
    clock: StepTime
    kills: KillSwitch

    @property
    def summaries(self) -> "TrialFlow":
        return self

    def jobs(self) -> list[JobSummary]:
        return self.cluster.summaries(self.clock.at)

    def act(self, action: RecordedAction, *, timeout_seconds: float) -> bool:  # noqa: ARG002
        """Enter an action as evaluation would: in the store, and so in the timeline."""
        self.kills.point("before the journal")
        self.store.enter(action, [], self.clock.at)
        self.kills.point("after the journal")
        return True


@dataclass(slots=True)
class TrialResult:
    """What one trial did, and each promise that it broke, in words."""

    seed: int
    broken: list[str] = field(default_factory=list[str])
    states: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    effects: Counter[str] = field(default_factory=Counter)
    killed: Counter[str] = field(default_factory=Counter)
    answers: Counter[str] = field(default_factory=Counter)
    acted: list[ActionTruth] = field(default_factory=list[ActionTruth])
    faults: int = 0


def run(seed: int, folder: Path, *, kill_share: float = 0.04, faulty: float = 0.1) -> TrialResult:
    """Run the trial of a seed with a store in a folder; say what was done and which was broken."""
    return RemedyTrial(seed, folder, kill_share=kill_share, faulty=faulty).run()


class RemedyTrial:
    """One trial. `run` may be called once."""

    def __init__(self, seed: int, folder: Path, *, kill_share: float, faulty: float) -> None:
        self._chance = random.Random(seed)
        chance = self._chance
        sizes = [chance.randint(2, 3) for _ in range(chance.randint(2, 3))]
        self._cluster = TrialCluster(chance, nodes=sum(sizes) + chance.randint(1, 3), sizes=sizes)
        self._clock = StepTime()
        self._kills = KillSwitch(chance, kill_share)
        self._verdicts = TrialVerdicts(self._cluster, chance)
        lying = 0.03 if chance.random() < 0.2 else 0.0
        self._executor = TrialExecutor(
            self._cluster, self._kills, chance, faulty=faulty, lying=lying
        )
        self._settings = ActionsSettings(
            mode="act",
            veto_seconds=chance.choice((0.0, 60.0, 120.0)),
            nodes_per_hour=chance.randint(1, 2),
            fleet_share=chance.choice((0.1, 0.3)),
            restarts_per_job_hour=chance.randint(1, 3),
            outcome_seconds=600.0,
            give_up_seconds=300.0,
            wait_seconds=900.0,
            executors=(
                ExecutorSettings(
                    kind="slurm", name="trial", actions=tuple(sorted(self._executor.kinds))
                ),
            ),
        )
        self._store = IncidentDatabaseStore(f"sqlite:///{folder / f'trial-{seed}.db'}")
        # The seam of every write.
        self._kills.watch(vars(self._store)["_database"])
        self._flow = TrialFlow(self._cluster, self._store, self._clock, self._kills)
        self._started = 0
        self._away_until = 0.0
        self._unsubscribe: Callable[[], None] = lambda: None
        self._runner = self._start()
        self._result = TrialResult(seed)
        self._plan = sorted(
            (T0 + chance.uniform(60, TRIAL_SECONDS - 1500), chance.random())
            for _ in range(chance.randint(4, 9))
        )

    def run(self) -> TrialResult:
        end = T0 + TRIAL_SECONDS
        while self._clock.at < end:
            self._clock.at += TICK_SECONDS
            self._cluster.advance(self._clock.at, TICK_SECONDS)
            while self._plan and self._plan[0][0] <= self._clock.at:
                self._happen(self._plan.pop(0)[1])
            # What is under way in the end is brought to its end without more kills.
            self._turn(deadly=self._clock.at < end - 900)
        self._check()
        self._store.close()
        return self._result

    def _start(self) -> RemedyRunner:
        self._unsubscribe()
        self._started += 1
        runner = RemedyRunner(
            settings=self._settings,
            executors={"trial": self._executor},
            store=self._store,
            flow=self._flow,
            clock=self._clock,
            store_clock=self._clock,
            owner=f"process-{self._started}",
        )
        self._unsubscribe = self._store.subscribe(runner.changed)
        return runner

    def _turn(self, *, deadly: bool) -> None:
        """Let evaluation decide and the runner act, however often it is killed at that."""
        if self._clock.at < self._away_until:
            return
        self._executor.now = self._clock.at
        self._store.commit(self._verdicts.changes(self._clock.at), self._clock.at)
        for _ in range(MOST_ROUNDS):
            self._kills.armed = deadly
            try:
                self._runner.step()
                return
            except CollectorKilled:
                self._kills.armed = False
                self._runner = self._start()
                if self._chance.random() < 0.2:
                    self._away_until = self._clock.at + self._chance.uniform(30, 700)
                    return
            finally:
                self._kills.armed = False

    def _happen(self, draw: float) -> None:
        """Let something happen: a fault, a repair, a decoy, a person, an end."""
        chance, now = self._chance, self._clock.at
        job = chance.choice(list(self._cluster.jobs.values()))
        if draw < 0.4 and job.nodes:
            node = chance.choice(job.nodes)
            node.fault, node.effect = chance.choice(_NODE_FAULTS)  # type: ignore[assignment]
            self._result.faults += 1
            if chance.random() < 0.3:
                self._plan.append((now + chance.uniform(30, 600), 0.99))
                self._plan.sort()
        elif draw < 0.55 and not job.ended and job.nodes:
            job.stuck = chance.choice(_JOB_FAULTS)
            self._result.faults += 1
        elif draw < 0.75 and job.nodes:
            self._verdicts.decoy(job, chance.choice(_MISTAKES), now)
        elif draw < 0.80 and not job.ended:
            self._cluster.restart(job.name, "a person", now)
        elif draw < 0.84:
            job.ended, job.nodes = True, []
        elif draw < 0.92:
            self._decide()
        else:
            for node in self._cluster.nodes.values():
                if node.fault and chance.random() < 0.7:
                    node.heal(now)

    def _decide(self) -> None:
        """Let a person veto what is planned, or undo what was done."""
        now = self._clock.at
        for row in self._store.remedies():
            try:
                if row.state == "planned":
                    self._store.veto_remedy(row.id, by="ann", note="no", now=now)
                elif row.state == "done" and row.action == "exclude_node":
                    self._store.want_undo_of_remedy(row.id, by="ann", note="back", now=now)
            except RefusedError as error:
                self._result.broken.append(f"a person was refused: {error}")

    # What was done, held against the truth

    def _check(self) -> None:
        result, effects = self._result, self._cluster.effects
        rows = self._store.remedies()
        result.states.update(row.state for row in rows)
        result.outcomes.update(row.outcome for row in rows if row.outcome is not None)
        result.effects.update(effect.kind for effect in effects if effect.action != "a person")
        result.killed, result.answers = self._kills.killed, self._executor.answers
        for row in rows:
            result.broken += self._of_row(row, [e for e in effects if e.action == row.id])
        result.acted = list(precision.truths(self._cluster, rows, self._executor.lied))
        known = {row.id for row in rows}
        for effect in effects:
            if effect.action not in known and effect.action != "a person":
                result.broken.append(f"{effect} has no record")
        result.broken += self._of_budget([e for e in effects if e.kind != "restart"])
        if self._store.remedy_steps_to_enter():
            result.broken.append("a step is in no timeline")

    def _of_row(self, row: RemedyRecord, effects: Sequence[TrialEffect]) -> list[str]:
        """Return what is wrong with one action: done twice, half, wrongly, or left lying."""
        what = f"{row.action} {row.id} of {row.host}/{row.job} ({row.state}: {row.reason})"
        count = Counter(effect.kind for effect in effects)
        broken = []
        if count["drain"] > 1 or count["restart"] > 1 or count["resume"] > count["drain"]:
            broken.append(f"twice: {what}: {dict(count)}")
        if any(not effect.rightly for effect in effects):
            broken.append(f"on what was healthy: {what}")
        if row.state == "started" or row.undo in ("wanted", "started"):
            broken.append(f"left lying: {what}")
        if row.state in ("planned", "vetoed", "withdrawn") and effects:
            broken.append(f"done though {row.state}: {what}")
        lied = row.id in self._executor.lied
        if row.state == "done" and not lied:
            if row.action == "exclude_node" and not count["drain"] and not self._was_out(row):
                broken.append(f"half: not drained: {what}")
            if row.seen.get("attempt") is not None and not self._restarted(row, effects):
                broken.append(f"half: not restarted: {what}")
        if row.state in ("failed", "undone") and count["drain"] > count["resume"]:
            broken.append(f"half: drained and {row.state}: {what}")
        looked = row.ended_at or self._clock.at
        looked += self._settings.outcome_seconds + 2 * TICK_SECONDS
        if row.state == "done" and row.outcome is None and looked < self._clock.at:
            broken.append(f"nobody looked what came of it: {what}")
        if row.outcome == "recovered" and row.outcome_at is not None:
            # Whatever an executor said: at that time the job made steps as it should, or as it did
            # before it stood, where it was slow for another reason then.
            job = self._cluster.jobs[row.job]
            trouble = job.troubles.get(row.outcome_at, "")
            stood = row.measured.get("before_seconds") is None
            if trouble and not (stood and trouble == job.last_moving(row.started_at or 0.0)):
                broken.append(f"recovered, and {trouble}: {what}")
        return broken

    def _was_out(self, row: RemedyRecord) -> bool:
        return any(e.kind == "drain" and e.target == row.host for e in self._cluster.effects)

    def _restarted(self, row: RemedyRecord, effects: Sequence[TrialEffect]) -> bool:
        """Return whether the job was restarted, by this action or anybody since, or has ended."""
        if any(effect.kind == "restart" for effect in effects):
            return True
        job = self._cluster.jobs[row.job]
        return job.ended or job.attempt > row.seen["attempt"]

    def _of_budget(self, effects: Sequence[TrialEffect]) -> list[str]:
        broken, out = [], set[str]()
        drains = [effect.at for effect in effects if effect.kind == "drain"]
        for at in drains:
            hour = sum(1 for one in drains if at <= one < at + 3600)
            if hour > self._settings.nodes_per_hour:
                broken.append(f"budget: {hour} nodes within an hour")
        hosts = sum(job.size for job in self._cluster.jobs.values())
        most = max(int(self._settings.fleet_share * hosts), 1)
        for effect in sorted(effects, key=lambda one: one.at):
            if effect.kind == "drain":
                out.add(effect.target)
            else:
                out.discard(effect.target)
            if len(out) > most:
                broken.append(f"budget: {len(out)} nodes out, {most} may be")
        return broken
