"""Ends that somebody wanted are no faults."""

import pytest
from tests.collector.artefacts.launches.launched_job import cause, steps

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
