"""Shapes and reporting habits drawn from a number: for a check after the last tuning.

Nobody has seen them before the number was chosen; the ranges are wider than those of the tables.
Each lasts sixty steps at least: in fewer no noise can be told from a weak fault.
"""

import numpy as np

from .tables import Habit, Shape

SHAPES, HABITS = 8, 5


def drawn_shapes(seed: int) -> tuple[Shape, ...]:
    """Return the shapes of this seed; one in eight has no accelerators."""
    random = np.random.default_rng([seed, 81])
    return tuple(_shape(random, number) for number in range(SHAPES))


def drawn_habits(seed: int) -> tuple[Habit, ...]:
    """Return the reporting habits of this seed."""
    random = np.random.default_rng([seed, 82])
    return tuple(_habit(random, number) for number in range(HABITS))


def _shape(random: np.random.Generator, number: int) -> Shape:
    gpus = number % 8 != 7
    hosts = int(random.integers(2, 9))
    slots = int(random.choice([1, 2, 4, 8])) if hosts < 6 else int(random.choice([2, 4]))
    step = float(np.exp(random.uniform(np.log(0.5), np.log(30.0))))
    models = [
        [float(random.uniform(1.2e9, 2.5e9)), float(random.uniform(250, 1000))]
        for _ in range(1 + int(random.random() < 0.25))
    ]
    world = hosts * slots
    pipelined = number % 3 == 1 and world % 4 == 0
    split = {"tp": 2, "pp": 2, "stage_load": [1.0, float(random.uniform(0.9, 1.15))]}
    return Shape(
        name=f"drawn-{number}",
        seconds=float(max(420.0, 60 * step)),
        cluster={
            "hosts": hosts,
            "slots": slots,
            "cores": int(random.choice([8, 32, 96, 192])) * max(slots // 4, 1),
            "gpus": gpus,
            "models": models,
            "hosts_per_switch": int(random.choice([2, 4, 8])),
        },
        job={
            "step_seconds": step,
            "cpu_bound": float(random.uniform(0.3, 0.95)),
            "noise": float(random.uniform(0.005, 0.03)),
            "skew": float(random.uniform(0.002, 0.02)),
            "hiccups": float(random.choice([0.0, 0.001, 0.003])),
            "data": float(random.uniform(0.005, 0.05)),
            "buckets": int(random.integers(1, 6)),
            "loss_scope": str(random.choice(["local", "global"])),
            "spins": gpus,
            **(split if pipelined else {}),
        },
    )


def _habit(random: np.random.Generator, number: int) -> Habit:
    push = float(random.uniform(1.0, 30.0)) if number else 1.0
    return Habit(
        name=f"drawn-push-{push:.0f}s-{number}",
        reporting={
            "push": push,
            "rank": float(max(5.0, push)),
            "node": float(max(5.0, push, random.choice([5.0, 15.0, 30.0]))),
            "clock": float(random.choice([0.005, 0.1, 0.5])),
            "attributed": bool(random.random() < 0.7),
        },
    )
