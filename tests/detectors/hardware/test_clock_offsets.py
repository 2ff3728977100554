"""Hosts whose clocks differ from their peers'."""

import pytest

from rankscope.detectors.hardware.clock_offsets import ClockOffsets
from rankscope.detectors.sketch import START, sketch


@pytest.fixture
def found(steady, levels):
    """Return a function that returns the hosts of five whose clock is off, over 200 s."""

    def evaluate(usual, odd=None, which=(), **how):
        offset = levels(5, usual, odd, which, seconds=200, **how)
        window = sketch(steady(ranks=10), hosts=5, now=START + 200,
                        host_readings={"system.clock.offset": offset})  # fmt: skip
        return [f.entity.id for f in ClockOffsets().evaluate(window)]

    return evaluate


@pytest.mark.parametrize("odd", [2.5, -0.4])
def test_a_clock_far_from_its_peers_is_worth_knowing(found, odd):
    assert ["host-3"] == found(0.001, odd, 3)


def test_a_clock_that_jumps_for_a_moment_is_being_set(found):
    assert [] == found(0.0, 2.5, 3, since=180)


def test_clocks_that_are_off_alike_keep_events_in_order(found):
    assert [] == found(2.5)


def test_milliseconds_are_normal_life(found):
    assert [] == found(0.0, 0.05, 3)


def test_a_clock_that_moved_away_among_clocks_that_stray_is_off(found):
    assert ["host-3"] == found(0.05, -0.22, 3, since=80)
    assert [] == found(0.22, 0.0, 3, since=80)
