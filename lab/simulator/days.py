"""Healthy hours of clusters that differ in everything: what a detector must not page about.

Each hour is drawn from its seed: shape of the job, length of its steps, pauses that nobody
announces, restarts, resizes, memory that grows at the start, curves with spikes that pass, sparse
reports, device models. Nothing in it is a fault.
"""

from typing import Any

import numpy as np

from .shape import ReportingHabits, SimulatedCluster, SimulatedJob, SimulationScenario

_MODELS = (
    (1_980e6, 700.0), (1_755e6, 350.0), (1_410e6, 400.0), (1_830e6, 600.0), (2_520e6, 450.0),
)  # fmt: skip
"""SM clocks (Hz) and power limits (W) of devices that are found side by side."""


_LOSSES: tuple[dict[str, Any], ...] = (
    {},
    {"loss_start": 2.2, "loss_floor": 1.1, "loss_steps": 8.0, "loss_power": 0.6},  # fine-tuning
    {"loss_start": 6.9, "loss_floor": 0.8, "loss_steps": 200.0, "loss_power": 0.6},  # vision
    {"loss_start": 10.3, "loss_floor": 1.6, "first_step": 20_000},  # a long, flat tail
    {"loss_start": 0.7, "loss_floor": 0.05, "loss_steps": 300.0, "loss_power": 1.0},  # classes
)


def healthy(seed: int, *, seconds: float = 3600.0) -> SimulationScenario:
    random = np.random.default_rng([seed, 60])
    gpus = bool(random.random() < 0.8)
    small = random.random() < 0.15
    cluster = SimulatedCluster(
        hosts=1 if small else int(random.integers(2, 5)),
        slots=int(random.choice([1, 2])) if small else int(random.choice([2, 4])),
        cores=int(random.choice([16, 64])),
        gpus=gpus,
        models=tuple(_MODELS[n] for n in random.permutation(5)[: random.integers(1, 3)]),
    )
    low, high = ((0.1, 1.0), (1.0, 60.0), (60.0, 120.0))[int(random.choice(3, p=[0.1, 0.8, 0.1]))]
    step = float(np.exp(random.uniform(np.log(low), np.log(high))))
    job = _job(random, cluster, step, seconds)
    return SimulationScenario(
        name=f"healthy-{seed}",
        text=f"a healthy job of {cluster.hosts * cluster.slots} ranks, steps of {step:.1f} s",
        seconds=seconds,
        cluster=cluster,
        jobs=(job,),
        reporting=_reporting(random, cluster, seconds),
    )


def _job(
    random: np.random.Generator, cluster: SimulatedCluster, step: float, seconds: float
) -> SimulatedJob:
    world = cluster.hosts * cluster.slots
    pipelined = random.random() < 0.3 and world % 4 == 0
    experts = not pipelined and world % 2 == 0 and random.random() < 0.2
    restarts: tuple[float, ...] = ()
    sizes: tuple[int, ...] = ()
    if random.random() < 0.5:
        restarts = (float(random.uniform(0.3, 0.8) * seconds),)
        if cluster.hosts > 2 and not pipelined and random.random() < 0.4:
            # The scheduler gives less than before, or again all.
            sizes = _one_of(
                random, (cluster.hosts, cluster.hosts - 1), (cluster.hosts - 1, cluster.hosts)
            )
    return SimulatedJob(
        name=_one_of(random, "llama-8b", "moe-64", "vit-l", "asr"),
        tp=2 if pipelined else 1,
        pp=2 if pipelined else 1,
        ep=2 if experts else 1,
        # Partitions fit to a few percent; what is more is a fault.
        stage_load=(1.0, float(random.uniform(0.97, 1.03))) if pipelined else (),
        framework="torch",
        step_seconds=step,
        cpu_bound=float(random.uniform(0.3, 0.8)),
        overlap=float(random.choice([0.0, 0.5])),
        clips=bool(random.random() < 0.7),
        noise=float(random.uniform(0.005, 0.03)),
        skew=float(random.uniform(0.002, 0.02)),
        drift=float(random.choice([0.0, 0.0, 0.01, 0.02])),
        drift_seconds=float(random.uniform(300, 3000)),
        hiccups=float(random.choice([0.0, 0.001, 0.003])),
        gc=float(random.choice([0.0, 0.02, 0.2])),
        gc_seconds=min(0.05, 0.03 * step),
        gc_reported=bool(random.random() < 0.6),
        variable_length=float(random.choice([0.0, 0.0, 0.03, 0.08])),
        init_seconds=float(random.uniform(5, 90)),
        compile_seconds=float(
            random.uniform(120, 400) if random.random() < 0.15 else random.uniform(0, 60)
        ),
        warm_up_steps=int(random.integers(1, 8)),
        restarts=restarts,
        sizes=sizes,
        restart_seconds=float(random.uniform(10, 120)),
        announces=bool(random.random() < 0.3),
        stopped_by=_one_of(random, "term", "term_kill", "kill"),
        spins=bool(random.random() < 0.7) if cluster.gpus else False,
        workers=int(random.choice([0, 2, 4])),
        inherited=float(random.uniform(0.3, 2.5)) * 2.0**30,
        host_memory_steady=float(random.uniform(20, 300)),
        static=float(random.uniform(0.2, 0.45)),
        activations=float(random.uniform(0.1, 0.3)),
        exit_codes_known=bool(random.random() < 0.9),
        buckets=int(random.integers(1, 6)),
        **_pauses(random, step),
        **_numerics(random),
        **_reports(random, step),
    )


def _one_of(random: np.random.Generator, *choices: Any) -> Any:
    return choices[int(random.integers(len(choices)))]


def _pauses(random: np.random.Generator, step: float) -> dict[str, Any]:
    """Return evaluations and checkpoints, of every habit."""
    return {
        "eval_every": max(int(random.uniform(300, 1500) / step), 1),
        "eval_seconds": float(np.exp(random.uniform(np.log(8), np.log(120)))),
        "eval_by": _one_of(random, "all", "all", "first"),
        "checkpoint_every": max(int(random.uniform(240, 1200) / step), 1),
        "checkpoint_seconds": float(np.exp(random.uniform(np.log(4), np.log(90)))),
        "checkpoint_by": _one_of(random, "all", "first", "async"),
        "step_holds_pauses": bool(random.random() < 0.3),
    }


def _numerics(random: np.random.Generator) -> dict[str, Any]:
    """Return a healthy curve: its kind, its noise, spikes that pass, a schedule."""
    found: dict[str, Any] = dict(_one_of(random, *_LOSSES))
    found |= {
        "loss_noise": float(random.choice([0.01, 0.03, 0.1])),
        "loss_spikes": float(random.choice([0.0, 0.0, 0.001, 0.004])),
        "rate_schedule": _one_of(random, "warm_up", "cosine", "steps"),
        "rate_steps": int(random.choice([400, 2_000, 20_000])),
        "local_norms": bool(random.random() < 0.3),
        "loss_scope": _one_of(random, "local", "global", "both"),
    }
    if random.random() < 0.4:
        found |= {
            "loss_scale": _one_of(random, 2.0**16, 2.0**20, 2.0**32),
            "loss_scale_fits": _one_of(random, 2.0**9, 2.0**12, 2.0**15),
        }
    return found


def _reports(random: np.random.Generator, step: float) -> dict[str, Any]:
    """Return who reports how often: the probe of every rank, or a line of a log now and then."""
    if random.random() < 0.65:
        return {"loss_every": int(random.choice([1, 1, 20]))}
    every = [n for n in (1, 5, 10, 100) if n * step <= 300]
    return {
        "reported_by": _one_of(random, "log", "log", "probe"),
        "report_from": _one_of(random, "first", "last"),
        "report_every": int(random.choice(every)),
        "loss_every": int(random.choice([1, 1, 20])),
    }


def _reporting(
    random: np.random.Generator, cluster: SimulatedCluster, seconds: float
) -> ReportingHabits:
    push = float(random.choice([1.0, 1.0, 5.0, 10.0, 20.0, 30.0]))
    every = float(max(5.0, random.choice([5.0, push, push])))
    restarts = tuple(
        (int(random.integers(cluster.hosts)), at, at + float(random.uniform(3, 40)))
        for at in np.sort(random.uniform(60, seconds, int(random.integers(0, 4)))).tolist()
    )
    hidden: list[str] = []
    if random.random() < 0.2:
        hidden.append("collective.*")
    if random.random() < 0.2:
        hidden.append("process.cpu.*")
    return ReportingHabits(
        push=push,
        rank=every,
        node=every,
        clock=float(random.choice([0.002, 0.05, 0.5])),
        hidden=tuple(hidden),
        attributed=bool(random.random() < 0.7),
        agent_restarts=restarts,
        collective_statistics=bool(random.random() < 0.3),
        launch_counts=bool(random.random() < 0.3),
        stacks=bool(random.random() < 0.3),
    )
