"""What detector tests are drawn with: steady work, events, readings."""

import math

import numpy as np

from rankscope.detectors.sketch import START, readings
from rankscope.detectors.window import Floats, PeriodicReadings
from rankscope.vocabulary.samples import Event, TelemetryResource


def steady(
    ranks: int = 4, steps: int = 60, *, seconds: float = 0.8, spread: float = 0.01
) -> Floats:
    """Draw [ranks, steps] of own work, 1 % apart, the same every time."""
    return np.random.default_rng(7).normal(seconds, spread * seconds, (ranks, steps))


def event(
    name: str, at: float, *, host: str = "host-0", job: str | None = "example", **pairs: object
) -> Event:
    """Return an event, `at` seconds after START, of job or of host alone."""
    return Event(name, START + at, pairs, TelemetryResource(host, job))  # type: ignore[arg-type]


def levels(
    rows: int,
    usual: float,
    odd: float | None = None,
    which: object = (),
    *,
    since: float = 0.0,
    until: float = math.inf,
    seconds: float = 60.0,
    counter: bool = False,
) -> PeriodicReadings:
    """Draw readings of rows, every 5 s: usual, and odd on some rows.

    `odd` on the rows `which` from `since` seconds after START on, until `until`; with `counter` as
    what grows in each 5 s.
    """
    at = START + np.arange(0.0, seconds + 1, 5)
    value = np.full((rows, len(at)), float(usual))
    if odd is not None:
        some = (at >= START + since) & (at < START + until)
        value[np.ix_(np.atleast_1d(np.asarray(which, np.int64)), some)] = odd
    return readings(at, np.cumsum(value, axis=1) if counter else value)
