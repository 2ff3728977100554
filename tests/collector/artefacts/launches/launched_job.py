"""What launchers write into the log of a job that died, shortened, and the first cause of it.

After runs of Slurm 22.05.8, Open MPI 4.1.4, MPICH 4.0.2, DeepSpeed 0.19.8, PaddlePaddle 3.3.1, Ray
2.60, JAX 0.10.2 and torch 2.13 with a rank killed, failing, raising or asked to end.
"""

CRASH = "software.crash"
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
CANCELLED = """\
srun: launch/slurm: _step_signal: Terminating StepId=7.0
slurmstepd-n1: error: *** STEP 7.0 ON n1 CANCELLED AT 2026-05-13T12:00:20 ***
"""
OTHERS = CANCELLED + "srun: error: n1: task 0: Terminated\nsrun: error: n2: tasks 2-3: Terminated\n"
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
