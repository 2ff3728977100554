"""A case while it is put together: its layout, its pace, and what faults and habits add to it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from . import tables
from .cluster import ClusterLayout, laid_out
from .effects import (
    CaseTruth,
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
    stop: StopMark | None = None
    restart: RestartMark | None = None
    truth: CaseTruth = field(default_factory=CaseTruth)

    @property
    def weak(self) -> bool:
        return self.plan.strength == "weak"

    @property
    def everybody(self) -> tuple[int, ...]:
        """Return all ranks."""
        return tuple(range(self.plan.world))

    def habit(self, name: str) -> float | None:
        """Return the drawn amount of a habit, None where the case has it not."""
        return self.plan.habits.get(name)

    def on_host_of(self, rank: int) -> tuple[int, ...]:
        return self.layout.on_host(self.layout.ranks[rank].host)

    def fields(self, rank: int) -> dict[str, Any]:
        """Return what the text of a line may name, of a rank."""
        place = self.layout.ranks[rank]
        return {
            "rank": rank, "pid": place.pid, "gpu": place.gpu, "local": place.local,
            "host": self.layout.host_of(rank), "bus": 0x19 + 17 * place.local,
            "device": self.layout.nic_of(rank),
            "memory": self.plan.device.memory, "foreign": 3_200_000 + place.pid % 100_000,
        }  # fmt: skip

    def say(self, line: str, rank: int, at: float, **more: Scalar) -> None:
        """Send a row of lines.toml from the host of a rank."""
        row, named = tables.records()[line], self.fields(rank) | more
        labels = {key: filled(value, named) for key, value in row.attributes.items()}
        if row.text:
            labels["text"] = row.text.format(**named)
        host = self.layout.host_of(rank)
        self.events.append(EventRecord(row.event, host, at, labels, row.job))


def filled(value: Any, named: Mapping[str, Any]) -> Scalar:
    """Return an attribute of a row; a text that is one {field} alone keeps the field's type."""
    if not isinstance(value, str):
        return cast("Scalar", value)
    alone = named.get(value[1:-1]) if value[:1] == "{" else None
    return cast("Scalar", alone) if alone is not None else value.format(**named)


def situated(plan: CasePlan) -> CaseSituation:
    """Draw layout and pace of a plan, without habits and faults."""
    rng = plan.rng("situation")
    needed = plan.fault.groups if plan.fault else ""
    moe, staged = "expert_wander" in plan.habits or needed == "experts", needed == "stages"
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
        plan=plan,
        layout=layout,
        pace=pace,
        begin=begin,
        end=end,
        first_step_at=first,
        first_step=int(midway or 0),
        onset=onset,
        rank_factor=factor,
        older=older,
        host_memory=2.0**30 * float(rng.choice([512.0, 1024.0, 2048.0])),
        curve=ValueCurve.drawn(plan.rng("values"), started=bool(midway)),
        rng=plan.rng("fault"),
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
