"""Hosts: clocks that are off, habits of reporting, silence."""

import numpy as np

AGE = "training.progress.age"


def test_a_host_an_hour_ahead_is_brought_back(valid, after):
    for second in range(0, 30, 5):
        valid.step(0, second, second, host="host-a", now=second)
        valid.step(1, second, second + 3600, host="host-b", now=second)
    window = valid.window()
    np.testing.assert_allclose(window.steps.at[0], window.steps.at[1])
    assert 3600.0 == window.clock_skew


def test_silence_is_measured_by_when_things_were_heard(two_by_two, after):
    two_by_two.metrics((AGE, 1.0, 6, {"rank": 1}), now=7)
    window = two_by_two.window()
    assert [after(5), after(7), after(5), after(5)] == window.last_received.tolist()
    assert [after(7), after(5)] == window.host_last_received.tolist()


def test_a_hosts_habit_is_its_longest_usual_pause(valid):
    for second in range(60):
        valid.step(0, second, second, now=second)
    assert [1.0] == valid.window().host_interval.tolist()
    for second in range(60, 120, 5):
        valid.metrics((AGE, 1.0, second, {"rank": 0}), now=second)
    assert 5.0 == valid.window().host_interval[0]
    valid.metrics((AGE, 1.0, 3000, {"rank": 0}), now=3000)
    assert 60.0 == valid.window().host_interval[0], "it was away, and does not speak that rarely"


def test_a_host_that_reports_again_after_a_silence_has_returned(valid, after):
    for second in (*range(20), 60, 61):
        valid.metrics((AGE, 1.0, second, {"rank": 0}), now=second)
        returned = valid.window().host_returned.tolist()
        assert [after(60) if second >= 60 else -np.inf] == returned


def test_a_host_that_reports_every_fifteen_seconds_is_never_silent(valid):
    for second in range(0, 300, 15):
        valid.metrics((AGE, 1.0, second, {"rank": 0}), now=second)
    assert [-np.inf] == valid.window().host_returned.tolist()


def test_a_host_that_spoke_once_has_no_habit_yet(valid):
    valid.step(0, 0, 0)
    valid.step(0, 0, 0.1)
    assert np.isnan(valid.window().host_interval).all()
