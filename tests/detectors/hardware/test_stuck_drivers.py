"""Hosts whose processes wait inside the kernel and do not come back."""

import pytest

from rankscope.detectors.hardware.stuck_drivers import StuckDrivers
from rankscope.detectors.sketch import sketch


@pytest.fixture
def found(steady):
    """Return a function that returns (host, score) for events of a job on two hosts."""

    def evaluate(*events):
        window = sketch(steady(), events=events)
        return [(f.entity.id, f.score) for f in StuckDrivers().evaluate(window)]

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
