"""Devices that give no readings any more, or count as failed, while their ranks make no steps."""

import numpy as np
import pytest
from tests.detectors.drawn import event, levels, steady

from rankscope.detectors.hardware.lost_devices import LostDevicesDetector
from rankscope.detectors.sketch import START, sketch


def found(silent, *, steps=40, since=45.0, status=None, **fields):
    """Evaluate a job whose readings go on to second 100."""
    power = levels(4, 500, seconds=100)
    late = power.at[0] >= START + since
    for row in silent:
        power.at[row, late] = power.value[row, late] = np.nan
    held = {"hw.power": power}
    if status is not None:
        held["hw.status|failed"] = status
    window = sketch(steady(steps=steps), now=START + 100, rank_readings=held, **fields)
    return [(f.kind, f.entity.id) for f in LostDevicesDetector().evaluate(window)]


def test_a_device_that_fell_silent_when_its_steps_ended_is_lost():
    assert [("gpu.lost", "GPU-3")] == found([3])


def test_a_device_whose_rank_makes_steps_works():
    assert [] == found([3], steps=100)


def test_a_host_whose_devices_are_all_silent_is_no_lost_device():
    assert [] == found([2, 3])


def test_a_device_that_fell_silent_with_its_whole_rank_says_nothing_of_itself():
    """Whoever reads for that rank stopped, unless the process was seen to end."""
    heard = START + np.array([100.0, 100, 100, 45])
    assert [] == found([3], last_received=heard)
    ended = event("process.exit", 46, rank=3, signal=6)
    assert [("gpu.lost", "GPU-3")] == found([3], last_received=heard, events=(ended,))


@pytest.mark.parametrize(("seconds", "steps", "lost"), [(0.8, 40, 1), (29.8, 1, 0)])
def test_that_no_long_step_has_ended_soon_says_nothing(seconds, steps, lost):
    status = levels(4, 0, 1, 1, since=45, seconds=100)
    own = steady(steps=steps, seconds=seconds)
    window = sketch(own, now=START + 100, rank_readings={"hw.status|failed": status})
    assert lost == len(LostDevicesDetector().evaluate(window))


def test_a_short_gap_is_normal_life():
    assert [] == found([3], since=88.0)


def test_a_device_that_counts_as_failed_is_lost_when_its_steps_ended():
    status = levels(4, 0, 1, 1, since=45, seconds=100)
    assert [("gpu.lost", "GPU-1")] == found([], status=status)
    assert [] == found([], steps=100, status=status)


@pytest.mark.parametrize(("code", "lost"), [("nvml.hung", 0), ("74", 0), ("48", 0), ("79", 1),
                                            ("63", 1)])  # fmt: skip
def test_a_device_whose_codes_name_another_fault_is_there_still(code, lost):
    """A call that waits, a link that is down, memory that failed: none of them means gone."""
    status = levels(4, 0, 1, 1, since=45, seconds=100)
    fault = event("gpu.fault", 44, host="host-0", rank=1, code=code)
    window = sketch(steady(steps=40), now=START + 100, events=(fault,),
                    rank_readings={"hw.status|failed": status})  # fmt: skip
    assert lost == len(LostDevicesDetector().evaluate(window))
