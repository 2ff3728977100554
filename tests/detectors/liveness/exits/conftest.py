"""A job of four ranks whose processes end."""

import pytest

from rankscope.detectors.liveness.exits import ExitsDetector
from rankscope.detectors.sketch import START, sketch


@pytest.fixture
def evaluated(steady):
    """Return a function that evaluates a job of four ranks by what happened to it."""
    late = {"now": START + 120}
    return lambda *events, **fields: ExitsDetector().evaluate(
        sketch(steady(), events=events, **{**late, **fields})
    )


@pytest.fixture
def exited(event):
    """Return a function that makes the end of a rank's process."""
    return lambda rank, at, **how: event("process.exit", at, rank=rank, **how)


@pytest.fixture
def logged(event):
    """Return a function that makes a rank's line of log with a known signature."""
    return lambda rank, at, role, **more: event("log.fault", at, rank=rank, role=role, **more)
