"""When a fault begins to do what a limit on delays speaks of."""

import math

import pytest

from rankscope.lab.simulator.shape import EPOCH, SimulatedJob

from .machines import ONSET, broken, scenario


def effects(found):
    """Return the moments in seconds after the onset."""
    return {name: at - found.truth.onset for name, at in found.truth.effects.items()}


def test_heat_makes_a_rank_slower_some_time_after_the_cooling_failed():
    base = scenario(job=SimulatedJob(step_seconds=1.0, hiccups=0.0, cpu_bound=0.3))
    seen = effects(broken("thermal_throttle", base=base, clock=0.6, ramp=40.0, host=1, place=0))
    assert 3.0 < seen["slower_5"] < seen["slower_10"] < 40.0
    assert {"slower_5", "slower_10"} == set(seen)


def test_a_device_that_hides_behind_its_processor_is_never_ten_per_cent_slower():
    base = scenario(job=SimulatedJob(step_seconds=1.0, hiccups=0.0, cpu_bound=0.97))
    assert {} == effects(broken("clock_locked", base=base, clock=0.99, host=1, place=0))


def test_a_rank_stands_still_where_it_stops_in_its_step():
    found = broken("stuck_process", point=0.9, host=1, place=0)
    (attempt,) = found.attempts
    rest = attempt.unfinished
    assert EPOCH + float(rest.start.max()) < found.truth.effects["stopped"]
    assert 0.0 <= effects(found)["stopped"] < 1.5


def test_a_rank_that_goes_on_later_stood_still_as_well():
    seen = effects(broken("stuck_process", point=0.5, seconds=20.0, host=1, place=0))
    assert 0.0 <= seen["stopped"] < 1.5


def test_who_all_arrived_stands_still_from_the_last_arrival_on():
    base = scenario(job=SimulatedJob(step_seconds=1.0, hiccups=0.0, second_group=True))
    assert 0.0 <= effects(broken("deadlock", base=base))["stopped"] < 2.5


@pytest.mark.parametrize("scale", [0.0, 2.0**6])
def test_a_gradient_that_a_loss_scaler_skips_is_not_the_value_that_counts(scale):
    job = SimulatedJob(
        step_seconds=1.0, hiccups=0.0, loss_scale=scale, loss_scale_fits=scale, guards_numerics=True
    )
    kind = "nan_precision" if scale else "nan_data"
    at = effects(broken(kind, base=scenario(job=job))).get("nonfinite", math.inf)
    # The scale halves six times, once a step, before an update is taken as it is.
    assert (5.0 < at < 12.0) if scale else (at < 1.5)


def test_a_leak_has_none_of_these_effects():
    found = broken("host_leak", host=1, place=0, rate=0.03)
    assert {} == effects(found)
    assert ONSET == pytest.approx(found.truth.onset - EPOCH, abs=2.0)
