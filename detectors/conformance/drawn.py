"""Job windows that every detector is tried on, drawn by hand."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from ..sketch import START, readings, sketch
from ..window import JobWindow, PeriodicReadings, StepValues, no_processes

T = TypeVar("T")

HEALTHY = "a healthy job"


def windows(asked: set[str] | None = None) -> dict[str, JobWindow]:
    """Return windows by what they are: healthy, in trouble, poor in data, and degenerate.

    asked: takes the metrics that somebody looks for in them.
    """
    rng = np.random.default_rng(7)
    own = rng.normal(0.8, 0.004, (8, 80))
    healthy = _reported(own)
    slow = own.copy()
    slow[3, 50:] *= 1.4
    nothing = np.full((8, 80), np.nan)
    empty = PeriodicReadings(np.full((8, 3), np.nan), np.full((8, 3), np.nan))
    made = {
        HEALTHY: healthy,
        "a job with a slow rank": _reported(slow),
        "a job that stopped": replace(healthy, now=healthy.now + 60),
        "a job whose values are all NaN": replace(
            healthy,
            steps=StepValues(
                healthy.steps.index, nothing, dict.fromkeys(healthy.steps.planes, nothing)
            ),
            rank_readings=dict.fromkeys(healthy.rank_readings, empty),
            processes=no_processes(),
        ),
        "a job without periodic readings": replace(healthy, rank_readings={}, host_readings={}),
    }
    for name in healthy.steps.planes:
        planes = {other: plane for other, plane in healthy.steps.planes.items() if other != name}
        made[f"a job without {name}"] = replace(
            healthy, steps=replace(healthy.steps, planes=planes)
        )
    for ranks, steps in ((0, 0), (1, 0), (1, 1), (1, 60), (2, 60)):
        made[f"a job of {ranks} ranks and {steps} steps"] = sketch(
            np.full((ranks, steps), 0.8), hosts=min(ranks, 2)
        )
    return made if asked is None else {name: _noted(one, asked) for name, one in made.items()}


def _reported(own: np.ndarray) -> JobWindow:
    """Return a job with the common planes and readings."""
    ranks, count = own.shape
    bare = sketch(own)
    at = np.arange(START, bare.now + 1, 5)
    loss = np.linspace(3.0, 2.5, count) + np.random.default_rng(1).normal(0, 0.01, own.shape)
    level = {
        "training.progress.age": 0.0,
        "process.cpu.utilization": 0.6,
        "hw.gpu.utilization": 0.9,
        "hw.power": 500.0,
        "hw.frequency|sm": 1.7e9,
        "hw.temperature|gpu": 60.0,
    }
    host = {"system.cpu.utilization": 0.3, "system.memory.usage": 1e11, "system.memory.limit": 5e11}
    return sketch(
        own,
        planes={
            "training.loss": loss,
            "training.grad_norm": loss,
            "training.tokens": 0 * loss + 4e3,
        },
        rank_readings={name: readings(at, np.full((ranks, 1), x)) for name, x in level.items()},
        host_readings={name: readings(at, np.full((2, 1), x)) for name, x in host.items()},
    )


class _NotingMapping(dict[str, T]):
    """A mapping of metrics that notes which ones are looked for."""

    def __init__(self, held: Mapping[str, T], asked: set[str]) -> None:
        super().__init__(held)
        self.asked = asked

    def __contains__(self, name: object) -> bool:
        self.asked.add(str(name))
        return super().__contains__(name)

    def __getitem__(self, name: str) -> T:
        self.asked.add(name)
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        """Return a value, the default where there is none."""
        self.asked.add(name)
        return super().get(name, default)


def _noted(window: JobWindow, asked: set[str]) -> JobWindow:
    """Return the same job, in whose window it is noted which metrics are looked for."""
    return replace(
        window,
        steps=replace(window.steps, planes=_NotingMapping(window.steps.planes, asked)),
        rank_readings=_NotingMapping(window.rank_readings, asked),
        host_readings=_NotingMapping(window.host_readings, asked),
    )
