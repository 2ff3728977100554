"""The conformance suite for other people's detectors: what it says is wrong, and of whom."""

import pytest

from rankscope.detectors import conformance
from rankscope.detectors.catalogue import detectors
from rankscope.detectors.contract import Detector
from rankscope.detectors.findings import report


class Good(Detector):
    """Says nothing.

    Examples
    --------
    None.

    Fails always.
    """

    name = "good"
    kinds: tuple[str, ...] = ("rank.slow_compute",)

    def evaluate(self, window):
        return []


class Stateful(Good):
    def __init__(self):
        self.count = 0

    def evaluate(self, window):
        self.count += 1
        return []


class Raises(Good):
    def evaluate(self, window):
        return [] if window.steps.has("training.loss") else [1 / 0]


class Strange(Good):
    kinds = ("rank.unheard_of",)


class ByPlace(Good):
    """Accuses whoever comes first.

    Examples. Fails.
    """

    def evaluate(self, window):
        if not len(window.ranks):
            return []
        entity = window.rank_entity(0)
        return [report(window, self.name, self.kinds[0], entity, onset=0.0, text="x", signal="s")]


class Alarmist(Good):
    kinds = ("job.slow",)

    def evaluate(self, window):
        return [
            report(window, self.name, "job.slow", window.entity, onset=0.0, text="x", signal="s",
                   score=float("nan"))
        ]  # fmt: skip


class Undocumented(Good):
    """Nothing."""


class Past(Good):
    def next_due(self, window):
        return window.now


@pytest.mark.parametrize("detector", detectors(), ids=lambda detector: detector.name)
def test_every_detector_of_ours_keeps_the_contract(detector):
    assert [] == conformance.problems(detector)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (Stateful, "it keeps state"),
        (Raises, "evaluate raised ZeroDivisionError"),
        (Strange, "nobody describes the kind rank.unheard_of"),
        (ByPlace, "ranks in another order were accused otherwise"),
        (Alarmist, "it reports a symptom of a healthy job"),
        (Alarmist, "has a number that is not finite"),
        (Undocumented, "its docstring shows no example"),
        (Past, "which is not later than now"),
    ],
)
def test_what_breaks_the_contract_is_named(kind, words):
    assert any(words in text for text in conformance.problems(kind()))


def test_the_command_says_so_and_how_many(capsys):
    assert conformance.main([f"{__name__}:Good"]) == 0
    assert "good keeps the contract" in capsys.readouterr().out
    assert conformance.main([f"{__name__}:Past"]) == 1
    assert conformance.main([f"{__name__}:Nobody"]) == 2
    assert "AttributeError" in capsys.readouterr().err
