"""What detector tests are drawn with: steady work, events, readings, and real data where it is."""

import math
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from rankscope.detectors.sketch import START, readings
from rankscope.detectors.window import Floats, Readings
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


@pytest.fixture
def levels() -> Callable[..., Readings]:
    """Return a function that draws readings of rows, every 5 s: usual, and odd on some rows.

    `odd` on the rows `which` from `since` seconds after START on, until `until`; with `counter` as
    what grows in each 5 s.
    """

    def draw(
        rows: int,
        usual: float,
        odd: float | None = None,
        which: object = (),
        *,
        since: float = 0.0,
        until: float = math.inf,
        seconds: float = 60.0,
        counter: bool = False,
    ) -> Readings:
        at = START + np.arange(0.0, seconds + 1, 5)
        value = np.full((rows, len(at)), float(usual))
        if odd is not None:
            some = (at >= START + since) & (at < START + until)
            value[np.ix_(np.atleast_1d(np.asarray(which, np.int64)), some)] = odd
        return readings(at, np.cumsum(value, axis=1) if counter else value)

    return draw
