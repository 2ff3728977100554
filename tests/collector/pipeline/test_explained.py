"""The same findings are explained once."""

import pytest

from rankscope.collector.pipeline import explained as module
from rankscope.collector.pipeline.explained import AttemptExplanations
from rankscope.vocabulary.ids import Job
from rankscope.vocabulary.topology import JobTopology


@pytest.fixture
def asked(monkeypatch):
    """Return what the engine was asked."""
    held = []

    def explanations(findings, *_args, **_kwargs):
        held.append(tuple(findings))
        return tuple(findings)

    monkeypatch.setattr(module, "explanations", explanations)
    return held


@pytest.fixture
def explain(asked):
    """Return a function that explains findings; what surrounds them may differ."""
    made, topology = AttemptExplanations(), JobTopology(Job("job"))
    usual = {"observed": frozenset({"a"}), "clock_skew": 0.0, "interval": 1.0, "knowledge": None}
    return lambda findings, **other: made.of(findings, topology, **{**usual, **other})


def test_the_very_same_findings_are_explained_once(explain, asked):
    findings = [["one"], ["two"]]
    assert explain(findings) == explain(list(findings)) == tuple(findings)
    assert 1 == len(asked)


@pytest.mark.parametrize(
    "other",
    [
        {"observed": frozenset({"b"})},
        {"clock_skew": 1.0},
        {"interval": 2.0},
        {"knowledge": object()},
    ],
)
def test_what_surrounds_them_counts_too(explain, asked, other):
    findings = [["one"]]
    explain(findings)
    explain(findings, **other)
    assert 2 == len(asked)


def test_equal_findings_that_were_made_anew_are_explained_once(explain, asked):
    explain([["one", 1.5]])
    explain([["one", 1.5]])
    assert 1 == len(asked)


@pytest.mark.parametrize("other", [[], [["one"], ["two"]], [["two"]]])
def test_other_findings_are_explained_anew(explain, asked, other):
    explain([["one"]])
    explain(other)
    assert 2 == len(asked)


def test_equal_findings_that_are_written_otherwise_are_explained_anew(explain, asked):
    explain([[0.0]])
    explain([[-0.0]])
    explain([[0]])
    assert 3 == len(asked)
