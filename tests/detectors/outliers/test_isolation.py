"""Devices that an isolation forest separates from their peers."""

import sys

import numpy as np
import pytest

from rankscope.detectors.outliers import isolation
from rankscope.detectors.outliers.isolation import IsolationDetector
from rankscope.detectors.sketch import START, readings, sketch

AT = START + np.arange(0, 241, 5.0)


def evaluated(rows=(), since=0.0, *, ranks=16, drop=150.0, **more):
    """Evaluate devices, some with values of their own from a second on."""
    random = np.random.default_rng(1)
    power = random.normal(600, 6, (ranks, len(AT)))
    memory = random.normal(0.4, 0.01, power.shape)
    late = AT - START >= since
    for row in rows:
        power[row, late] -= drop
        memory[row, late] += 0.002 * drop
    by_rank = {
        "hw.power": readings(AT, power),
        "hw.gpu.memory.activity": readings(AT, memory),
        "hw.errors|corrected|hbm": readings(AT, 0 * power),
    }
    fields = {
        "now": AT[-1],
        **more,
        "rank_readings": {**by_rank, **more.get("rank_readings", {})},
    }
    window = sketch(np.full((ranks, 220), 0.8), **fields)
    return [f.entity.id for f in IsolationDetector().evaluate(window)]


@pytest.fixture
def forest():
    """Skip where scikit-learn is not installed: then there is no forest."""
    return pytest.importorskip("sklearn")


@pytest.mark.usefixtures("forest")
def test_a_device_unlike_its_peers_is_pointed_at_as_evidence():
    assert ["GPU-5"] == evaluated([5])
    assert ["GPU-5"] == evaluated([5], ranks=600)


@pytest.mark.usefixtures("forest")
def test_devices_without_a_name_are_left_out():
    assert [] == evaluated([5], hw_ids=(None,) * 16)


def test_without_the_library_nothing_is_found(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.tree", None)
    assert [] == evaluated([5])


@pytest.mark.parametrize(
    ("rows", "more"),
    [
        pytest.param([], {}, id="nobody is unlike"),
        pytest.param([5], {"drop": 10.0}, id="a silicon lottery"),
        pytest.param([5], {"since": 200.0}, id="not for long"),
        pytest.param([1, 3, 5], {}, id="several are another model"),
        pytest.param([2], {"ranks": 6}, id="too few peers"),
        pytest.param([5], {"role_of": np.arange(16) // 4}, id="roles of four"),
    ],
)
def test_usual_devices_are_left_alone(rows, more):
    assert [] == evaluated(rows, **more)


def test_devices_with_another_limit_are_no_peers():
    limit = np.full((16, 1), 700.0)
    limit[5:8] = 400.0
    by_rank = {"hw.power.limit": readings(AT, limit)}
    assert [] == evaluated([5], rank_readings=by_rank)


def test_one_value_alone_is_no_vector():
    assert [] == IsolationDetector().evaluate(sketch(np.full((16, 60), 0.8)))
    by_rank = {"hw.power": readings(AT, np.full((16, 1), 600.0))}
    window = sketch(np.zeros((16, 0)), now=AT[-1], rank_readings=by_rank)
    assert [] == IsolationDetector().evaluate(window)


def test_at_most_a_bounded_number_of_devices_is_scored(forest):
    random = np.random.default_rng(1)
    far = random.normal(0, 1, (2000, 3))
    scores = isolation._isolated(far, np.arange(isolation.SAMPLE + 5))
    assert [0.0] * 5 == scores[-5:].tolist()
    assert forest is not None
