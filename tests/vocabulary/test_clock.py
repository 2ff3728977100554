"""The slewed clock: what is done to the system's clock does not happen to time."""

import pytest

from rankscope.vocabulary.clock import LASTING_SECONDS, SLEW, SlewedClock


class Machine:
    """Two clocks that tests move."""

    def __init__(self):
        self.system = 1_700_000_000.0
        self.monotonic = 500.0

    def passes(self, seconds):
        self.system += seconds
        self.monotonic += seconds


@pytest.fixture
def machine():
    return Machine()


@pytest.fixture
def clock(machine):
    return SlewedClock(system=lambda: machine.system, monotonic=lambda: machine.monotonic)


def test_a_clock_set_an_hour_ahead_for_one_tick_changes_nothing(machine, clock):
    began = clock.now()
    for second in range(1, 10):
        machine.passes(1.0)
        machine.system += 3600.0 if second == 4 else 0.0
        machine.system -= 3600.0 if second == 5 else 0.0
        assert clock.now() == began + second


@pytest.mark.parametrize("step", [-3600.0, -2.0, 2.0, 3600.0])
def test_time_never_goes_back_and_a_lasting_step_is_followed(machine, clock, step):
    before = clock.now()
    machine.system += step
    for _ in range(3 * 3600):
        machine.passes(1.0)
        now = clock.now()
        assert now > before
        before = now
    assert now == pytest.approx(machine.system, abs=1.0)


def test_a_step_ahead_is_accepted_only_once_it_has_lasted(machine, clock):
    began = clock.now()
    machine.system += 3600.0
    for second in range(1, int(LASTING_SECONDS)):
        machine.passes(1.0)
        assert clock.now() == began + second
    machine.passes(2.0)
    assert clock.now() == machine.system


def test_a_small_difference_is_slewed_away(machine, clock):
    began = clock.now()
    machine.system += 0.5
    machine.passes(10.0)
    assert clock.now() == pytest.approx(began + 10.0 + 10.0 * SLEW)
    machine.passes(100.0)
    assert clock.now() == pytest.approx(machine.system)
