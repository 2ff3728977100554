"""Hosts whose clocks differ from their peers'."""

import numpy as np
import pytest
from tests.detectors.drawn import levels, steady

from rankscope.detectors.hardware.clock_offsets import ClockOffsetsDetector
from rankscope.detectors.sketch import START, readings, sketch


def found(usual, odd=None, which=(), **how):
    """Return the hosts of five whose clock is off, over 200 s."""
    offset = levels(5, usual, odd, which, seconds=200, **how)
    window = sketch(steady(ranks=10), hosts=5, now=START + 200,
                    host_readings={"system.clock.offset": offset})  # fmt: skip
    return [f.entity.id for f in ClockOffsetsDetector().evaluate(window)]


@pytest.mark.parametrize("odd", [2.5, -0.4])
def test_a_clock_far_from_its_peers_is_worth_knowing(odd):
    assert ["host-3"] == found(0.001, odd, 3)


def test_a_clock_that_jumps_for_a_moment_is_being_set():
    assert [] == found(0.0, 2.5, 3, since=180)


def test_clocks_that_are_off_alike_keep_events_in_order():
    assert [] == found(2.5)


def test_milliseconds_are_normal_life():
    assert [] == found(0.0, 0.05, 3)


def test_a_clock_that_moved_away_among_clocks_that_stray_is_off():
    assert ["host-3"] == found(0.05, -0.22, 3, since=80)
    assert [] == found(0.22, 0.0, 3, since=80)


def moved(offsets, which, by):
    """Return what is found where clocks stand off and one moves after 100 s."""
    at = np.arange(START, START + 200, 5, dtype=np.float64)
    offset = np.repeat(np.array(offsets, np.float64)[:, None], len(at), axis=1)
    offset[which, at >= START + 100] += by
    hosts = len(offsets)
    window = sketch(steady(ranks=2 * hosts), hosts=hosts, now=START + 200,
                    host_readings={"system.clock.offset": readings(at, offset)})  # fmt: skip
    return {
        f.entity.id: (f.onset[0] - START, f.text.partition("its clock ")[2])
        for f in ClockOffsetsDetector().evaluate(window)
    }


def test_a_clock_that_was_off_and_moves_further_is_off_since_it_moved():
    after = moved([-0.3, 0.6, 0.3], 1, 32.0)
    assert ["host-1"] == list(after)
    text = "moved ahead by 32 s, and is 32.3 s ahead of its peers"
    assert (100.0, text) == after["host-1"]


def test_a_clock_that_moves_takes_no_median_of_its_peers_with_it():
    offsets = [-1.23, -0.31, -0.24, 0.31, 0.34, 0.52, 0.73]
    assert "host-3" not in moved(offsets, 3, 0.0)
    text = "moved back by 0.65 s, and is 0.39 s behind its peers"
    assert (100.0, text) == moved(offsets, 3, -0.65)["host-3"]


def test_only_a_clock_that_moves_asks_somebody_to_look():
    scores = []
    for since in (0, 80):
        offset = levels(5, 0.0, 2.5, 3, seconds=200, since=since)
        window = sketch(steady(ranks=10), hosts=5, now=START + 200,
                        host_readings={"system.clock.offset": offset})  # fmt: skip
        scores += [f.score for f in ClockOffsetsDetector().evaluate(window)]
    assert [0.8, 1.0] == scores


def test_clocks_that_stray_by_a_little_each_are_not_off():
    assert {} == moved([-0.2, -0.2, 0.2, 0.2], 0, 0.0)


@pytest.mark.parametrize(
    "offsets",
    [
        pytest.param([0.0, 0.41, -0.03, -0.98], id="four hosts"),
        pytest.param([-0.24, 0.1, 0.6, -0.3], id="two of them are alike by chance"),
        pytest.param([-0.53, -0.28, -0.01, -0.26, 0.29, 0.4, -0.6, 0.1], id="eight hosts"),
    ],
)
def test_where_all_clocks_stray_by_as_much_none_is_a_hosts_fault(offsets):
    assert {} == moved(offsets, 0, 0.0)


def test_a_clock_far_beyond_what_its_peers_stray_by_is_off():
    assert ["host-2"] == list(moved([-0.24, 0.1, 9.0, -0.3], 0, 0.0))
