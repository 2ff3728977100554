"""Ends that somebody wanted are no faults."""

import pytest
from tests.collector.artefacts.launches.launched_job import cause, steps

WISHES = {
    "scancel": "srun: got SIGCONT\n"
    "slurmstepd-n1: error: *** STEP 13.0 ON n1 CANCELLED AT 2026-05-13T12:00:20 ***\n"
    "slurmstepd-n1: error: *** JOB 13 ON n1 CANCELLED AT 2026-05-13T12:00:20 ***\n"
    "srun: forcing job termination\nsrun: error: n1: tasks 0-1: Terminated\n"
    "srun: error: n2: tasks 2-3: Terminated\n",
    "torchrun was asked": "W0513 12:00:44.649000 248 torch/distributed/elastic/multiprocessing/"
    "api.py:1028] Sending process 24847 closing signal SIGTERM\n"
    "torch.distributed.elastic.multiprocessing.api.SignalException: Process 248 got signal: 15\n",
    "condor_rm": "009 (17.0.0) 2026-05-13 12:00:20 Job was aborted.\n\tvia condor_rm (by user a)\n",
}
LIMIT = "*** {} 13{} ON {} CANCELLED AT 2026-05-13T{} DUE TO {} ***\n"
TAKEN = {
    "Slurm's time limit": (
        "slurmstepd: error: " + LIMIT.format("JOB", "", "n1", "12:00:20", "TIME LIMIT")
        + "srun: error: n1: tasks 0-1: Terminated\nsrun: error: n2: tasks 2-3: Killed\n",
        "n1",
    ),
    "Slurm's preemption": (
        "slurmstepd: error: " + LIMIT.format("JOB", "", "n1", "12:00:20", "PREEMPTION")
        + "srun: error: n1: tasks 0-3: Terminated\n",
        "n1",
    ),
    "Slurm's preemption of a step on two hosts": (
        "slurmstepd-n1: error: " + LIMIT.format("STEP", ".0", "n1", "12:00:16", "PREEMPTION")
        + "slurmstepd-n2: error: " + LIMIT.format("STEP", ".0", "n2", "12:00:16", "PREEMPTION")
        + "srun: error: n1: tasks 0-1: Terminated\nsrun: error: n2: tasks 2-3: Terminated\n",
        "n1",
    ),
    "PBS": ("=>> PBS: job killed: walltime 3610 exceeded limit 3600\n", "unnamed-host"),
    "PBS preempts": (
        "05/13/2026 12:00:20;0008;Server@head;Job;13.head;Job preempted by requeue\n",
        "unnamed-host",
    ),
    "LSF": (
        "TERM_RUNLIMIT: job killed after reaching LSF run time limit.\n", "unnamed-host",
    ),
    "LSF preempts": ("TERM_PREEMPT: job killed after preemption.\n", "unnamed-host"),
    "Grid Engine": (
        "05/13/2026 12:00:20|  main|n1|W|job 12.1 exceeded hard wallclock time\n", "unnamed-host",
    ),
    "Moab": ("moab: job 12 exceeded wallclock limit\n", "unnamed-host"),
    "SageMaker": ("Stopped: runtime exceeded MaxRuntimeInSeconds\n", "unnamed-host"),
}  # fmt: skip


@pytest.mark.parametrize("text", WISHES.values(), ids=WISHES)
def test_a_job_that_somebody_ended_has_no_fault_and_the_line_is_shown(first, text):
    document = first(steps(4) + text)
    assert ("unknown", "info") == (cause(document)[0], document["severity"])
    assert "root" == document["leftovers"]["lines"][0]["role"]


@pytest.mark.parametrize(("text", "host"), TAKEN.values(), ids=TAKEN)
def test_a_job_whose_hosts_the_scheduler_took_back_is_told_so_and_pages_nobody(first, text, host):
    document = first(steps(4) + text)
    fault, _, where = cause(document)
    assert ("host.evicted", host, "info") == (fault, where, document["severity"])
    assert "root" == document["leftovers"]["lines"][0]["role"]


def test_a_job_that_had_stood_for_hours_did_not_end_for_its_time_limit(first):
    late = LIMIT.format("JOB", "", "n1", "17:00:20", "TIME LIMIT")
    assert "unknown" == cause(first(steps(4) + "slurmstepd: error: " + late))[0]


def test_a_device_that_failed_before_the_time_limit_is_the_cause(first):
    failed = (
        "May 13 12:00:16 n1 kernel: NVRM: Xid (PCI:0000:90:00): 79, pid=1, GPU has fallen off "
        "the bus.\n"
    )
    late = LIMIT.format("JOB", "", "n1", "12:00:40", "TIME LIMIT")
    assert "gpu.lost" == cause(first(steps(4) + failed + "slurmstepd: error: " + late))[0]


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
