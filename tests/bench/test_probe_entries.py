"""What a callback of the probe costs is its own time, not that of what it calls."""

import pytest

from bench.budgets.probe_entries import EntryCosts


class Clock:
    """A clock that moves when it is told to."""

    time = 0.0

    def __call__(self):
        return self.time

    def spend(self, seconds):
        self.time += seconds


def test_a_function_that_the_probe_replaced_is_counted_without_its_original():
    clock = Clock()
    entries = EntryCosts(clock)
    hook = entries.outer("hook", lambda: clock.spend(0.5))

    def original():
        clock.spend(10.0)
        hook()

    inner = entries.inner("backward", original)

    def replacing():
        clock.spend(1.0)
        inner()
        clock.spend(2.0)

    entries.outer("backward", replacing)()
    assert {"backward": 3.0, "hook": 0.5} == entries.seconds
    assert {"backward": 1, "hook": 1} == entries.calls


def test_what_a_callback_raises_is_raised_and_its_time_is_counted():
    clock = Clock()
    entries = EntryCosts(clock)

    def fails():
        clock.spend(1.0)
        raise ValueError

    with pytest.raises(ValueError):
        entries.outer("hook", fails)()
    assert {"hook": 1.0} == entries.seconds
