"""Jobs that died under a launcher or a scheduler, by what it and the ranks wrote into one log.

After runs of Slurm 22.05.8, Open MPI 4.1.4, MPICH 4.0.2, DeepSpeed 0.19.8, PaddlePaddle 3.3.1, Ray
2.60, JAX 0.10.2 and torch 2.13 with a rank killed, failing, raising or asked to end, shortened.
"""

import pytest

CRASH, HOST_OOM, LOST = "software.crash", "memory.host_oom", "host.lost"
TRACEBACK = """\
{0}Traceback (most recent call last):
{0}  File "/job/train.py", line 15, in loop
{0}    raise ValueError("bad sample in shard 17")
{0}ValueError: bad sample in shard 17
"""
GONE = (
    "[rank{}]: RuntimeError: [/gloo/transport/tcp/pair.cc:537] Read error [10.0.0.1]:29419: "
    "Connection reset by peer\n"
)
BOX = """\
=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES
=   PID 404 RUNNING AT vm
=   EXIT CODE: 9
YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)
"""
CANCELLED = """\
srun: launch/slurm: _step_signal: Terminating StepId=7.0
slurmstepd-n1: error: *** STEP 7.0 ON n1 CANCELLED AT 2026-05-13T12:00:20 ***
"""
OTHERS = CANCELLED + "srun: error: n1: task 0: Terminated\nsrun: error: n2: tasks 2-3: Terminated\n"
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
PLACES = """\
(TrainController pid=1) - (ip=10.0.0.5, pid=24834) world_rank=0, local_rank=0, node_rank=0
(TrainController pid=1) - (ip=10.0.0.6, pid=24857) world_rank=1, local_rank=0, node_rank=1
"""
ACTOR = """\
ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.
	class_name: RayTrainWorker
	pid: 24857
	namespace: eb0393cd
	ip: 10.0.0.6
{}
"""
WATCHDOG = (
    "[rank{0}]:[E513 12:10:20.000000000 ProcessGroupNCCL.cpp:683] [Rank {0}] Watchdog caught "
    "collective operation timeout: WorkNCCL(SeqNum=41, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, "
    "Timeout(ms)=600000) ran for 600029 milliseconds before timing out.\n"
)


def steps(ranks):
    """Return steps of ranks, two seconds each, as torchtitan's lines with torch's prefix."""
    return "".join(
        f"[rank{rank}]:2026-05-13 12:00:{2 * step:02},000 - root - INFO - step: {step}  loss:  2.1"
        "  grad_norm:  0.1000  memory:  0.50GiB(1.00%)  tps: 1,000  tflops: 1.00  mfu: 0.50%\n"
        for step in range(1, 8)
        for rank in range(ranks)
    )


def cause(document):
    """Return the first hypothesis: its fault, ranks and host."""
    found = document["root_cause"]["hypotheses"][0]
    return found["fault"], found["entity"]["ranks"], found["entity"]["host"]


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


def test_the_host_of_a_task_is_that_of_its_rank(first):
    assert (CRASH, [1], "n1") == cause(first(RANK_ENDED["srun, killed"]))


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


MEMORY = {
    "srun names the task": (
        steps(4)
        + "slurmstepd-n7: error: Detected 2 oom_kill events in StepId=77.0. Some of the step tasks "
        "have been OOM Killed.\nsrun: error: n7: task 2: Out Of Memory\n"
        "srun: error: n7: tasks 0-1,3: Exited with exit code 1\n",
        "n7",
    ),
    "Ray's monitor": (
        steps(2)
        + "(raylet) Memory on the node (IP: 10.0.0.5, ID: ab) where the task (actor ID: 12) was "
        "running was 30.64GB / 32.00GB\nray.exceptions.OutOfMemoryError: Task was killed due to "
        "the node running low on memory.\n",
        "10.0.0.5",
    ),
    "LSF, which names no host": (
        steps(2) + "TERM_MEMLIMIT: job killed after reaching LSF memory usage limit.\n",
        "unnamed-host",
    ),
    "a pod": (
        "" + "Name:             llama-worker-3\nNode:             gpu-17/10.0.0.17\nContainers:\n"
        "  pytorch:\n    State:          Terminated\n      Reason:       OOMKilled\n"
        "      Exit Code:    137\n      Finished:     Wed, 13 May 2026 12:06:00 +0000\n"
        "    Ready:          False\nEvents:           <none>\n",
        "gpu-17",
    ),
}


@pytest.mark.parametrize(("text", "host"), MEMORY.values(), ids=MEMORY)
def test_a_kill_for_memory_is_the_host_s(first, text, host):
    fault, _, where = cause(first(text))
    assert (HOST_OOM, host) == (fault, where)


FAILED_NODES = {
    "srun ends with 0": (steps(2) + "srun: error: Node failure on n1\n", "n1"),
    "slurmstepd": (
        steps(4)
        + "slurmstepd: error: *** STEP 12.0 ON n1 CANCELLED AT 2026-05-13T12:00:20 DUE TO NODE "
        "FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***\nsrun: error: n1: tasks 0-1: Terminated\n",
        "n1",
    ),
    "Open MPI": (
        steps(2) + "ORTE has lost communication with a remote daemon.\n\n"
        "  HNP daemon   : [[64112,0],0] on node first\n"
        "  Remote daemon: [[64112,0],1] on node gpu-12\n",
        "gpu-12",
    ),
    "Ray": (
        PLACES + steps(2) + ACTOR.format("The actor died because its node has died. Node Id: a"),
        "10.0.0.6",
    ),
}


@pytest.mark.parametrize(("text", "host"), FAILED_NODES.values(), ids=FAILED_NODES)
def test_a_node_that_failed_by_the_scheduler_s_word_is_lost(first, text, host):
    fault, _, where = cause(first(text))
    assert (LOST, host) == (fault, where)


WISHES = {
    "scancel": "srun: got SIGCONT\n"
    "slurmstepd-n1: error: *** STEP 13.0 ON n1 CANCELLED AT 2026-05-13T12:00:20 ***\n"
    "slurmstepd-n1: error: *** JOB 13 ON n1 CANCELLED AT 2026-05-13T12:00:20 ***\n"
    "srun: forcing job termination\nsrun: error: n1: tasks 0-1: Terminated\n"
    "srun: error: n2: tasks 2-3: Terminated\n",
    "time limit": "slurmstepd: error: *** JOB 13 ON n1 CANCELLED AT 2026-05-13T12:00:20 DUE TO "
    "TIME LIMIT ***\nsrun: error: n1: tasks 0-1: Terminated\nsrun: error: n2: tasks 2-3: Killed\n",
    "preemption": "slurmstepd: error: *** JOB 13 ON n1 CANCELLED AT 2026-05-13T12:00:20 DUE TO "
    "PREEMPTION ***\nsrun: error: n1: tasks 0-3: Terminated\n",
    "torchrun was asked": "W0513 12:00:44.649000 248 torch/distributed/elastic/multiprocessing/"
    "api.py:1028] Sending process 24847 closing signal SIGTERM\n"
    "torch.distributed.elastic.multiprocessing.api.SignalException: Process 248 got signal: 15\n",
    "PBS": "=>> PBS: job killed: walltime 3610 exceeded limit 3600\n",
}


@pytest.mark.parametrize("text", WISHES.values(), ids=WISHES)
def test_a_job_that_somebody_ended_has_no_fault_and_the_line_is_shown(first, text):
    document = first(steps(4) + text)
    assert ("unknown", "info") == (cause(document)[0], document["severity"])
    assert "root" == document["leftovers"]["lines"][0]["role"]


def test_a_pod_that_was_evicted_is_its_node_s(first):
    document = first(
        "Name:             llama-worker-3\nNode:             gpu-17/10.0.0.17\nStatus: Failed\n"
        "Reason:           Evicted\nMessage:          The node was low on resource: memory.\n"
        "Containers:\n  pytorch:\n    State:          Terminated\n      Reason:       Error\n"
        "      Exit Code:    137\n      Finished:     Wed, 13 May 2026 12:06:00 +0000\n"
        "Events:           <none>\n"
    )
    fault, _, where = cause(document)
    assert ("host.evicted", "gpu-17") == (fault, where)


TABLE = """\
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
============================================================
train.py FAILED
------------------------------------------------------------
Failures:
  <NO_OTHER_FAILURES>
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2026-05-13_12:00:41
  host      : gpu-2
  rank      : {0} (local_rank: 3)
  exitcode  : {1} (pid: 14753)
  error_file: <N/A>
  traceback : n/a
============================================================
"""


def test_one_rank_that_sigkill_ended_while_its_launcher_lived_is_critical(first):
    asked = (
        "W0513 12:00:40.981000 146 torch/distributed/elastic/multiprocessing/api.py:897] Sending "
        "process 14751 closing signal SIGTERM\n"
    )
    document = first(steps(1) + asked + TABLE.format(0, -9))
    assert ((CRASH, [0], "gpu-2"), "critical") == (cause(document), document["severity"])


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("OSError: [Errno 28] No space left on device", "host.disk_full"),
        ("torch.AcceleratorError: CUDA error: uncorrectable ECC error encountered",
         "gpu.memory_uncorrectable"),
    ],
)  # fmt: skip
def test_a_fault_of_the_host_or_device_is_at_the_host_of_torchrun_s_table(first, line, fault):
    document = first(steps(1) + f"[rank3]: {line}\n" + TABLE.format(3, 1))
    assert (fault, [3], "gpu-2") == cause(document)


def test_a_task_that_starts_a_node_is_no_rank(first):
    ends = "srun: error: gpu-2: task 1: Exited with exit code 1\n"
    document = first(steps(1) + TABLE.format(11, 1) + ends)
    assert (CRASH, [11], "gpu-2") == cause(document)


def test_a_healthy_job_has_no_incident(first):
    assert first(steps(4) + "[rank0]: Training finished\n") is None


def test_an_actor_of_ray_that_is_gone_is_a_crash_and_its_address_is_quoted(first):
    """Nothing says which rank it was: the address is all that is known of it."""
    document = first(ACTOR.format("The actor is dead because its worker process has died."))
    assert CRASH == document["root_cause"]["hypotheses"][0]["fault"]
    assert "10.0.0.6" in document["summary"]


def test_a_shell_s_prompt_behind_its_word_names_the_host(first):
    document = first(steps(1) + "Killed\n(venv) ada@gpu-7:~/runs $ \n")
    assert (CRASH, [0], "gpu-7") == cause(document)


def test_a_prompt_before_the_job_is_that_of_whatever_host_it_was_sent_from(first):
    document = first("[ada@login1 ~]$ srun train.sh\n" + steps(1) + "Killed\n")
    assert (CRASH, [0], None) == cause(document)


@pytest.mark.parametrize(
    "end", ["died with <Signals.SIGKILL: 9>.", "returned non-zero exit status 1."]
)
def test_what_python_says_of_a_process_that_it_started_counts_where_nothing_else_does(first, end):
    raised = "subprocess.CalledProcessError: Command '['python', 'train.py']' " + end + "\n"
    above = 'Traceback (most recent call last):\n  File "/opt/launch.py", line 8, in <module>\n'
    assert CRASH == cause(first(above + raised))[0]
    document = first(TRACEBACK.format("") + above + raised)
    assert "ValueError: bad sample in shard 17" == document["leftovers"]["lines"][0]["text"]
