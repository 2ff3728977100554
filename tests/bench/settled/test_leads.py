"""By how much a first cause leads: over another answer, wherever that is, or unknown."""

import dataclasses

import pytest

from bench.settled import leads
from rankscope.vocabulary import entities
from rankscope.vocabulary.ids import Fault
from rankscope.vocabulary.incidents import DataQuality, Hypothesis, RootCause, UnknownScore

RANK, NEIGHBOUR = entities.rank(3, "gpu-1"), entities.rank(4, "gpu-1")


def cause(fault, entity, score):
    return Hypothesis(1, Fault(fault), entity, score, None, "high", (), (), "")


def lead(*rows, unknown=-5.0):
    quality = DataQuality((), 0.0, 1.0)
    held = RootCause("stable", "m", "1", tuple(rows), UnknownScore(unknown, ()), (), quality)
    return leads.lead(held)


FIRST = cause("gpu.slow", RANK, 4.0)


@pytest.mark.parametrize(
    ("others", "unknown", "expected"),
    [
        ([cause("gpu.nvlink", RANK, 1.0)], -5.0, 3.0),
        ([cause("gpu.nvlink", RANK, 1.0)], 2.5, 1.5),
        ([cause("gpu.slow", NEIGHBOUR, 3.0)], -5.0, 1.0),
        ([dataclasses.replace(FIRST, score=3.9), cause("gpu.nvlink", RANK, 2.0)], -5.0, 2.0),
        ([], -1.0, 5.0),
    ],
    ids=["another fault", "unknown", "another place", "the same answer again", "nothing else"],
)
def test_it_leads_over_the_next_answer(others, unknown, expected):
    assert expected == pytest.approx(lead(FIRST, *others, unknown=unknown))


def test_unknown_as_the_first_leads_over_what_comes_next():
    assert 2.0 == lead(cause("unknown", RANK, 1.0), cause("gpu.slow", RANK, -1.0), unknown=1.0)


def test_an_incident_without_hypotheses_leads_by_nothing():
    assert 0.0 == lead()
