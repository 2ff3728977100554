"""What launchers and schedulers say of hosts: kills for memory, nodes that failed."""

import pytest
from tests.collector.artefacts.launches.launched_job import ACTOR, PLACES, cause, steps

HOST_OOM, LOST = "memory.host_oom", "host.lost"
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
    "Ray's exception, below which its memory is told": (
        steps(2) + "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low "
        "on memory.\nMemory on the node (IP: 10.0.0.5, ID: ab) where the task (actor ID: 12) was "
        "running was 30.64GB / 32.00GB\n",
        "10.0.0.5",
    ),
    "a raylet, of whose host Ray's prefix names two ranks": (
        "".join(
            f"(RayTrainWorker pid={70 + rank}, ip=10.0.0.{5 + rank // 2}) {line}\n"
            for line in steps(4).splitlines()
            for rank in [int(line[5])]
        )
        + "(raylet, ip=10.0.0.6) [2026-05-13 12:00:20,849 E 97 97] (raylet) node_manager.cc:3069: "
        "1 Workers (tasks / actors) killed due to memory pressure (OOM), 0 Workers crashed due to "
        "other reasons at node (ID: b287, IP: 10.0.0.6) over the last time period.\n"
        "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.\n",
        "10.0.0.6",
    ),
    "slurmd, in its older words": (
        steps(2) + "slurmd[n9]: error: Job 77 exceeded 4194304 KB memory limit, being killed\n",
        "n9",
    ),
    "slurmstepd, which names the host as it cancels the job": (
        steps(1) + "slurmstepd: error: Exceeded job memory limit\n"
        "slurmstepd: error: *** JOB 77 ON n9 CANCELLED AT 2026-05-13T12:00:20 ***\n",
        "n9",
    ),
    "a job that somebody cancels long after it": (
        steps(1)
        + "slurmstepd: error: Exceeded job memory limit\n"
        + "another word\n" * 5
        + "slurmstepd: error: *** JOB 77 ON n9 CANCELLED AT 2026-05-13T12:00:20 ***\n",
        "unnamed-host",
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
    "Ray's monitor, of a client": (
        (
            "The node with client ID 1a2b has been marked dead because the monitor has missed "
            "too many heartbeats from it.\nray.worker.RayGetError: Could not get objectid "
            "ObjectID(01).\n"
        ),
        "unnamed-host",
    ),
    "torchrun of another node, whose agent it hears no more": (
        (
            "As part of the sync operation the node(s) 'n7_812_0' have been removed from the "
            "rendezvous 'run-1' since they had no heartbeat.\n"
        ),
        "n7",
    ),
    "Moab, which PBS says to have deleted the job": (
        (
            "PBS Job Id: 812.head\nExec host:  n7/3\njob deleted\nJob deleted at request of "
            "root@head\njob requeued (node failure)\n"
        ),
        "n7",
    ),
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
