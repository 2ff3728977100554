"""Healthy hours of clusters that differ in everything: what a detector must not page about.

Each hour is drawn from its seed: shape of the job, length of its steps, pauses that nobody
announces, restarts, reporting, device models. Nothing in it is a fault.
"""

from typing import Any

import numpy as np

from .shape import Cluster, Job, Reporting, Scenario

_MODELS = (
    (1_980e6, 700.0), (1_755e6, 350.0), (1_410e6, 400.0), (1_830e6, 600.0), (2_520e6, 450.0),
)  # fmt: skip
"""SM clocks (Hz) and power limits (W) of devices that are found side by side."""


def healthy(seed: int, *, seconds: float = 3600.0) -> Scenario:
    """Return one healthy scenario of this length."""
    random = np.random.default_rng([seed, 60])
    gpus = bool(random.random() < 0.8)
    cluster = Cluster(
        hosts=int(random.integers(2, 5)),
        slots=int(random.choice([2, 4])),
        cores=int(random.choice([16, 64])),
        gpus=gpus,
        models=tuple(_MODELS[n] for n in random.permutation(5)[: random.integers(1, 3)]),
    )
    step = float(np.exp(random.uniform(np.log(1.0), np.log(60.0))))
    job = _job(random, cluster, step, seconds)
    return Scenario(
        name=f"healthy-{seed}",
        text=f"a healthy job of {cluster.hosts * cluster.slots} ranks, steps of {step:.1f} s",
        seconds=seconds,
        cluster=cluster,
        jobs=(job,),
        reporting=_reporting(random, cluster, seconds),
    )


def _job(random: np.random.Generator, cluster: Cluster, step: float, seconds: float) -> Job:
    def one_of(*choices: Any) -> Any:
        return choices[int(random.integers(len(choices)))]

    pipelined = random.random() < 0.3 and cluster.hosts * cluster.slots % 4 == 0
    pauses = {
        "eval_every": max(int(random.uniform(300, 1500) / step), 1),
        "eval_seconds": float(np.exp(random.uniform(np.log(8), np.log(120)))),
        "eval_by": one_of("all", "all", "first"),
        "checkpoint_every": max(int(random.uniform(240, 1200) / step), 1),
        "checkpoint_seconds": float(np.exp(random.uniform(np.log(4), np.log(90)))),
        "checkpoint_by": one_of("all", "first"),
        "step_holds_pauses": bool(random.random() < 0.3),
    }
    numerics: dict[str, Any] = {}
    if random.random() < 0.4:
        numerics = {
            "loss_scale": one_of(2.0**16, 2.0**20, 2.0**32),
            "loss_scale_fits": one_of(2.0**9, 2.0**12, 2.0**15),
        }
    restarts: tuple[float, ...] = ()
    if random.random() < 0.5:
        restarts = (float(random.uniform(0.3, 0.8) * seconds),)
    return Job(
        name=one_of("llama-8b", "moe-64", "vit-l", "asr"),
        tp=2 if pipelined else 1,
        pp=2 if pipelined else 1,
        stage_load=(1.0, float(random.uniform(0.8, 1.25))) if pipelined else (),
        framework="torch",
        step_seconds=step,
        cpu_bound=float(random.uniform(0.3, 0.8)),
        noise=float(random.uniform(0.005, 0.03)),
        skew=float(random.uniform(0.002, 0.02)),
        hiccups=float(random.choice([0.0, 0.001, 0.003])),
        variable_length=float(random.choice([0.0, 0.0, 0.1, 0.25])),
        init_seconds=float(random.uniform(5, 90)),
        compile_seconds=float(random.uniform(0, 60)),
        warm_up_steps=int(random.integers(1, 8)),
        restarts=restarts,
        restart_seconds=float(random.uniform(10, 120)),
        announces=bool(random.random() < 0.3),
        stopped_by=one_of("term", "term_kill", "kill"),
        spins=bool(random.random() < 0.7) if cluster.gpus else False,
        loss_scope=one_of("local", "global"),
        workers=int(random.choice([0, 2])),
        exit_codes_known=bool(random.random() < 0.9),
        buckets=int(random.integers(1, 6)),
        **pauses,
        **numerics,
    )


def _reporting(random: np.random.Generator, cluster: Cluster, seconds: float) -> Reporting:
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
    return Reporting(
        push=push,
        rank=every,
        node=every,
        clock=float(random.choice([0.002, 0.05, 0.5])),
        hidden=tuple(hidden),
        attributed=bool(random.random() < 0.7),
        agent_restarts=restarts,
    )
