"""Jobs whose losses and gradients are drawn: one plane, as often and by as many as a test says."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
import pytest

from rankscope.detectors.numbers.nonfinite import NonfiniteDetector
from rankscope.detectors.sketch import sketch
from rankscope.detectors.window import Floats, JobWindow


@pytest.fixture
def losses() -> Callable[..., Floats]:
    """Return a function that draws [steps] losses around a level, one batch's noise apart."""

    def draw(steps: int, *, level: float = 2.0, noise: float = 0.02, seed: int = 7) -> Floats:
        return level + np.random.default_rng(seed).normal(0.0, noise, steps)

    return draw


@pytest.fixture
def reported() -> Callable[..., JobWindow]:
    """Return a function that makes a job of one plane, [(ranks,) steps], every nth step.

    beside: further planes, [ranks, steps].
    """

    def report(
        values: Floats,
        *,
        plane: str = "training.loss",
        nth: int = 1,
        step: float = 0.8,
        beside: Mapping[str, Floats] = MappingProxyType({}),
        **fields,
    ) -> JobWindow:
        values = np.atleast_2d(values)
        spread = np.full((len(values), values.shape[1] * nth), np.nan)
        spread[:, ::nth] = values
        own = np.full(spread.shape, step)
        return sketch(own, hosts=1, planes={plane: spread, **beside}, **fields)

    return report


@pytest.fixture
def evaluated(steady):
    """Return a function that looks for non-finite values in a job by planes of [ranks, steps]."""

    def evaluate(ranks=4, steps=60, events=(), **planes):
        window = sketch(steady(ranks=ranks, steps=steps), planes=planes, events=events)
        return window, NonfiniteDetector().evaluate(window)

    return evaluate
