"""Which rank ended first, by what its launcher and the ranks wrote into one log."""

import pytest
from tests.collector.artefacts.launches.launched_job import (
    ACTOR,
    CANCELLED,
    CRASH,
    GONE,
    OTHERS,
    PLACES,
    TRACEBACK,
    cause,
    steps,
)

BOX = """\
=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES
=   PID 404 RUNNING AT vm
=   EXIT CODE: 9
YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)
"""
SPAWNED = "".join(
    f"[2026-05-13 12:00:00,177] [INFO] [launch.py:245:main] process 2458{rank} spawned with "
    f"command: ['python', '-u', 'train.py', '--local_rank={rank}']\n"
    for rank in range(3)
)
KILLING = "".join(
    f"[2026-05-13 12:00:46,202] [INFO] [launch.py:253:sigkill_handler] Killing subprocess 2458{n}\n"
    for n in range(3)
)
DEEPSPEED = (
    KILLING + "[2026-05-13 12:00:46,215] [ERROR] [launch.py:259:sigkill_handler] "
    "['python', '-u', 'train.py', '--local_rank=2'] exits with return code = {}\n"
)
WATCHDOG = (
    "[rank{0}]:[E513 12:10:20.000000000 ProcessGroupNCCL.cpp:683] [Rank {0}] Watchdog caught "
    "collective operation timeout: WorkNCCL(SeqNum=41, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, "
    "Timeout(ms)=600000) ran for 600029 milliseconds before timing out.\n"
)
RANK_ENDED = {
    "srun, killed": steps(4) + "srun: error: n1: task 1: Killed\n" + OTHERS,
    "srun, failed": steps(4) + "srun: error: n1: task 1: Exited with exit code 3\n" + OTHERS,
    "srun, failed, a peer had to be killed": steps(4)
    + "srun: error: n1: task 1: Exited with exit code 1\n"
    + CANCELLED
    + "srun: error: n1: task 0: Terminated\nsrun: error: n2: tasks 2-3: Killed\n",
    "srun, a bad pointer, named last": steps(4)
    + "srun: error: n2: tasks 0,2-3: Exited with exit code 1\n"
    + "srun: error: n1: task 1: Segmentation fault (core dumped)\n",
    "srun, an exception without a prefix": steps(4)
    + TRACEBACK.format("")
    + "srun: error: n1: task 1: Exited with exit code 1\n"
    + OTHERS,
    "Open MPI, killed": steps(3)
    + GONE.format(0)
    + "mpirun noticed that process rank 1 with PID 0 on node n1 exited on signal 9 (Killed).\n",
    "Open MPI, failed": steps(3) + "  Process name: [[4595,1],1]\n  Exit code:    3\n",
    "MPICH, which names no rank": steps(3) + GONE.format(0) + GONE.format(2) + BOX,
    "DeepSpeed names the last, which lost its peer": SPAWNED
    + steps(3)
    + GONE.format(0)
    + GONE.format(2)
    + DEEPSPEED.format(-9),
    "DeepSpeed names the last, another raised": steps(3)
    + TRACEBACK.format("[rank1]: ")
    + DEEPSPEED.format(1),
    "spawn, killed": steps(3)
    + "torch.multiprocessing.spawn.ProcessExitedException: process 1 terminated with signal "
    "SIGKILL\n",
    "spawn, raised": steps(3)
    + "torch.multiprocessing.spawn.ProcessRaisedException: \n\n"
    + "-- Process 1 terminated with the following error:\n"
    + TRACEBACK.format(""),
    "Ray, an actor died": PLACES
    + steps(2)
    + ACTOR.format("The actor is dead because its worker process has died."),
    "Ray, killed, as Ray Train quotes it": PLACES
    + steps(2)
    + "ray.train.WorkerGroupError: Training failed due to worker errors:\n[Rank 1 Error Snippet]:\n"
    + ACTOR.format("The actor is dead because its worker process has died.")
    + 'Traceback (most recent call last):\n  File "/job/train.py", line 22, in <module>\n'
    + "    raise result.error\nray.train.WorkerGroupError: Training failed due to worker errors:\n",
    "srun, before any line with a time": "srun: error: n1: task 1: Killed\n" + OTHERS,
    "Ray, raised": steps(2)
    + "ray.train.WorkerGroupError: Training failed due to worker errors:\n[Rank 1 Error Snippet]:\n"
    + TRACEBACK.format(""),
    "Horovod": steps(3)
    + "Process 1 exit with status code 1.\nProcess 0 exit with status code 143.\n"
    + "Process 2 exit with status code 143.\n",
    "JAX": "step 0 8.0\nstep 1 8.0\n"
    "E0513 12:00:48.801268 18848 coordination_service.cc:1549] UNAVAILABLE: The following tasks "
    "are unhealthy (stopped sending heartbeats):\n1\nThe tasks have crashed.\n",
    "torchrun without its table": steps(3)
    + "E0513 12:00:41.124000 146 torch/distributed/elastic/multiprocessing/api.py:869] failed "
    + "(exitcode: -11) local_rank: 1 (pid: 14753) of binary: python3\n",
}


RECORDED = """\
[{0}]:
  time      : 2026-05-13_12:00:{1}
  host      : gpu-2
  rank      : {2} (local_rank: {2})
  exitcode  : {3} (pid: 1475{2})
  error_file: {4}
  traceback : n/a
"""


def test_a_killed_rank_goes_before_one_that_wrote_its_exception_a_second_earlier(first):
    """The earliest time is the root cause to torchrun 2.13; an exception's is exact."""
    table = (
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError:\nFailures:\n"
        + RECORDED.format(1, 42, 1, "-9", "<N/A>")
        + RECORDED.format(2, 42, 0, "-15", "<N/A>")
        + RECORDED.format(3, 41, 3, "-15", "/logs/attempt_0/3/error.json")
        + "-----\nRoot Cause (first observed failure):\n"
        + RECORDED.format(0, 41, 2, "-15", "/logs/attempt_0/2/error.json")
        + "=====\n"
    )
    fault, ranks, _ = cause(first(table))
    assert (CRASH, [1]) == (fault, ranks)


@pytest.mark.parametrize("text", RANK_ENDED.values(), ids=RANK_ENDED)
def test_a_launcher_says_which_rank_ended_first(first, text):
    document = first(text)
    fault, ranks, _ = cause(document)
    assert (CRASH, [1], "critical") == (fault, ranks, document["severity"])


def test_the_exception_that_a_launcher_quotes_is_the_root(first):
    lines = first(RANK_ENDED["spawn, raised"])["leftovers"]["lines"]
    assert ("root", "ValueError: bad sample in shard 17", 1) == (
        lines[0]["role"], lines[0]["text"], lines[0]["rank"],
    )  # fmt: skip


def test_a_guess_of_a_launcher_is_said_to_be_one(first):
    document = first(SPAWNED + steps(3) + DEEPSPEED.format(-9))
    assert "high" != document["root_cause"]["hypotheses"][0]["confidence"]
    assert any("started last" in text for text in document["leftovers"]["missing"])


def test_a_rank_that_was_waited_for_and_then_killed_hung(first):
    ends = (
        "srun: error: n1: tasks 0-1: Aborted (core dumped)\n"
        + CANCELLED.replace("12:00:20", "12:10:21")
        + "srun: error: n2: task 2: Aborted (core dumped)\nsrun: error: n2: task 3: Killed\n"
    )  # fmt: skip
    waited = "".join(WATCHDOG.format(rank) for rank in range(3))
    fault, ranks, _ = cause(first(steps(4) + waited + ends))
    assert ("software.stuck_process", [3]) == (fault, ranks)


def test_a_survivor_that_the_launcher_names_is_not_the_culprit(first):
    verdict = (
        "LAUNCH ERROR 2026-05-13 12:00:16,371 Container failed !!!\n"
        "Container rank 0 status failed cmd ['python', '-u', 'train.py'] code -6 log workerlog.0\n"
    )
    logs = steps(2).splitlines(keepends=True)
    fault, ranks, _ = cause(
        first(**{
            "launch.log": verdict,
            "workerlog.0": "".join(logs[::2]) + GONE.format(0).replace("[rank0]: ", ""),
            "workerlog.1": "".join(logs[1::2]),
        })
    )  # fmt: skip
    assert (CRASH, [1]) == (fault, ranks)


ENDED_BY_JAX = """\
F0513 12:05:48.801268   18848 client.h:80] Terminating process because the JAX distributed service \
detected fatal errors. This most likely indicates that another task died; see the other task logs \
for more details. absl::Status: INTERNAL: Shutdown barrier has failed.
*** Check failure stack trace: ***
"""
"""What every process of a job ends with after one has raised: by default five minutes later."""


def test_in_a_job_of_jax_the_process_with_an_exception_of_its_own_ended_first(first):
    said = {f"rank{rank}.log": "step 0 8.0\nstep 1 8.0\n" + ENDED_BY_JAX for rank in (0, 2)}
    said["rank1.log"] = "step 0 8.0\nstep 1 8.0\n" + TRACEBACK.format("") + ENDED_BY_JAX
    fault, ranks, _ = cause(first(**said))
    assert (CRASH, [1]) == (fault, ranks)


def test_of_one_log_of_jax_the_exception_is_the_root_and_not_the_stack_of_its_end(first):
    document = first("step 0 8.0\nstep 1 8.0\n" + TRACEBACK.format("") + ENDED_BY_JAX)
    assert CRASH == cause(document)[0]
    assert ["python.exception", "jax.peer_lost"] == [
        line["signature"] for line in document["leftovers"]["lines"]
    ]


def test_a_healthy_job_has_no_incident(first):
    assert first(steps(4) + "[rank0]: Training finished\n") is None
