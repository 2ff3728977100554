"""The text of a finding tells causes apart; so does what nobody could have reported."""

import pytest
from tests.alerts.explaining import EVERYTHING

from rankscope.alerts.causes import engine
from rankscope.vocabulary import findings as kinds

MISMATCH = "rank 2 logged python.RuntimeError: Detected mismatch between collectives on ranks."
ECC = "rank 2 logged cuda.ecc: RuntimeError: CUDA error: uncorrectable ECC error encountered"
LAUNCH = "rank 2 logged python.RuntimeError: CUDA error: unspecified launch failure"
INDEX = "rank 2 logged python.exception: IndexError: index 7 is out of range"
SILENT = "gpu GPU-2 on host-b has given no readings for 40 s while its neighbours do"
FELL = "gpu GPU-2 on host-b: XID 79, the device fell off the bus"


@pytest.fixture
def devices(lay_out):
    """Return a job of eight ranks on two hosts with their devices."""
    return lay_out(hosts=["host-a", "host-b"], each=4)


@pytest.fixture
def ranked(devices, found):
    """Return a function: the faults in order, by (kind, number of its entity, text)."""

    def answer(*rows, observed=EVERYTHING):
        of = {
            "job": lambda _: devices.job_entity,
            "rank": devices.rank_entity,
            "gpu": devices.gpu_entity,
        }
        made = [
            found(kind, of[kinds.catalogue()[kind].entities[0]](number), text=text)
            for kind, number, text in rows
        ]
        cause = engine.explain(made, devices, observed=observed)
        return [row.fault for row in cause.hypotheses]

    return answer


def crash(line):
    """Return what a crash of rank 2 shows, by the last line of its log."""
    return (
        ("job.crashed", 0, "8 of 8 ranks ended abnormally"),
        ("rank.first_exit", 2, "rank 2 ended first: exit code 1"),
        ("rank.root_log", 2, line),
    )


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        (MISMATCH, "software.collective_mismatch"),
        (ECC, "gpu.memory_uncorrectable"),
        (LAUNCH, "software.crash"),
        (INDEX, "software.crash"),
    ],
)
def test_the_last_line_of_a_log_names_why_a_rank_ended(ranked, line, fault):
    assert fault == ranked(*crash(line))[0]


def test_an_error_of_the_devices_runtime_makes_the_device_the_next_suspect(ranked):
    assert "gpu.lost" == ranked(*crash(LAUNCH))[1]
    assert "gpu.lost" not in ranked(*crash(INDEX))[:3]


def test_a_rank_that_ends_on_a_device_without_readings_ended_by_it(ranked):
    assert "gpu.lost" == ranked(*crash(LAUNCH), ("gpu.lost", 2, SILENT))[0]


def test_a_device_without_readings_whose_rank_waits_may_hang_in_its_firmware(ranked):
    waits = (("job.stalled", 0, "no step"), ("rank.behind_completed", 2, "rank 2 is behind"))
    assert {"gpu.lost", "gpu.firmware_hang"} == set(ranked(*waits, ("gpu.lost", 2, SILENT))[:2])
    assert "gpu.lost" == ranked(*waits, ("gpu.lost", 2, FELL))[0]
    assert "gpu.firmware_hang" not in ranked(*waits, ("gpu.lost", 2, FELL))[:2]


def test_all_devices_of_a_host_without_readings_are_its_drivers(ranked):
    lost = [("gpu.lost", number, SILENT) for number in (4, 5, 6, 7)]
    assert "host.driver_hang" == ranked(("job.stalled", 0, "no step"), *lost)[0]


@pytest.mark.parametrize(
    ("reported", "near"), [({"hw.frequency"}, True), (EVERYTHING, False)], ids=["none", "reasons"]
)
def test_low_clocks_may_be_for_want_of_power_where_no_reason_is_reported(ranked, reported, near):
    """As with Ascend's exporter, which has neither reasons nor limits."""
    faults = ranked(
        ("job.slow", 0, "steps are long"),
        ("rank.slow_compute", 2, "rank 2 is slow"),
        ("gpu.clock_low", 2, "SM clock 1095 MHz, peers 1755 MHz"),
        observed=frozenset({"training.compute.duration", "training.step.duration"} | reported),
    )
    assert "gpu.clock_locked" == faults[0]
    assert near == ("gpu.power_limited" == faults[1])
