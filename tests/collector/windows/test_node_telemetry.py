"""Whose rank the readings of a node, a process and a device are."""

import numpy as np
import pytest

from rankscope.collector.windows import queries
from rankscope.detectors.window import no_processes

AGE = "training.progress.age"
LOSS = "training.loss"
WAIT = "process.cpu.wait"


def test_node_telemetry_joins_a_rank_by_host_and_pid(two_by_two):
    two_by_two.metrics((WAIT, 5.0, 5, {"pid": 102}), host="host-b", job=None)
    two_by_two.metrics((WAIT, 9.0, 5, {"pid": 102}), host="host-a", job=None)
    value, _ = two_by_two.window().of_ranks(WAIT).latest()
    np.testing.assert_array_equal([np.nan, np.nan, 5.0, np.nan], value)


def test_node_telemetry_joins_a_rank_by_host_and_device(two_by_two):
    two_by_two.metrics(
        ("hw.frequency", 1.7e9, 5, {"hw.id": "GPU-3", "gpu": 1, "domain": "sm"}),
        host="host-b", job=None,
    )  # fmt: skip
    value, _ = two_by_two.window().of_ranks("hw.frequency|sm").latest()
    np.testing.assert_array_equal([np.nan, np.nan, np.nan, 1.7e9], value)


def test_a_pid_or_device_of_nobody_of_the_job_is_not_its_hosts_reading(two_by_two):
    two_by_two.metrics(
        (WAIT, 5.0, 5, {"pid": 4711}), ("hw.temperature", 90.0, 5, {"hw.id": "GPU-9"}), job=None
    )
    window = two_by_two.window()
    assert not {WAIT, "hw.temperature"} & (set(window.rank_readings) | set(window.host_readings))


def test_a_rank_attribute_on_node_telemetry_means_nothing_without_its_job(two_by_two):
    two_by_two.metrics((WAIT, 5.0, 5, {"pid": 4711, "rank": 0}), job=None)
    assert WAIT not in two_by_two.window().rank_readings


def test_readings_of_a_host_go_to_every_job_on_it(two_by_two):
    two_by_two.info(0, job="run-2", host="host-b")
    two_by_two.metrics(("system.cpu.utilization", 0.7, 5, {}), host="host-b", job=None)
    first, _ = two_by_two.window("run-1").of_hosts("system.cpu.utilization").latest()
    second, _ = two_by_two.window("run-2").of_hosts("system.cpu.utilization").latest()
    np.testing.assert_array_equal([np.nan, 0.7], first)
    assert [0.7] == second.tolist()


def test_two_jobs_on_one_node_keep_their_own(valid):
    for job, loss in (("run-1", 1.0), ("run-2", 2.0)):
        valid.info(0, job=job, pid=int(loss))
        valid.step(0, 1, 1.0, job=job, training__loss=loss)
        valid.metrics((AGE, loss, 1, {"rank": 0}), job=job)
    for job, loss in (("run-1", 1.0), ("run-2", 2.0)):
        window = valid.window(job)
        assert loss == window.steps.plane(LOSS)[0, 0] == window.of_ranks(AGE).value[0, 0]
    assert ["run-1", "run-2"] == [summary.job for summary in queries.jobs(valid.windows)]


PRIVATE = "process.memory.private"


def test_each_worker_of_a_rank_has_a_row_of_its_own(two_by_two):
    for pid, size in ((501, 1e9), (502, 2e9)):
        pairs = {"rank": 1, "pid": pid, "role": "dataloader"}
        two_by_two.metrics((PRIVATE, size, 5, pairs))
    two_by_two.metrics((PRIVATE, 9e9, 5, {"rank": 1, "pid": 101, "role": "trainer"}))
    window = two_by_two.window()
    found = window.processes
    assert [(0, 501, 1, None), (0, 502, 1, None)] == list(
        zip(found.host, found.pid, found.row, found.hw_ids, strict=True)
    )
    assert [1e9, 2e9] == found.of(f"{PRIVATE}|dataloader").latest()[0].tolist()
    assert 9e9 == window.of_ranks(PRIVATE).latest()[0][1]
    assert 1e9 == window.of_ranks(f"{PRIVATE}|dataloader").latest()[0][1]


def test_a_rank_without_workers_has_no_processes(two_by_two):
    assert (0, 0) == (len(two_by_two.window().processes.pid), len(no_processes().pid))
    assert 0 == len(two_by_two.window().processes.of(PRIVATE).at)


@pytest.mark.parametrize("job", ["run-1", None])
def test_every_context_on_a_device_has_a_row_whosever_it_is(two_by_two, job):
    """Rank 1 holds memory on its own device and on that of rank 0, and a stranger too."""
    memory = "hw.gpu.process.memory"
    for device, pid, size in (("GPU-1", 101, 8e9), ("GPU-0", 101, 5e8), ("GPU-0", 999, 3e9)):
        two_by_two.metrics((memory, size, 5, {"hw.id": device, "gpu": 0, "pid": pid}), job=job)
    window = two_by_two.window()
    found = window.processes
    held = found.of(memory).latest()[0]
    rows = set(zip(found.pid, found.row, found.hw_ids, held, strict=True))
    assert {(101, 1, "GPU-1", 8e9), (101, 1, "GPU-0", 5e8), (999, -1, "GPU-0", 3e9)} == rows
    assert 8e9 == window.of_ranks(memory).latest()[0][1]
