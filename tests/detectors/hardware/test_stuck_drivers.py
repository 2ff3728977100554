"""Hosts whose processes wait inside the kernel and do not come back."""

import numpy as np
import pytest

from rankscope.detectors.hardware.stuck_drivers import StuckDriversDetector
from rankscope.detectors.sketch import START, sketch


@pytest.fixture
def found(steady):
    """Return a function that returns (host, score) for events of a job on two hosts."""

    def evaluate(*events):
        window = sketch(steady(), events=events)
        return [(f.entity.id, f.score) for f in StuckDriversDetector().evaluate(window)]

    return evaluate


def test_a_task_that_the_kernel_calls_hung_names_its_host(found, event):
    line = event("log.fault", 40, host="host-1", job=None, signature="task.hung", text="blocked")
    assert [("host-1", 2.0)] == found(line)


def test_a_rank_among_the_hung_tasks_counts_more(found, event):
    line = event("log.fault", 40, host="host-1", signature="task.hung", pid=1002)
    assert [("host-1", 3.0)] == found(line)


def test_a_call_about_one_device_is_that_devices(found, event):
    hung = [event("gpu.fault", 40, host="host-1", code="nvml.hung", rank=rank,
                  **{"hw.id": f"GPU-{rank}"}) for rank in (2, 3)]  # fmt: skip
    assert [] == found(hung[0])
    assert [("host-1", 3.0)] == found(*hung)


def test_other_lines_name_nobody(found, event):
    assert [] == found(event("log.fault", 40, host="host-1", signature="nic.link_down"))


def test_the_kernel_s_own_line_counts_whatever_its_signature_is_called(found, event):
    text = "INFO: task python:6808 blocked for more than 120 seconds."
    assert [("host-1", 2.0)] == found(event("log.fault", 40, host="host-1", text=text))


@pytest.mark.parametrize(
    ("blocked", "silent", "steps", "named"),
    [
        pytest.param(6.0, (2, 3), 40, ["host-1"], id="silent devices, processes in state D"),
        pytest.param(2.0, (2, 3), 40, ["host-1"], id="two processes, once all of them wait"),
        pytest.param(1.0, (2, 3), 40, [], id="one process that waits is anybody's"),
        pytest.param(0.0, (2, 3), 40, [], id="nobody waits in state D: the agent cannot read"),
        pytest.param(6.0, (3,), 40, [], id="one device of several is that device's"),
        pytest.param(6.0, (2, 3), 90, [], id="steps go on, not for a minute yet"),
        pytest.param(6.0, (0, 1, 2, 3), 40, [], id="no device is read anywhere"),
    ],
)
def test_silent_devices_and_blocked_processes_are_a_driver_that_hangs(
    steady, levels, blocked, silent, steps, named
):
    power = levels(4, 500, seconds=100)
    for row in silent:
        power.at[row, power.at[0] >= START + 45] = np.nan
    window = sketch(
        steady(steps=steps),
        now=START + 100,
        rank_readings={"hw.power": power},
        host_readings={
            "system.processes.blocked": levels(2, 0.0, blocked, 1, since=45, seconds=100)
        },
    )
    assert named == [f.entity.id for f in StuckDriversDetector().evaluate(window)]


@pytest.mark.parametrize(
    ("until", "answers", "steps", "named"),
    [
        pytest.param(110, (), 110, ["host-1"], id="the job steps for a minute without an answer"),
        pytest.param(90, (), 90, [], id="not yet a minute"),
        pytest.param(110, (), 45, [], id="no step ends: that is the symptom"),
        pytest.param(110, (3,), 110, [], id="one of its devices gives readings again"),
    ],
)
def test_calls_that_never_return_are_a_symptom_of_a_job_that_goes_on(
    steady, levels, event, until, answers, steps, named
):
    power = levels(4, 500, seconds=until)
    for row in {2, 3} - set(answers):
        power.at[row, power.at[0] > START + 40] = np.nan
    hung = [event("gpu.fault", 40, host="host-1", code="nvml.hung", rank=rank,
                  **{"hw.id": f"GPU-{rank}"}) for rank in (2, 3)]  # fmt: skip
    window = sketch(
        steady(steps=steps), now=START + until, events=hung, rank_readings={"hw.power": power}
    )
    found = StuckDriversDetector().evaluate(window)
    assert named == [f.entity.id for f in found if f.kind == "host.driver_unresponsive"]
    assert ["host-1"] == [f.entity.id for f in found if f.kind == "host.driver_stuck"]


@pytest.mark.parametrize(
    ("until", "blocked", "silent", "held_until", "named"),
    [
        pytest.param(130, 1.0, (2, 3), 130, ["host-1"], id="a minute, a process in state D"),
        pytest.param(95, 1.5, (2, 3), 95, [], id="not yet a minute"),
        pytest.param(130, 0.5, (2, 3), 130, [], id="no process waits all the while"),
        pytest.param(130, 1.5, (3,), 130, [], id="one device of two is that device's"),
        pytest.param(130, 1.5, (2, 3), 60, [], id="the host does not report either"),
    ],
)
def test_silent_devices_of_a_job_that_goes_on_are_worth_knowing(
    steady, levels, until, blocked, silent, held_until, named
):
    """An exporter reads the devices: nobody reports that its calls do not return."""
    power = levels(4, 500, seconds=until)
    for row in silent:
        power.at[row, power.at[0] > START + 40] = np.nan
    held = levels(2, 0.0, blocked, 1, since=40, seconds=until)
    held.at[1, held.at[0] > START + held_until] = np.nan
    window = sketch(
        steady(steps=until),
        now=START + until,
        rank_readings={"hw.power": power},
        host_readings={"system.processes.blocked": held},
    )
    found = StuckDriversDetector().evaluate(window)
    for kind in ("host.driver_stuck", "host.driver_unresponsive"):
        assert named == [f.entity.id for f in found if f.kind == kind]
    assert all(finding.score < 2 for finding in found)
