"""Without any one detector the product misses a cause: a row for each in the table beside.

The window is the example of the detector's docstring, with what the row adds to it. The pipeline
makes incidents of it with all detectors, and with that one disabled as settings disable it.
"""

import doctest
import importlib
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from rankscope.collector.pipeline.pipeline import DetectionPipeline
from rankscope.detectors import catalogue, compute_time
from rankscope.detectors.selection import DetectorSelection, SelectionRule
from rankscope.detectors.sketch import START, readings, sketch
from rankscope.detectors.window import JobWindow, StepValues
from rankscope.vocabulary.samples import Event, TelemetryResource

TABLE = Path(__file__).with_suffix(".toml")
ROWS: dict[str, dict[str, Any]] = tomllib.loads(TABLE.read_text())


class OneWindow:
    """The windows of a pipeline that holds one attempt, drawn by hand."""

    def __init__(self, window):
        self.drawn = window
        self.attempt = SimpleNamespace(
            job=window.job,
            number=window.attempt,
            last_received=window.now,
            first_at=START,
            is_brief=False,
        )
        self.attempts = {(window.job, window.attempt): self.attempt}

    def current(self):
        return [self.attempt]

    def last_received(self, attempt):
        return attempt.last_received

    def window(self, attempt, now, **_):
        assert (self.attempt, self.drawn.now) == (attempt, now)
        return self.drawn

    def forget(self, now, **_):
        """Keep it."""


def example(detector):
    """Return the window that the example in a detector's docstring evaluates."""
    kind, seen = type(detector), []
    module = importlib.import_module(kind.__module__)
    evaluate = kind.evaluate
    finder = doctest.DocTestFinder(recurse=False)
    (lines,) = finder.find(kind, kind.__name__, module=module, globs=dict(vars(module)))

    def recorded(self, window):
        seen.append(window)
        return evaluate(self, window)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kind, "evaluate", recorded)
        doctest.DocTestRunner(verbose=False).run(lines, out=lambda _: None)
    return seen[-1]


def slow(window, *, since, what="work", ranks=()):
    """Return the window with a job that takes half as long again from a second on.

    what: "work" of these ranks, "rank0": work of theirs beside forward and backward where
    loading is not timed, "loading": everybody waits for data, "exchange": communication takes three
    times as long.
    """
    count = int(1.5 * (window.now - START)) + 2
    usual = np.random.default_rng(7).normal(0.8, 0.004, (len(window.ranks), count))
    own, exchange = usual.copy(), np.full(count, 0.2)
    if what == "exchange":
        exchange[since:] *= 3.0
    else:
        own[list(ranks) or slice(None), since:] *= 1.5
    planes = {compute_time.COMPUTE: own if what == "work" else usual}
    if what != "rank0":
        planes["training.data.duration"] = own - usual if what == "loading" else 0 * usual
    steps = sketch(own, exchange=exchange, planes=planes).steps
    ended = np.flatnonzero(steps.at[0] <= window.now)
    held = {name: plane[:, ended] for name, plane in steps.planes.items()}
    for name, plane in window.steps.planes.items():
        held.setdefault(name, plane[:, ended % plane.shape[1]])
    return replace(window, steps=StepValues(steps.index[ended], steps.at[:, ended], held))


def stopped(window, *, seconds):
    """Return the window so many seconds later, with no step ended since and all alive."""
    now = window.now + seconds
    at = np.arange(START, now + 1, 5)
    age = readings(at, np.maximum(at - window.now, 0.0)[None].repeat(len(window.ranks), 0))
    return replace(
        window,
        now=now,
        last_received=np.full(len(window.ranks), now),
        host_last_received=np.full(len(window.hosts), now),
        rank_readings={**window.rank_readings, "training.progress.age": age},
    )


def exited(window, *, ranks, since, **how):
    """Return the window with processes that end, and no step after them."""
    before = window.steps.at.max(axis=0) <= START + since
    planes = {name: plane[:, before] for name, plane in window.steps.planes.items()}
    steps = StepValues(window.steps.index[before], window.steps.at[:, before], planes)
    places = [(rank, window.hosts[window.host_of[rank]]) for rank in ranks]
    ends = [event("process.exit", since, host, rank=rank, **how) for rank, host in places]
    return replace(window, steps=steps, events=(*window.events, *ends))


def logged(window, *, since, rank, **pairs):
    """Return the window with a line of a rank's log."""
    host = window.hosts[window.host_of[rank]]
    line = event("log.fault", since, host, rank=rank, **pairs)
    return replace(window, events=(*window.events, line))


def event(name, at, host, **pairs):
    return Event(name, START + at, pairs, TelemetryResource(host, "example"))


CHANGES: dict[str, Callable[..., JobWindow]] = {
    "slow": slow,
    "stopped": stopped,
    "exited": exited,
    "logged": logged,
}


def drawn(name):
    """Return the window of a row: the example of the detector, and what the row adds to it."""
    detectors = {detector.name: detector for detector in catalogue.detectors()}
    if name not in detectors:
        cause = ROWS[name]["cause"]
        pytest.fail(
            f"the catalogue has no detector {name}: nothing finds {cause}; if that is meant, "
            f"delete its row in {TABLE.name}"
        )
    window = example(detectors[ROWS[name].get("example", name)])
    if module := ROWS[name].get("needs"):
        pytest.importorskip(module)
    for change, how in ROWS[name].items():
        if change in CHANGES:
            window = CHANGES[change](window, **how)
    return window


def causes(window, *rules):
    """Return the first causes of what a pipeline finds in a window, incidents all of it.

    One second proves no effect: live, some of it would be an observation.
    """
    pipeline: Any = DetectionPipeline(
        detectors=DetectorSelection(catalogue.detectors(), rules), post_mortem=True
    )
    pipeline.windows = OneWindow(window)
    pipeline.evaluate(window.now)
    assert {} == pipeline.detector_failures
    first = [incident.root_cause.hypotheses[0] for incident in pipeline.incidents.values()]
    return sorted(f"{cause.fault}: {cause.entity}" for cause in first)


def test_every_detector_of_the_catalogue_has_a_row():
    absent = [each.name for each in catalogue.detectors() if each.name not in ROWS]
    assert not absent, (
        f"{', '.join(absent)}: no row in {TABLE.name}. Add [NAME] with `cause`, the first cause "
        "that an incident names for the example of its docstring and does not name without it; "
        "where it finds evidence only, add the symptom too (the keys stand at the table's head)"
    )


@pytest.mark.parametrize("name", ROWS)
def test_an_incident_names_the_cause_with_the_detector_and_not_without(name):
    window, cause = drawn(name), ROWS[name]["cause"]
    assert cause in causes(window)
    assert cause not in causes(window, SelectionRule(disabled=(name,)))
