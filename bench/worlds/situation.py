"""A case while it is put together: its layout, its pace, and what faults and habits add to it."""

from dataclasses import dataclass, field

import numpy as np

from . import tables
from .cluster import ClusterLayout, laid_out
from .effects import (
    CaseTruth,
    EditKind,
    EventRecord,
    ExtraSeries,
    RestartMark,
    Scalar,
    SeriesEdit,
    StepEffect,
    StopMark,
)
from .plans import CasePlan
from .values import ValueCurve

_EPOCH = 1_796_000_000.0


@dataclass(frozen=True, slots=True)
class StepPace:
    """Seconds of a usual step by phase, steps between checkpoints and evaluations (0: none)."""

    data: float
    compute: float
    network: float
    optimizer: float
    noise: float
    checkpoint_every: int
    checkpoint: float
    eval_every: int
    eval: float

    @property
    def step(self) -> float:
        """Return the whole of a usual step."""
        return self.data + self.compute + self.network + self.optimizer


@dataclass(slots=True)
class CaseSituation:
    """What is simulated. Faults append to its lists and set its truth."""

    plan: CasePlan
    layout: ClusterLayout
    pace: StepPace
    begin: float
    end: float
    first_step_at: float
    first_step: int
    onset: float
    rank_factor: np.ndarray
    older: np.ndarray
    host_memory: float
    curve: ValueCurve
    rng: np.random.Generator
    step_effects: list[StepEffect] = field(default_factory=list)
    edits: list[SeriesEdit] = field(default_factory=list)
    extras: list[ExtraSeries] = field(default_factory=list)
    events: list[EventRecord] = field(default_factory=list)
    clock_leaps: dict[int, tuple[float, float]] = field(default_factory=dict)
    versions: dict[int, tuple[str, str]] = field(default_factory=dict)
    flat_from: float | None = None
    stop: StopMark | None = None
    restart: RestartMark | None = None
    truth: CaseTruth = field(default_factory=CaseTruth)

    @property
    def weak(self) -> bool:
        """Return whether the fault is a weak one."""
        return self.plan.strength == "weak"

    @property
    def everybody(self) -> tuple[int, ...]:
        """Return all ranks."""
        return tuple(range(self.plan.world))

    def amount(self, plain: tuple[float, float], weak: tuple[float, float]) -> float:
        """Return an amount between the bounds of this case's strength."""
        return float(self.rng.uniform(*(weak if self.weak else plain)))

    def habit(self, name: str) -> float | None:
        """Return the drawn amount of a habit, None where the case has it not."""
        return self.plan.habits.get(name)

    def gpu(self, rank: int) -> str:
        """Return the device id of a rank."""
        return self.layout.ranks[rank].gpu

    def on_host_of(self, rank: int) -> tuple[int, ...]:
        """Return all ranks on the host of a rank."""
        return tuple(self.layout.on_host(self.layout.ranks[rank].host).tolist())

    def a_rank(self) -> int:
        """Return some rank."""
        return int(self.rng.integers(self.plan.world))

    def slow(self, ranks: tuple[int, ...], factor: float, *, begin: float | None = None) -> None:
        """Let these ranks compute `factor` times as long, from the onset on."""
        at = self.onset if begin is None else begin
        self.step_effects.append(
            StepEffect("compute", ranks, at, float("inf"), factor=factor, spread=0.1)
        )

    def edit(
        self,
        metric: str,
        how: EditKind,
        value: float,
        /,
        *,
        rank: int | None = None,
        host: str | None = None,
        begin: float | None = None,
        end: float = float("inf"),
        lasts: float = 60.0,
        of: dict[str, Scalar] | None = None,
    ) -> None:
        """Change readings; `rank`: of its device or process; `of`: with these attributes."""
        labels = dict(of or {})
        if rank is not None:
            place = self.layout.ranks[rank]
            host = self.layout.host_of(rank)
            if metric.startswith("hw."):
                labels["hw.id"] = place.gpu
            else:
                labels["rank"] = rank
        at = self.onset if begin is None else begin
        self.edits.append(SeriesEdit(metric, how, value, at, end, host, labels, lasts))

    def say(
        self, name: str, rank: int, at: float, attributes: dict[str, Scalar], *, of_job: bool = True
    ) -> None:
        """Send an event of the host of a rank."""
        host = self.layout.host_of(rank)
        self.events.append(EventRecord(name, host, at, attributes, of_job))

    def log(self, rank: int, at: float, line: str, **fields: Scalar) -> None:
        """Send a line of logs.toml: of a rank, or of its host's kernel."""
        row = tables.log_lines()[line]
        labels: dict[str, Scalar] = {"signature": row.signature, "role": row.role}
        if not row.of_host:
            labels["rank"] = rank
        text = row.text.format(rank=rank, pid=self.layout.ranks[rank].pid, **fields)
        self.say("log.fault", rank, at, labels | {"text": text}, of_job=not row.of_host)

    def blame(
        self,
        kind: str,
        name: str,
        *,
        host: str | None = None,
        ranks: tuple[int, ...] = (),
        onset: float | None = None,
        end: float | None = None,
        also: tuple[tuple[str, str], ...] = (),
    ) -> None:
        """Write down the truth."""
        fault = self.plan.fault.id if self.plan.fault else None
        at = self.onset if onset is None else onset
        self.truth = CaseTruth(fault, kind, name, host, ranks, at, end, also)

    def blame_rank(self, rank: int, *, also: tuple[tuple[str, str], ...] = ()) -> None:
        """Write down that a rank is at fault."""
        self.blame("rank", str(rank), host=self.layout.host_of(rank), ranks=(rank,), also=also)

    def blame_gpu(self, rank: int) -> None:
        """Write down that the device of a rank is at fault."""
        place = self.layout.ranks[rank]
        self.blame("gpu", place.gpu, host=self.layout.host_of(rank), ranks=(rank,))

    def blame_host(self, host: int) -> None:
        """Write down that a host is at fault."""
        name = self.layout.hosts[host].name
        self.blame("host", name, host=name, ranks=tuple(self.layout.on_host(host).tolist()))

    def blame_job(self, *, onset: float | None = None, kind: str = "job") -> None:
        """Write down that the job as a whole is at fault, or its code."""
        self.blame(kind, self.layout.job, ranks=self.everybody, onset=onset)


def situated(plan: CasePlan) -> CaseSituation:
    """Draw layout and pace of a plan, without habits and faults."""
    rng = plan.rng("situation")
    moe = "expert_wander" in plan.habits or bool(plan.fault and plan.fault.id == "balance.expert")
    staged = bool(plan.fault and plan.fault.id == "balance.pipeline_stage")
    layout = laid_out(rng, plan.world, plan.per_host, experts=moe, staged=staged)
    pace = _pace(rng, plan)
    begin = _EPOCH + float(rng.integers(0, 4_000_000))
    end = begin + plan.minutes * 60.0
    midway = plan.habits.get("joined_midway")
    first = begin - 1.0 if midway else begin + float(rng.uniform(15.0, 50.0))
    factor = rng.normal(1.0, 0.004, plan.world)
    factor *= np.repeat(rng.normal(1.0, 0.003, len(layout.hosts)), plan.per_host)
    if layout.stages > 1:
        stage = rng.normal(1.0, 0.012, layout.stages)
        factor *= stage[[one.pp for one in layout.ranks]]
    mixed = plan.habits.get("mixed_pool", 0.0)
    older = rng.random(len(layout.hosts)) < (0.4 if mixed else 0.0)
    factor *= 1.0 + mixed * np.repeat(older, plan.per_host)
    onset = begin + plan.minutes * 60.0 * float(rng.uniform(0.38, 0.55))
    return CaseSituation(
        plan,
        layout,
        pace,
        begin,
        end,
        first,
        int(midway or 0),
        onset,
        factor,
        older,
        2.0**30 * float(rng.choice([512.0, 1024.0, 2048.0])),
        ValueCurve.drawn(plan.rng("values"), started=bool(midway)),
        plan.rng("fault"),
    )


def _pace(rng: np.random.Generator, plan: CasePlan) -> StepPace:
    micro = int(plan.habits.get("gradient_accumulation", 1.0))
    compute = float(np.exp(rng.uniform(np.log(0.35), np.log(2.6)))) * micro
    if plan.world >= 32:
        compute = max(compute, 1.2)
    network = compute * float(rng.uniform(0.04, 0.3)) / micro**0.5
    step = compute + network
    save = plan.habits.get("checkpoints")
    evaluation = plan.habits.get("evaluations")
    return StepPace(
        data=compute * float(rng.choice([0.002, 0.01, 0.04])),
        compute=compute,
        network=network,
        optimizer=compute * float(rng.uniform(0.02, 0.06)),
        noise=float(rng.uniform(0.003, 0.015)),
        checkpoint_every=max(8, int(rng.uniform(70.0, 240.0) / step)) if save else 0,
        checkpoint=save or 0.0,
        eval_every=max(10, int(rng.uniform(100.0, 260.0) / step)) if evaluation else 0,
        eval=evaluation or 0.0,
    )
