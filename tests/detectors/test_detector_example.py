"""The worked example of CONTRIBUTING: what it says is true, and it keeps the contract."""

import doctest
import pickle
import sys
import tomllib

import numpy as np
import pytest
from tests.loading import EXAMPLES, loaded

from rankscope.detectors.sketch import START, readings, sketch
from rankscope.vocabulary import metrics

AT = START + np.arange(0.0, 61, 5)


@pytest.fixture(scope="module")
def example():
    module = loaded(EXAMPLES / "detector_example.py")
    sys.modules["detector_example"] = module  # the contract has detectors pickled
    yield module
    del sys.modules["detector_example"]


@pytest.fixture
def evaluated(example, steady):
    """Return a function that evaluates a job of two hosts by their shared memory in GiB."""

    def evaluate(*usage, limit=64.0):
        by_host = {
            example.USAGE: readings(AT, np.array(usage, float).reshape(2, -1)),
            example.LIMIT: readings(AT, np.full((2, 1), limit)),
        }
        return example.SharedMemory().evaluate(sketch(steady(), host_readings=by_host))

    return evaluate


def test_its_own_example_prints_what_it_says(example):
    outcome = doctest.testmod(example)
    assert outcome.attempted >= 3
    assert 0 == outcome.failed


def test_the_row_beside_it_is_one_of_findings_toml(example):
    text = (EXAMPLES / "detector_example.toml").read_text(encoding="utf-8")
    (row,) = tomllib.loads(text)["finding"]
    assert {"kind", "family", "symptom", "effect", "entities", "signals", "help"} == set(row)
    assert (row["kind"],) == example.SharedMemory.kinds
    assert set(row["signals"]) <= set(metrics.catalogue())


def test_a_host_with_room_and_a_single_high_reading_are_no_finding(evaluated):
    assert [] == evaluated(10.0, 20.0)
    high = np.full((2, len(AT)), 10.0)
    high[1, -2] = 64.0
    assert [] == evaluated(high)


def test_missing_readings_are_no_finding(example, steady):
    assert [] == example.SharedMemory().evaluate(sketch(steady()))


def test_it_keeps_the_contract(example, evaluated):
    detector = example.SharedMemory()
    assert vars(detector) == vars(pickle.loads(pickle.dumps(detector)))  # noqa: S301
    (full,) = evaluated(10.0, 62.0)
    assert ("shared_memory", "host-1", [2, 3]) == (full.detector, full.entity.id, list(full.ranks))
    assert 0 <= detector.cadence_seconds
    assert detector.next_due(sketch(np.full((4, 60), 0.8))) == np.inf
