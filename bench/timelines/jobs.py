"""One attempt of a job: its ranks, their groups, and what is due before which step."""

from dataclasses import dataclass, field
from random import Random

from .collectives import CollectiveGroup
from .curves import LossCurve
from .event_loop import EventLoop, WaitSignal
from .hosts import HostState
from .plans import JobPlan, ReporterPlan
from .recording import PointRecorder


@dataclass(frozen=True, slots=True)
class StepAgenda:
    """What all ranks do at a step, as the first of them found it due."""

    save: bool
    evaluate: bool
    rollout: bool
    epoch: bool
    collect: bool
    profiled: bool
    extra: float
    tokens: float


@dataclass(slots=True)
class JobSwitches:
    """What faults turn. Factors of one, seconds and shares of zero do nothing."""

    work: float = 1.0
    token_sigma: float = 0.0
    recompile_every: int = 0
    recompile_seconds: float = 0.0
    save_slow: float = 1.0
    collect_every: int = 0
    collect_seconds: float = 0.0
    overflow_from: float = float("inf")
    stage_slow: dict[int, float] = field(default_factory=dict)


class JobAttempt:
    """Ranks in Megatron's order: tp fastest, then dp, then pp."""

    def __init__(
        self,
        loop: EventLoop,
        plan: JobPlan,
        reporter: ReporterPlan,
        recorder: PointRecorder,
        curve: LossCurve,
        hosts: list[HostState],
        attempt: int,
        first_step: int,
        rng: Random,
    ) -> None:
        self.loop, self.plan, self.reporter, self.recorder = loop, plan, reporter, recorder
        self.curve, self.hosts, self.attempt, self.rng = curve, hosts, attempt, rng
        self.first_step, self.last_saved = first_step, first_step
        self.began = loop.now
        self.tp = plan.tp
        self.pp = plan.pp if plan.ranks % (plan.tp * plan.pp) == 0 else 1
        self.dp = plan.ranks // (self.tp * self.pp)
        self.ep = plan.ep if self.dp % plan.ep == 0 else 1
        self.switches = JobSwitches()
        self.resumed = WaitSignal()
        self.loop.fire(self.resumed)
        self.over = False
        self.channels: dict[tuple[int, int, int, int, str], WaitSignal] = {}
        self._agendas: dict[int, StepAgenda] = {}
        self._profiled_from = -1
        self._longer_from = -1
        self.last_step = -1
        self.groups: dict[str, dict[int, CollectiveGroup]] = {"dp": {}, "tp": {}, "ep": {}}
        self._make_groups()

    def host_of(self, rank: int) -> HostState:
        return self.hosts[rank // self.plan.per_host]

    def place(self, rank: int) -> tuple[int, int, int]:
        """Return (stage, replica, tensor part) of a rank."""
        return (
            rank // (self.dp * self.tp),
            rank // self.tp % self.dp,
            rank % self.tp,
        )

    def channel(self, step: int, stage: int, micro: int, rank: int, way: str) -> WaitSignal:
        """Return the signal that a stage of a pipeline has handed on a micro-batch."""
        pipe = rank % (self.dp * self.tp)
        return self.channels.setdefault((step, stage, micro, pipe, way), WaitSignal())

    def agenda(self, step: int) -> StepAgenda:
        if step not in self._agendas:
            self._agendas[step] = self._due(step)
            self._agendas.pop(step - 3, None)
            stale = [key for key in self.channels if key[0] < step - 2]
            for key in stale:
                del self.channels[key]
        return self._agendas[step]

    def finished(self, step: int) -> bool:
        """Return whether the first rank to ask found the run over before this step."""
        due = self.plan.end_at and self.loop.now > self.plan.end_at * self.plan.seconds
        if due and self.last_step < 0:
            self.last_step = step
        return 0 <= self.last_step <= step

    def _due(self, step: int) -> StepAgenda:
        plan, now, done = self.plan, self.loop.now, step - self.first_step
        if plan.profile_at and self._profiled_from < 0 and now > plan.profile_at * plan.seconds:
            self._profiled_from = step
        if plan.curriculum_at and self._longer_from < 0 and now > plan.curriculum_at * plan.seconds:
            self._longer_from = step
        extra = plan.first_step if done == 0 else 0.0
        if 0 < done <= plan.tune_steps:
            extra += plan.tune_cost
        every = self.switches.recompile_every
        if every and self.rng.random() < 1.0 / every:  # shapes come with the data, by chance
            extra += self.switches.recompile_seconds
        return StepAgenda(
            save=_due_every(done, plan.save_every),
            evaluate=_due_every(done, plan.eval_every),
            rollout=bool(plan.rollout_every) and done % plan.rollout_every == 0,
            epoch=_due_every(done, plan.epoch_steps),
            collect=_due_every(done, plan.gc_every),
            profiled=0 <= self._profiled_from <= step < self._profiled_from + plan.profile_steps,
            extra=extra,
            tokens=plan.curriculum_factor if 0 <= self._longer_from <= step else 1.0,
        )

    def _make_groups(self) -> None:
        plan, everyone = self.plan, range(self.plan.ranks)
        dp_seconds = plan.transfer * plan.compute / plan.buckets
        for kind, op, count in (("dp", "AllReduce", self.dp), ("tp", "AllReduce", self.tp)):
            if count > 1:
                key = (0, 2) if kind == "dp" else (0, 1)
                self._group(kind, op, everyone, key, dp_seconds if kind == "dp" else 0.0)
        if self.ep > 1:
            self._group("ep", "AllToAll", everyone, (0, 1, 2), 0.0)

    def _group(
        self, kind: str, op: str, everyone: range, key: tuple[int, ...], seconds: float
    ) -> None:
        members: dict[tuple[int, ...], list[int]] = {}
        for rank in everyone:
            place = list(self.place(rank))
            if kind == "ep":
                place[1] //= self.ep
            members.setdefault(tuple(place[at] for at in key), []).append(rank)
        for ranks in members.values():
            hosts = [self.host_of(rank) for rank in ranks]
            far = self.plan.pod_factor if len({host.pod for host in hosts}) > 1 else 1.0
            took = seconds * far or 0.02 * self.plan.compute / self.plan.micro
            apart = len({host.name for host in hosts}) > 1
            width = 0.8 * sum(port.rate for port in hosts[0].ports) if apart else 1.6e11
            group = CollectiveGroup(
                self.loop, kind, op, ranks, hosts, seconds=took,
                size=took / far * width,
                sigma=self.plan.link_sigma if apart else 0.03, rng=Random(self.rng.random()),
            )  # fmt: skip
            self.groups[kind].update(dict.fromkeys(ranks, group))


def _due_every(done: int, every: int) -> bool:
    return bool(every) and done > 0 and done % every == 0
