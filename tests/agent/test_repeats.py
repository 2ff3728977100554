"""Readings of every second that say nothing new leave with others, or after three seconds."""

import pytest

from rankscope.agent.repeats import LONGEST_SECONDS, RepeatedReadings
from rankscope.vocabulary.samples import Sample, attributes

PAIRS = attributes({"device": "mlx5_0", "port": 1})


def up(value, at):
    return [Sample("hw.network.up", value, at, PAIRS)]


@pytest.fixture
def repeated():
    return RepeatedReadings()


def leaves(repeated, value, at, *, period=1.0, alone=True):
    return not repeated.hold("network_links", period, up(value, at), at, alone=alone)


def test_what_is_what_it_was_leaves_every_three_seconds(repeated):
    left = [at for at in range(100, 110) if leaves(repeated, 1.0, float(at))]
    assert left == [100, 103, 106, 109]


def test_what_changed_leaves_at_once(repeated):
    values = {100: 1.0, 101: 1.0, 102: 0.0, 103: 0.0, 104: 1.0}
    left = [at for at, value in values.items() if leaves(repeated, value, float(at))]
    assert left == [100, 102, 104]


def test_it_goes_along_with_what_leaves_anyway(repeated):
    assert leaves(repeated, 1.0, 100.0)
    assert leaves(repeated, 1.0, 101.0, alone=False)
    assert not leaves(repeated, 1.0, 102.0)
    assert leaves(repeated, 1.0, 104.0)


def test_readers_of_an_ordinary_pace_are_never_held(repeated):
    assert all(leaves(repeated, 1.0, 100.0 + turn, period=LONGEST_SECONDS) for turn in range(4))


def test_a_clock_that_was_set_back_holds_nothing(repeated):
    assert leaves(repeated, 1.0, 100.0)
    assert leaves(repeated, 1.0, 40.0)


def test_each_reader_is_held_by_its_own_values(repeated):
    assert leaves(repeated, 1.0, 100.0)
    assert not repeated.hold("gpu_watch", 1.0, up(1.0, 100.0), 100.0, alone=True)
