"""What time it is in a recording of OTLP lines: the newest event time over hosts."""

import hypothesis
from hypothesis import given
from hypothesis import strategies as st

from rankscope.collector.recordings.event_clock import EventClock


def last_received(*lines):
    clock = EventClock()
    times = []
    for line in lines:
        clock.advance([line])
        times.append(clock.now)
    return times


def test_time_is_the_newest_over_hosts():
    assert last_received(("a", 10.0), ("b", 12.0), ("a", 11.0)) == [10.0, 12.0, 12.0]


def test_a_host_an_hour_ahead_of_the_median_does_not_take_time_along():
    lines = [("a", 10.0), ("b", 10.0), ("c", 3610.0), ("a", 11.0), ("c", 3611.0), ("b", 12.0)]
    assert last_received(*lines) == [10.0, 10.0, 10.0, 11.0, 11.0, 12.0]


def test_of_two_hosts_the_one_ahead_is_left_out():
    assert last_received(("a", 10.0), ("b", 3610.0), ("a", 11.0), ("b", 3611.0))[-1] == 11.0


def test_a_host_sixty_seconds_ahead_still_counts_and_one_beyond_does_not():
    assert last_received(("a", 0.5), ("b", 60.5))[-1] == 60.5
    assert last_received(("a", 0.5), ("b", 60.6))[-1] == 0.5


def test_time_never_goes_back_when_a_sane_host_appears_late():
    assert last_received(("ahead", 3610.0), ("a", 10.0), ("b", 11.0)) == [3610.0, 3610.0, 3610.0]


def test_time_goes_on_when_most_hosts_fall_silent():
    lines = [(host, float(at)) for at in range(30) for host in "abcd"]
    lines += [("d", float(at)) for at in range(30, 300)]
    assert last_received(*lines)[-1] == 299.0


def test_hosts_that_report_every_two_minutes_all_count():
    lines = [(host, at + 0.1 * n) for at in range(0, 1200, 120) for n, host in enumerate("abc")]
    assert last_received(*lines)[-1] == 1080.2


@hypothesis.settings(deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.floats(1, 500)), min_size=1))
def test_time_never_goes_back_and_never_runs_ahead_of_every_host(lines):
    times = last_received(*lines)
    assert times == sorted(times)
    assert times[-1] <= max(at for _, at in lines)
