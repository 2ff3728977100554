"""How far each host's clock is off."""

import pytest

from rankscope.collector.windows.skew import HostClock


@pytest.fixture
def clock():
    return HostClock()


def hear(clock, *offsets, start=1000.0, every=5.0):
    """Let a host speak every few seconds with its event times so far from now."""
    for number, offset in enumerate(offsets):
        now = start + every * number
        valid = clock.update(now + offset, now)
    assert valid == clock.offset
    return valid


def test_a_host_on_time_has_no_offset(clock):
    assert 0.0 == hear(clock, *[-1.0] * 20)


@pytest.mark.parametrize("offset", [20.0, -20.0])
def test_small_offsets_look_like_delays_and_are_left_alone(clock, offset):
    assert 0.0 == hear(clock, *[offset] * 20)


def test_a_clock_an_hour_ahead_is_seen_at_its_first_word(clock):
    assert 3600.0 == hear(clock, 3600.0)


def test_a_clock_behind_is_seen_when_it_stays_behind_by_the_same(clock):
    assert 0.0 == hear(clock, *[-3600.0] * 4)
    assert -3600.0 == hear(clock, *[-3600.0] * 5)


def test_a_spool_that_drains_catches_up_and_is_no_skew(clock):
    behind = [-600.0 + 30 * number for number in range(21)]
    for offset in behind:
        assert 0.0 == hear(clock, offset, start=1000.0 + offset)
    assert 0.0 == clock.offset


def test_an_offset_is_kept_while_it_only_jitters(clock):
    hear(clock, 3600.0)
    assert 3600.0 == hear(clock, *[3600.0 + jitter for jitter in (3, -4, 2, 5, -1)])


def test_an_offset_follows_a_clock_that_is_set(clock):
    hear(clock, *[3600.0] * 5)
    hear(clock, *[-1.0] * 30, start=1025.0)
    assert 0.0 == clock.offset


def test_an_offset_follows_a_clock_that_is_set_to_another_wrong_time(clock):
    hear(clock, *[3600.0] * 5)
    assert 7200.0 == hear(clock, *[7200.0] * 20, start=1025.0)


def test_what_was_heard_two_minutes_ago_says_nothing_any_more(clock):
    hear(clock, *[3600.0] * 30)
    assert 0.0 == hear(clock, -1.0, start=5000.0)
