"""Fault codes that devices report, and devices whose clocks are held down."""

import numpy as np
import pytest

from rankscope.detectors.hardware.device_faults import DeviceFaults
from rankscope.detectors.sketch import START, readings, sketch

CLOCK = "hw.frequency|sm"
AT = START + np.arange(0.0, 61, 5)


@pytest.fixture
def evaluated(steady):
    """Return a function that evaluates a job of four ranks by readings of its devices.

    And events.
    """

    def evaluate(by_rank=None, **fields):
        return DeviceFaults().evaluate(sketch(steady(), rank_readings=by_rank or {}, **fields))

    return evaluate


def active(rows, since=0.0, ranks=4):
    """Return readings of a flag that is up on some rows since a second."""
    value = np.zeros((ranks, len(AT)))
    value[rows] = (START + since <= AT).astype(float)
    return readings(AT, value)


def test_a_fault_code_accuses_the_device_at_its_second(evaluated, event):
    xid = event("gpu.fault", 31.5, rank=2, code="79", text="GPU has fallen off the bus")

    (finding,) = evaluated(events=(xid,))

    assert ("gpu.fault_event", "GPU-2", "host-1", (2,)) == (
        finding.kind, finding.entity.id, finding.entity.host, tuple(finding.entity.ranks),
    )  # fmt: skip
    assert (START + 31.5, START + 31.5) == finding.onset
    assert "79" == finding.observed
    assert finding.text.endswith("79 GPU has fallen off the bus")


def test_a_fault_code_without_a_text_reads_well(evaluated, event):
    (finding,) = evaluated(events=(event("gpu.fault", 1, rank=0, code="SXID 20034"),))
    assert "gpu GPU-0 on host-0 reported SXID 20034" == finding.text


@pytest.mark.parametrize("rank", [None, 9, "1"])
def test_a_fault_of_a_device_that_no_rank_uses_is_not_the_jobs(evaluated, event, rank):
    pairs = {} if rank is None else {"rank": rank}
    assert [] == evaluated(events=(event("gpu.fault", 31.5, code="79", **pairs),))


def test_a_fault_on_a_rank_without_a_known_device_names_nothing(evaluated, event):
    fault = event("gpu.fault", 31.5, rank=2, code="79")
    assert [] == evaluated(events=(fault,), hw_ids=(None,) * 4)


@pytest.mark.parametrize(
    ("fault_class", "accuses"),
    [
        ("fatal", True),
        ("degraded", True),
        ("unknown", True),
        ("application", False),
        ("info", False),
    ],
)
def test_a_code_of_an_applications_error_accuses_no_device(evaluated, event, fault_class, accuses):
    fault = event("gpu.fault", 31.5, rank=2, code="13", **{"class": fault_class})
    assert accuses == bool(evaluated(events=(fault,)))


def test_other_events_are_not_device_faults(evaluated, event):
    assert [] == evaluated(events=(event("process.exit", 31.5, rank=2, exit_code=1),))


@pytest.mark.parametrize("reason", ["thermal_hw", "thermal_sw", "power_brake", "slowdown_hw"])
def test_a_device_held_down_most_of_the_newest_time_is_named(evaluated, reason):
    (finding,) = evaluated({f"hw.gpu.throttle|{reason}": active([1], since=45)})
    assert ("gpu.throttled", "GPU-1") == (finding.kind, finding.entity.id)
    assert (START + 40, START + 60) == finding.onset
    assert reason in finding.text


@pytest.mark.parametrize("reason", ["power_cap", "idle", "clocks_setting", "sync_boost"])
def test_power_caps_idle_and_application_clocks_are_normal_life(evaluated, reason):
    assert [] == evaluated({f"hw.gpu.throttle|{reason}": active([1])})


def test_a_device_held_down_for_a_moment_is_normal_life(evaluated):
    assert [] == evaluated({"hw.gpu.throttle|thermal_hw": active([1], since=60)})


def test_a_clock_below_its_peers_names_the_device_where_reasons_are_not_told(evaluated):
    clock = np.full((4, len(AT)), 1.755e9)
    clock[3] = 1.095e9

    (finding,) = evaluated({CLOCK: readings(AT, clock)})

    assert ("GPU-3", "hw.frequency") == (finding.entity.id, finding.signal)
    assert "1095 MHz, peers 1755 MHz" in finding.text


def test_a_clock_a_little_below_its_peers_is_normal_life(evaluated):
    clock = np.full((4, len(AT)), 1.755e9)
    clock[3] *= 0.93
    assert [] == evaluated({CLOCK: readings(AT, clock)})


def test_a_named_reason_goes_before_the_low_clock_of_the_same_device(evaluated):
    clock = np.full((4, len(AT)), 1.755e9)
    clock[1] = 1.095e9
    (finding,) = evaluated({"hw.gpu.throttle|thermal_hw": active([1]), CLOCK: readings(AT, clock)})
    assert ("GPU-1", "hw.gpu.throttle") == (finding.entity.id, finding.signal)


def test_devices_held_down_alike_without_reasons_cannot_be_told(evaluated):
    """The docstring's failure mode."""
    assert [] == evaluated({CLOCK: readings(AT, np.full((4, 1), 1.095e9))})


def test_two_clocks_are_too_few_to_say_which_is_low(evaluated):
    clock = np.full((4, len(AT)), np.nan)
    clock[0], clock[1] = 1.755e9, 1.0e9
    assert [] == evaluated({CLOCK: readings(AT, clock)})


def test_a_low_clock_without_a_known_device_names_nothing(evaluated):
    assert [] == evaluated(
        {"hw.gpu.throttle|thermal_hw": active([1])}, hw_ids=("GPU-0", None, "GPU-2", "GPU-3")
    )


def test_readings_that_hold_nothing_are_no_finding(evaluated):
    nothing = readings(np.full(3, np.nan), np.full((4, 3), np.nan))
    assert [] == evaluated({"hw.gpu.throttle|thermal_hw": nothing, CLOCK: nothing})


def clocks(*levels):
    """Return SM clocks of four devices, in MHz."""
    return readings(AT, np.array(levels)[:, None] * 1e6)


def test_a_device_that_waits_lowers_its_clock_and_is_not_held_down(evaluated):
    low = {CLOCK: clocks(1755, 1755, 1755, 345)}
    assert ["gpu.throttled"] == [f.kind for f in evaluated(low)]
    for metric in ("hw.gpu.utilization", "hw.gpu.throttle|idle"):
        idle = np.array([[1.0], [1.0], [1.0], [0.05]])
        level = idle if metric == "hw.gpu.utilization" else 1 - idle
        assert [] == evaluated({**low, metric: readings(AT, level)})


@pytest.mark.parametrize("limit", ["hw.power.limit", "hw.frequency.limit|sm"])
def test_devices_of_two_models_are_compared_within_their_own(steady, limit):
    models = readings(AT, np.repeat([700.0, 300.0], 4)[:, None])
    clock = np.repeat([1980.0, 1410.0], 4)[:, None] * 1e6

    def evaluate(clock):
        return DeviceFaults().evaluate(
            sketch(
                steady(ranks=8),
                rank_readings={CLOCK: readings(AT, clock), limit: models},
            )
        )

    assert [] == evaluate(clock)
    clock = clock.copy()
    clock[6] = 1.1e9
    assert ["GPU-6"] == [f.entity.id for f in evaluate(clock)]


def test_where_no_limit_is_reported_a_host_that_runs_alike_is_another_model(evaluated):
    assert [] == evaluated({CLOCK: clocks(1755, 1755, 1410, 1410)})


def test_an_xid_of_the_node_s_earlier_tenant_does_not_count(steady, event):
    old = event("gpu.fault", -600, job=None, rank=2, code="79")
    window = sketch(steady(), events=(old,), attempt_started_at=START - 20)
    assert [] == DeviceFaults().evaluate(window)
    foreign = event("gpu.fault", -5, job=None, rank=2, code="31", pid=77)
    assert [] == DeviceFaults().evaluate(sketch(steady(), events=(foreign,)))
    during = event("gpu.fault", 30, job=None, rank=2, code="79", pid=1002)
    window = sketch(steady(), events=(old, during), attempt_started_at=START - 20)
    assert [START + 30] == [f.onset[0] for f in DeviceFaults().evaluate(window)]
