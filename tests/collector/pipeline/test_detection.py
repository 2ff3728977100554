"""A detector of steps that found nothing is not asked again before a step changed."""

from dataclasses import replace

import numpy as np
import pytest

from rankscope.collector.pipeline.detection import DetectorAnswer, DetectorRunner
from rankscope.detectors.baselines import JobBaselines
from rankscope.detectors.contract import Detector
from rankscope.detectors.findings import report
from rankscope.detectors.selection import DetectorSelection
from rankscope.detectors.sketch import sketch
from rankscope.detectors.steps import ColumnFeatures


class OfSteps(Detector):
    """Counts how often it is asked, and finds what it is told to."""

    name, kinds, of_steps = "steps", (), True

    def __init__(self) -> None:
        self.asked, self.found = 0, ()

    def evaluate(self, window):
        self.asked += 1
        return self.found


@pytest.fixture
def window():
    """Return a window as the collector makes it, whose steps have the state 1."""
    made = sketch(np.full((4, 20), 0.8))
    nothing = np.full(20, np.nan)
    steps = replace(made.steps, kept=ColumnFeatures(None, None, nothing, nothing, state=1))
    return replace(made, steps=steps, held_baselines=JobBaselines(), placed=made.topology)


@pytest.fixture
def ask():
    """Return a function that looks at a window with one detector, and that detector."""
    detector = OfSteps()
    held: dict[str, DetectorAnswer] = {}
    detection = DetectorRunner(DetectorSelection((detector,)))
    return lambda window: detection.found(window, held), detector


def later(window, **other):
    return replace(window, now=window.now + 1, **other)


def test_it_is_asked_once_for_the_same_steps(ask, window):
    look, detector = ask
    assert [(), ()] == [look(window), look(later(window))]
    assert 1 == detector.asked


def test_what_it_looks_at_makes_it_look_again(ask, window):
    look, detector = ask
    look(window)
    kept = replace(window.steps.kept, state=2)
    others = [{"steps": replace(window.steps, kept=kept)}]
    others.append({**others[0], "events": (object(),)})
    others.append({**others[1], "held_baselines": JobBaselines()})
    others[2]["held_baselines"].frozen = True
    for number, other in enumerate(others):
        look(later(window, **other))
        assert number + 2 == detector.asked


def test_where_nobody_can_tell_it_is_asked_every_time(ask, window):
    look, detector = ask
    unknown = replace(window.steps, kept=None)
    look(later(window, steps=unknown))
    look(later(window, steps=unknown))
    assert 2 == detector.asked


def test_what_it_found_is_looked_at_again_since_time_takes_it_away(ask, window):
    look, detector = ask
    detector.found = (
        report(window, "steps", "job.slow", window.entity, onset=0.0, text="", signal="a"),
    )
    look(window)
    detector.found = ()
    assert () == look(later(window))
    assert 2 == detector.asked
