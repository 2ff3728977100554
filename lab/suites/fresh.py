"""Shapes and reporting habits drawn from a number: for a check after the last tuning.

Nobody has seen them before the number was chosen; the ranges are wider than those of the tables.
Half of the shapes with accelerators have another vendor's than NVIDIA's, whose exporter reports
fewer things, more coarsely and more seldom. Each lasts sixty steps at least: in fewer no noise can
be told from a weak fault.
"""

from typing import Any

import numpy as np

from ..simulator.devices import MODELS
from .tables import ClusterShape, ReportingHabit

SHAPES, HABITS = 8, 5

OTHERS = tuple(sorted(set(MODELS) - {"nvidia"}))
"""Accelerators with an exporter of their own."""


def drawn_shapes(seed: int) -> tuple[ClusterShape, ...]:
    """Return the shapes of this seed; one in eight has no accelerators."""
    random = np.random.default_rng([seed, 81])
    others = np.random.default_rng([seed, 83]).permutation(OTHERS).tolist()
    return tuple(
        _shape(random, number, np.random.default_rng([seed, 84, number]), others)
        for number in range(SHAPES)
    )


def drawn_habits(seed: int) -> tuple[ReportingHabit, ...]:
    random = np.random.default_rng([seed, 82])
    return tuple(
        _habit(random, number, np.random.default_rng([seed, 85, number]))
        for number in range(HABITS)
    )


def _shape(
    random: np.random.Generator, number: int, life: np.random.Generator, others: list[str]
) -> ClusterShape:
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
    return ClusterShape(
        name=f"drawn-{number}",
        seconds=float(max(420.0, 60 * step)),
        cluster={
            "hosts": hosts,
            "slots": slots,
            "cores": int(random.choice([8, 32, 96, 192])) * max(slots // 4, 1),
            "gpus": gpus,
            "models": models,
            "hosts_per_switch": int(random.choice([2, 4, 8])),
            **_machines(life, slots, others[number // 2] if gpus and number % 2 else "nvidia"),
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


def _machines(random: np.random.Generator, slots: int, accelerator: str) -> dict[str, Any]:
    """Return who made the devices, and how machines of a healthy cluster differ."""
    nics = int(random.choice([one for one in (1, 2, 4, 8) if one <= slots]))
    return {
        "accelerator": accelerator,
        "nics": nics,
        "rails": nics > 1 and bool(random.random() < 0.4),
        "power_cap": float(random.uniform(0.7, 0.95)) if random.random() < 0.2 else 1.0,
        "warnings": float(random.choice([0.0, 0.0, 2.0])),
        "links_rest": bool(random.random() < 0.8),
    }


def _habit(random: np.random.Generator, number: int, life: np.random.Generator) -> ReportingHabit:
    push = float(random.uniform(1.0, 30.0)) if number else 1.0
    reporting: dict[str, Any] = {
        "push": push,
        "rank": float(max(5.0, push)),
        "node": float(max(5.0, push, random.choice([5.0, 15.0, 30.0]))),
        "clock": float(random.choice([0.005, 0.1, 0.5])),
        "attributed": bool(random.random() < 0.7),
    }
    if life.random() < 0.4:
        # An exporter knows its devices and no ranks, and is scraped at a period of its own.
        reporting |= {
            "devices": "dcgm",
            "device_period": float(life.choice([10.0, 15.0, 30.0])),
            "attributed": False,
        }
    return ReportingHabit(
        name=f"drawn-push-{push:.0f}s-{number}",
        reporting={
            **reporting,
            "kernel_log": bool(life.random() < 0.75),
            "collective_statistics": bool(life.random() < 0.3),
            "launch_counts": bool(life.random() < 0.3),
            "stacks": bool(life.random() < 0.3),
        },
    )
