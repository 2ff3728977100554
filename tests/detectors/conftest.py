"""What detector tests are drawn with: steady work, events, readings, and real data where it is."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from rankscope.detectors.baselines import Baselines
from rankscope.detectors.sketch import START, sketch
from rankscope.detectors.window import Floats, JobWindow
from rankscope.vocabulary.findings import Finding
from rankscope.vocabulary.samples import Event, Resource

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data"


@pytest.fixture
def steady() -> Callable[..., Floats]:
    """Return a function that draws [ranks, steps] of own work, 1 % apart, the same every time."""

    def draw(
        ranks: int = 4, steps: int = 60, *, seconds: float = 0.8, spread: float = 0.01
    ) -> Floats:
        return np.random.default_rng(7).normal(seconds, spread * seconds, (ranks, steps))

    return draw


@pytest.fixture
def diverging() -> list[JobWindow]:
    """Return one job of eight ranks for each trouble that its losses and gradients may show."""
    rng = np.random.default_rng(13)
    own = np.full((8, 1000), 2.5)
    noise = rng.normal(0.0, 0.02, own.shape)
    late = np.arange(1000) >= 900
    spike = 2.0 + noise
    spike[:, 995:997] += 1.0
    falling = np.maximum(6.0 - 0.6 * np.log(np.arange(1, 1001)), 2.2)
    norm = np.tile(rng.lognormal(0.0, 0.2, 1000), (8, 1))
    other = np.where(np.arange(8)[:, None] == 5, late * 0.01, 0.0)
    resumed = Baselines()
    before = sketch(own[:, :300], planes={"training.loss": 2.0 + noise[:, :300]}, first=500)
    resumed.follow(before.baselines)
    return [
        sketch(own, planes={"training.loss": spike}),
        sketch(own, planes={"training.loss": 2.0 + noise + late}),
        sketch(own, planes={"training.loss": falling + noise}),
        sketch(own, planes={"training.grad_norm|global": norm * np.where(late, 50.0, 1.0)}),
        sketch(own, planes={"training.grad_norm|global": norm * np.where(late, 1e-3, 1.0)}),
        sketch(own, planes={"training.loss|global": norm * (1 + other)}),
        sketch(own, planes={"training.loss|local": 2.0 + noise + 20 * other}),
        sketch(
            own[:, :40], planes={"training.loss": 5.0 + noise[:, :40]}, first=700,
            gaps={0: 5000.0}, held_baselines=resumed,
        ),
    ]  # fmt: skip


@pytest.fixture
def event() -> Callable[..., Event]:
    """Return a function that makes an event, `at` seconds after START, of job or of host alone."""

    def make(
        name: str, at: float, *, host: str = "host-0", job: str | None = "example", **pairs: object
    ) -> Event:
        return Event(name, START + at, pairs, Resource(host, job))  # type: ignore[arg-type]

    return make


@pytest.fixture
def named() -> Callable[[Sequence[Finding], str], list[str]]:
    """Return a function that reports the entities of the findings of one kind."""
    return lambda findings, kind: [f.entity.id for f in findings if f.kind == kind]


@pytest.fixture
def real_data() -> Callable[[str], Path]:
    """Return a function that finds a file of the real data, or skips saying what is absent."""

    def find(name: str) -> Path:
        path = DATA / name
        if not path.exists():
            pytest.skip(f"../shared/data/{name} is absent: real data is never part of this project")
        return path

    return find
