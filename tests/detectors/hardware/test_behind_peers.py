"""Devices that a job must wait for."""

import numpy as np
import pytest
from tests.detectors.drawn import steady

from rankscope.detectors.hardware.behind_peers import BehindPeersDetector
from rankscope.detectors.sketch import START, readings, sketch

CLOCK = "hw.frequency|sm"
HEAT = "hw.gpu.throttle|thermal_sw"
AT = START + np.arange(0.0, 61, 5)


def found(clocks, *, until=None, later=0.0, **fields):
    """Return the findings for SM clocks in MHz and other readings."""
    clock = np.full((len(clocks), len(AT)), 1755e6)
    clock[:, :until] = np.array(clocks, float)[:, None] * 1e6
    more = fields.pop("more", {})
    window = sketch(
        steady(ranks=len(clocks)),
        rank_readings={CLOCK: readings(AT + later - 20, clock), **more},
        **fields,
    )
    return BehindPeersDetector().evaluate(window)


def test_a_low_clock_is_information_before_steps_show_what_it_costs():
    (held,) = found((1755, 1755, 1755, 1095))
    assert ("gpu.behind_peers", "GPU-3") == (held.kind, held.entity.id)
    assert held.score < 1
    assert held.onset[0] > START - 1
    assert held.magnitude == pytest.approx(1755 / 1095, abs=0.01)


def test_heat_that_costs_no_clock_holds_nobody_back():
    hot = np.zeros((4, len(AT)))
    hot[3] = 1.0
    assert [] == found((1755, 1755, 1755, 1740), more={HEAT: readings(AT, hot)})


def test_heat_that_costs_a_twentieth_of_the_clock_is_information():
    hot = np.zeros((4, len(AT)))
    hot[3] = 1.0
    (held,) = found((1755, 1755, 1755, 1660), more={HEAT: readings(AT, hot)})
    assert "GPU-3" == held.entity.id


def test_a_device_without_work_holds_nobody_back():
    used = np.ones((4, 1))
    used[3] = 0.05
    idle = {"hw.gpu.utilization": readings(AT, used)}
    assert [] == found((1755, 1755, 1755, 1095), more=idle)


def test_where_most_devices_are_held_down_the_job_is_as_it_is():
    hot = np.ones((8, len(AT)))
    hot[:3] = 0.0
    assert [] == found((1755,) * 3 + (1500,) * 5, more={HEAT: readings(AT, hot)})


def test_a_job_that_stopped_stepping_waits_for_no_device():
    assert [] == found((1755, 1755, 1755, 1095), now=START + 1000)


def test_a_device_that_works_after_all_holds_nobody_back():
    assert [] == found((1755, 1755, 1755, 345), until=-1)


def test_while_no_step_ends_a_low_clock_is_that_of_a_device_without_work():
    assert [] == found((1755, 1755, 1755, 1095), later=60.0)


def test_a_device_that_paused_for_a_while_holds_nobody_back():
    used = np.ones((4, 1))
    used[3] = 0.8
    idle = {"hw.gpu.utilization": readings(AT - 20, used)}
    assert [] == found((1755, 1755, 1755, 1500), more=idle)


@pytest.mark.parametrize(
    ("lowest", "named"), [((345, 345), []), ((1095, 1095, 1095, 1095), ["GPU-3"])]
)
def test_a_clock_read_at_rest_now_and_then_is_of_no_slow_device(lowest, named):
    at = START + np.arange(0.0, 601, 30)
    clock = np.full((4, len(at)), 1755e6)
    clock[3, 17 : 17 + len(lowest)] = np.array(lowest) * 1e6
    window = sketch(np.zeros((4, 0)), now=START + 700, rank_readings={CLOCK: readings(at, clock)})
    assert named == [row.entity.id for row in BehindPeersDetector().evaluate(window)]


@pytest.mark.parametrize(
    ("newest", "named"),
    [
        pytest.param((1870, 1890, 1920, 1870), [], id="it was as fast as they half a minute ago"),
        pytest.param((1870, 1890) * 6, ["GPU-3"], id="it was not in any reading of a minute"),
        pytest.param((1500, 1600, 1500, 1600), ["GPU-3"], id="no cap wanders so far"),
    ],
)
def test_a_clock_at_its_cap_wanders_and_holds_nobody_back_before_it_stays(newest, named):
    at = START + np.arange(-40.0, 41, 5)
    clock, capped = np.full((4, len(at)), 1980e6), np.zeros((4, len(at)))
    clock[3, -len(newest) :] = np.array(newest) * 1e6
    capped[3, -len(newest) :] = 1.0
    window = sketch(
        np.full((4, 60), 0.8),
        rank_readings={
            CLOCK: readings(at, clock),
            "hw.gpu.throttle|power_cap": readings(at, capped),
        },
    )
    assert named == [row.entity.id for row in BehindPeersDetector().evaluate(window)]
