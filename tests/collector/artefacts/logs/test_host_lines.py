"""Lines about what all processes of a host share accuse the host, also where it has no name."""

import pytest

STEP = "[2026-05-13 12:{:02}:{:02}] iteration {}/ 500 | elapsed time per iteration (ms): 10000.0 | lm loss: {:.4f} |\n"  # noqa: E501
STEPS = "".join(
    STEP.format(at // 60, at % 60, at // 10, 2.0 - at / 1000) for at in range(0, 300, 10)
)
RAISED = 'Traceback (most recent call last):\n  File "train.py", line 7, in <module>\n    {}\n{}\n'
KILLED = "RuntimeError: DataLoader worker (pid 612) is killed by signal: {}. "
BUS = "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm).\n"  # noqa: E501
NO_SPACE = "OSError: [Errno 28] No space left on device"
KERNEL = "[Wed May 13 12:05:02 2026] Memory cgroup out of memory: Killed process 612 (python) total-vm:99kB, anon-rss:98kB, file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:1kB oom_score_adj:0\n"  # noqa: E501
CANCELLED = "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-05-13T12:05:00 DUE TO {} ***\n"


@pytest.fixture
def cause(explain, tmp_path):
    """Return a function that returns fault, entity and severity of a job's log and other files."""

    def run(log, **others):
        for name, text in {"train_log": log, **others}.items():
            (tmp_path / f"{name.replace('_', '.')}").write_text(text)
        document = explain(tmp_path).document()
        first = document["root_cause"]["hypotheses"][0]
        return first["fault"], first["entity"]["id"], document["severity"]

    return run


SHARED = {
    "a worker that a bus error ended": BUS + RAISED.format("next(it)", KILLED.format("Bus error")),
    "a worker of which only the bus error tells": BUS,
    "torch": RAISED.format("share()", "RuntimeError: unable to write to file </torch_7_1>: No space left on device (28)"),  # noqa: E501
    "NCCL": "[0] include/shm.h:28 NCCL WARN Call to posix_fallocate failed : No space left on device\n",  # noqa: E501
    "a semaphore": RAISED.format("self._semlock = _multiprocessing.SemLock(", NO_SPACE),
}  # fmt: skip


@pytest.mark.parametrize("text", SHARED.values(), ids=SHARED)
def test_shared_memory_that_is_full_is_the_host_s_and_no_full_disk(cause, text):
    assert ("memory.shm_exhausted", "unnamed-host", "critical") == cause(STEPS + text)


def test_a_write_that_finds_no_room_elsewhere_is_a_full_disk(cause):
    text = RAISED.format("torch.save(state, path)", NO_SPACE)
    assert ("host.disk_full", "unnamed-host", "critical") == cause(STEPS + text)


def test_the_kernel_s_kill_of_a_worker_is_for_memory_whose_host_no_line_names(cause):
    text = RAISED.format("next(it)", KILLED.format("Killed"))
    assert ("memory.host_oom", "unnamed-host", "critical") == cause(STEPS + text, dmesg_txt=KERNEL)


def test_a_worker_that_was_killed_while_its_trainer_lived_was_so_for_memory(cause):
    text = RAISED.format("next(it)", KILLED.format("Killed"))
    assert ("memory.host_oom", "unnamed-host", "critical") == cause(STEPS + text)


SPARK = "26/05/13 12:05:{:02} WARN TaskSetManager: Lost task 3.{} in stage 7.0 (TID 7{}, n4): "
NO_MEMORY = "java.lang.OutOfMemoryError: {}\n\tat org.example.Matrix.<init>(Matrix.java:126)\n"
REFUSED = {
    "memory beside the heap": NO_MEMORY.format(
        "Cannot allocate new DoublePointer(4096): totalBytes = 3G, physicalBytes = 11G"
    ),
    "the heap": NO_MEMORY.format("Java heap space"),
    "tasks of Spark that were tried again": "".join(
        SPARK.format(number, number, number) + NO_MEMORY.format("GC overhead limit exceeded")
        for number in range(4)
    )
    + 'Exception in thread "main" org.apache.spark.SparkException: Job aborted due to stage '
    "failure: Lost task 3.3 in stage 7.0: " + NO_MEMORY.format("GC overhead limit exceeded"),
    "MXNet's": "mxnet.base.MXNetError: [12:00:01] src/storage/./cpu_device_storage.h:75: Failed to "
    "allocate CPU Memory\n",
    "PyTorch's": "RuntimeError: [enforce fail at alloc_cpu.cpp:66] . DefaultCPUAllocator: can't "
    "allocate memory: you tried to allocate 123 bytes. Error code 12 (Cannot allocate memory)\n",
    "the host's": "# There is insufficient memory for the Java Runtime Environment to continue.\n",
}


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED)
def test_a_process_that_ended_for_want_of_memory_by_its_own_word_accuses_the_host(cause, text):
    assert ("memory.host_oom", "unnamed-host", "critical") == cause(STEPS + text)
    assert ("memory.host_oom", "unnamed-host", "critical") == cause(text)


def test_a_task_that_was_lost_for_memory_and_tried_again_is_no_fault(explain, tmp_path):
    line = SPARK.format(2, 0, 7) + NO_MEMORY.format("Java heap space")
    (tmp_path / "train.log").write_text(STEPS + line + STEPS.replace(" 12:", " 13:"))
    assert explain(tmp_path).document() is None


def test_a_worker_that_was_asked_to_end_with_its_job_is_no_fault(cause):
    text = CANCELLED.format("TIME LIMIT") + KILLED.format("Terminated")
    assert ("host.evicted", "info") == cause(STEPS + text)[::2]


def test_a_kill_that_the_job_s_steps_went_on_after_is_somebody_else_s(cause):
    early = KERNEL.replace("12:05:02", "12:01:02")
    assert "critical" != cause(STEPS, dmesg_txt=early)[2]


@pytest.mark.parametrize("host", ["gpu31-07", "cuda-4", "n12"])
def test_a_task_that_slurm_calls_out_of_memory_is_its_host_s_whatever_that_is_called(cause, host):
    text = f"srun: error: {host}: task 0: Out Of Memory\n"
    assert ("memory.host_oom", host, "critical") == cause(STEPS + text)


def test_codes_of_ranks_after_a_requeue_are_its_consequence(cause):
    text = CANCELLED.format("JOB REQUEUE") + "srun: error: n1: tasks 2-3: Exited with exit code 1\n"
    assert ("unknown", "info") == cause(STEPS + text)[::2]


def test_an_evicted_pod_is_found_on_its_node(cause):
    events = (
        "9m  Normal   Scheduled  pod/t-0  Successfully assigned a/t-0 to gpu-17\n"
        "4m  Warning  Evicted    pod/t-0  The node was low on resource: memory.\n"
    )
    assert ("host.evicted", "gpu-17", "critical") == cause(STEPS, events_txt=events)


def test_a_spot_machine_that_the_cloud_takes_back_is_named(cause):
    text = (
        "2m  Warning  SpotInterrupted  node/ip-10-0-1-7  Spot interruption warning was triggered\n"
    )
    assert ("host.evicted", "ip-10-0-1-7", "critical") == cause(STEPS, events_txt=text)


FOUND_NO_RDMA = (
    "{0}:41220:42301 [0] NCCL INFO NET/IB : No device found.\n"
    "{0}:41220:42301 [0] NCCL INFO Using network Socket\n"
)


def test_a_host_on_which_nccl_found_no_rdma_device_is_news(cause):
    fault, host, severity = cause(FOUND_NO_RDMA.format("n21") + FOUND_NO_RDMA.format("n22"))
    assert ("network.transport_fallback", "info") == (fault, severity)
    assert host in ("n21", "n22")


def test_beside_a_fault_it_is_not_the_cause(cause):
    text = FOUND_NO_RDMA.format("n21") + STEPS + RAISED.format("f()", "ValueError: no such name")
    assert "software.crash" == cause(text)[0]


def test_a_node_that_no_line_names_is_the_only_one_that_is_known(cause):
    events = "Warning  NodeNotReady  3m12s  node-controller  Node is not ready\n"
    assert ("host.lost", "unnamed-host") == cause(STEPS, events_txt=events)[:2]


FULL = "include/shm.h:48 NCCL WARN Error while creating shared memory segment nccl-shm-recv-5e-0-1-0 (size 9637888)\n"  # noqa: E501
FULL_2_29 = "misc/shmutils.cc:88 NCCL WARN Error: failed to extend /dev/shm/nccl-x1 to 9637892 bytes, error: No space left on device (28)\n"  # noqa: E501
OF_NCCL = {
    "the line's own": f"4f1d5a6c7b8e:612:701 [0] {FULL}",
    "behind a time": f"[2026-05-13 12:05:00] 4f1d5a6c7b8e:612:701 [1] {FULL_2_29}",
    "of a rank": f"[rank1]: 4f1d5a6c7b8e:613:702 [1] {FULL}",
    "of the lines above": "4f1d5a6c7b8e:612:612 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.7<0>\n"
    + BUS,
}


@pytest.mark.parametrize("text", OF_NCCL.values(), ids=OF_NCCL)
def test_nccl_writes_before_its_lines_which_host_has_no_shared_memory_left(cause, text):
    assert ("memory.shm_exhausted", "4f1d5a6c7b8e", "critical") == cause(text)


def test_of_several_hosts_where_nccl_ran_none_is_accused_of_a_line_that_names_none(cause):
    started = "{}:612:612 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.7<0>\n"
    text = started.format("node-1") + started.format("node-2") + BUS
    assert ("memory.shm_exhausted", "unnamed-host", "critical") == cause(text)
