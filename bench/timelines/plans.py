"""What a job is and does, drawn from wide priors and from the tables of healthy behaviours."""

import tomllib
from dataclasses import dataclass, fields, replace
from pathlib import Path
from random import Random
from typing import Any

HELD_BACK_FROM = 1000
"""From this seed on, what the tables mark as held back occurs."""


@dataclass(frozen=True, slots=True)
class JobPlan:
    """Seconds are of a healthy device; `*_at` are shares of the run, `*_every` are steps.

    A zero turns a behaviour off, save where the name is a factor.
    """

    hosts: int = 2
    per_host: int = 8
    seconds: float = 720.0
    compute: float = 0.8
    micro: int = 2
    buckets: int = 4
    transfer: float = 0.15
    tp: int = 1
    pp: int = 1
    ep: int = 1
    optimizer: float = 0.02
    noise: float = 0.01
    token_sigma: float = 0.0
    token_power: float = 1.0
    first_step: float = 12.0
    init_seconds: float = 15.0
    start_step: int = 0
    loader_share: float = 0.4
    prefetch: int = 4
    log_every: int = 10
    log_seconds: float = 0.02
    eval_every: int = 0
    eval_seconds: float = 0.0
    eval_rank0: bool = False
    save_every: int = 0
    save_seconds: float = 0.0
    save_async: bool = False
    epoch_steps: int = 0
    epoch_pause: float = 0.0
    respawn: bool = False
    rollout_every: int = 0
    rollout_seconds: float = 0.0
    curriculum_at: float = 0.0
    curriculum_factor: float = 1.0
    profile_at: float = 0.0
    profile_steps: int = 0
    profile_cost: float = 0.0
    gc_every: int = 0
    gc_seconds: float = 0.0
    tune_steps: int = 0
    tune_cost: float = 0.0
    head_skew: float = 0.0
    stage_skew: float = 0.0
    embed_memory: float = 0.0
    moe_skew: float = 0.0
    pod_factor: float = 1.0
    chip_sigma: float = 0.006
    cpu_skew: float = 0.0
    cap_share: float = 1.0
    heat_sigma: float = 2.0
    tenant_cores: float = 0.0
    mapped_growth: float = 0.0
    cache_growth: float = 0.0
    worker_growth: float = 0.0
    reserved_growth: float = 0.0
    burst_every: float = 0.0
    burst_cores: float = 0.0
    clock_wander: float = 0.0005
    ecc_an_hour: float = 0.0
    symbols_an_hour: float = 0.0
    marks_a_second: float = 0.0
    tail_an_hour: float = 0.0
    tail_seconds: float = 0.0
    kind: str = "pretraining"
    clip: float = 0.0
    scale: float = 0.0
    overflow_every: int = 0
    rate_restarts: int = 0
    restart_at: float = 0.0
    move_at: float = 0.0
    end_at: float = 0.0
    suspend_at: float = 0.0
    suspend_seconds: float = 0.0
    upgrade_at: float = 0.0
    memory_share: float = 0.7
    disk_base: float = 0.4
    disk_growth: float = 0.0
    intensity: float = 0.85
    spare_devices: int = 0
    hiccups_an_hour: float = 0.0
    hiccup_seconds: float = 0.0
    drift_sigma: float = 0.0
    link_sigma: float = 0.05
    loader_sigma: float = 0.15
    outlier_every: int = 0
    rank0_share: float = 0.0
    memory_sigma: float = 0.0
    fabric_factor: float = 1.0
    window_attention: float = 0.0

    @property
    def ranks(self) -> int:
        return self.hosts * self.per_host


@dataclass(frozen=True, slots=True)
class ReporterPlan:
    """Which families are reported, how often (s; 0: never), and what is left out."""

    name: str
    why: str
    training: str = "every_step"
    phases: bool = True
    quality: str = "exact"
    values: str = "local"
    device: float = 5.0
    device_source: str = ""
    host: float = 5.0
    process: float = 5.0
    network: float = 5.0
    collective: float = 5.0
    op_samples: bool = False
    throttle: bool = True
    frequency: bool = True
    switch: bool = True
    placed: bool = True
    pauses_in_step: bool = True
    memory_states: bool = False
    kubernetes: bool = False
    phase_events: bool = True


def table(name: str) -> list[dict[str, Any]]:
    """Return the rows of a table beside this file."""
    text = (Path(__file__).parent / f"{name}.toml").read_text(encoding="utf-8")
    rows: list[dict[str, Any]] = tomllib.loads(text)["row"]
    return rows


def draw_reporter(rng: Random, seed: int, *, needs: str) -> ReporterPlan:
    """Draw one that reports a family (`needs`; any where empty)."""
    rows = [row for row in table("reporters") if _occurs(row, seed)]
    known = {one.name for one in fields(ReporterPlan)}
    plans = [ReporterPlan(**{key: row[key] for key in row if key in known}) for row in rows]
    return rng.choice([one for one in plans if all(getattr(one, need) for need in needs.split())])


def draw_plan(rng: Random, seed: int, *, quiet: bool, most_hosts: int) -> tuple[JobPlan, list[str]]:
    """Draw a job and its healthy behaviours: two to six of those that a quiet case may have."""
    plan = JobPlan(
        hosts=rng.choice([one for one in (1, 2, 2, 3, 4, 4, 6, 8) if one <= most_hosts]),
        per_host=rng.choice((4, 8, 8)),
        seconds=rng.uniform(620.0, 1180.0),
        compute=max(0.35, rng.lognormvariate(0.1, 0.7)),
        micro=rng.choice((1, 1, 2, 4)),
        buckets=rng.choice((1, 2, 4, 6)),
        noise=rng.uniform(0.003, 0.02),
        transfer=rng.uniform(0.05, 0.3),
        optimizer=rng.uniform(0.01, 0.05),
        first_step=rng.uniform(3.0, 25.0),
        init_seconds=rng.uniform(5.0, 40.0),
        start_step=rng.choice((0, 0, rng.randrange(1_000, 90_000))),
        loader_share=rng.uniform(0.1, 0.85),
        loader_sigma=rng.uniform(0.1, 0.5),
        hiccups_an_hour=rng.uniform(0.0, 30.0),
        hiccup_seconds=rng.uniform(0.02, 0.2),
        drift_sigma=rng.uniform(0.0, 0.012),
        link_sigma=rng.uniform(0.02, 0.3),
        outlier_every=rng.choice((0, 60, 150, 400)),
        rank0_share=rng.uniform(0.0, 0.015),
        memory_sigma=rng.uniform(0.0, 0.015),
        prefetch=rng.choice((2, 4, 8)),
        chip_sigma=rng.uniform(0.002, 0.009),
        memory_share=rng.uniform(0.4, 0.9),
        disk_base=rng.uniform(0.15, 0.86),
        intensity=rng.uniform(0.55, 0.95),
        log_every=rng.choice((1, 10, 50)),
    )
    if plan.hosts == 1:
        plan = replace(plan, per_host=8)
    rows = [row for row in table("behaviours") if _occurs(row, seed)]
    rows = [row for row in rows if quiet or not row.get("quiet_only")]
    wanted = rng.randint(2, 6) if quiet else rng.randint(0, 3)
    chosen = rng.sample(rows, wanted)
    held = [row for row in rows if row.get("held_back")]
    if quiet and held and not any(row in held for row in chosen):
        chosen[-1] = rng.choice(held)
    taken: set[str] = set()
    names = []
    for row in chosen:
        values = {key: _drawn(rng, value) for key, value in row["set"].items()}
        if not taken & set(values):
            taken |= set(values)
            names.append(row["name"])
            plan = replace(plan, **values)
    return plan, names


def _occurs(row: dict[str, Any], seed: int) -> bool:
    return seed >= HELD_BACK_FROM or not row.get("held_back", False)


def _drawn(rng: Random, value: Any) -> Any:
    """Return a value of a row: [low, high] of numbers is a range, any other list a choice."""
    if not isinstance(value, list):
        return value
    if len(value) == 2 and all(isinstance(one, int | float) for one in value):
        if all(isinstance(one, int) and not isinstance(one, bool) for one in value):
            return rng.randint(*value)
        if not any(isinstance(one, bool) for one in value):
            return rng.uniform(*value)
    return rng.choice(value)
