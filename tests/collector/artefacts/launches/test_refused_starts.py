"""Jobs that were never started: no node, no image, no volume, no leave of the scheduler."""

import pytest
from tests.collector.artefacts.launches.launched_job import cause

PENDING = """\
Name:             llama-worker-3
Node:             {}
Status:           Pending
Events:
  Type     Reason            Age                   From               Message
  ----     ------            ----                  ----               -------
  Warning  FailedScheduling  6m7s (x351 over 23h)  default-scheduler  0/4 nodes are available.
"""
PLACED = (
    "  Normal   Scheduled  5m  default-scheduler  Successfully assigned ml/llama-worker-3 to g-17\n"
)


def test_a_pod_that_never_got_a_node_never_started(first):
    assert ("software.init_failed", [], None) == cause(first(PENDING.format("<none>")))


def test_a_pod_that_waited_for_a_node_and_got_one_is_no_fault(first):
    assert first(PENDING.format("g-17/10.0.0.17") + PLACED) is None


REFUSED = {
    "no image": '  Warning  Failed  2m  kubelet  Failed to pull image "reg.example/train:9": x\n',
    "no volume": "  Warning  FailedMount  2m (x9 over 14m)  kubelet  MountVolume.SetUp failed\n",
    "as kubectl lists it": "llama-worker-3   0/1     ImagePullBackOff   0   4m\n",
    "srun": "srun: error: Unable to allocate resources: Invalid qos specification\n",
    "sbatch": "sbatch: error: Batch job submission failed: Invalid account\n",
    "docker": "docker: Error response from daemon: could not select device driver\n",
}


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED)
def test_what_was_never_started_is_a_start_that_failed(first, text):
    assert "software.init_failed" == cause(first(text))[0]


def test_a_volume_that_was_mounted_at_last_is_no_fault(first):
    assert (
        first(REFUSED["no volume"] + "  Normal  Started  1m  kubelet  Started container a\n")
        is None
    )


WAITS = "srun: Job 77 step creation {} disabled, retrying (Requested nodes are busy)\n"


def test_a_step_that_goes_on_waiting_for_its_own_job_never_started(first):
    text = WAITS.format("temporarily") + 3 * WAITS.format("still")
    assert "software.init_failed" == cause(first(text))[0]


@pytest.mark.parametrize("below", [
    "srun: Step created for StepId=77.1\n",
    "".join(f"step {n} loss {3 - n / 10:.2f} grad_norm 0.5\n" for n in range(9)),
], ids=["it came", "another step trains"])  # fmt: skip
def test_a_step_that_waited_is_no_fault(first, below):
    assert first(WAITS.format("still") + below) is None
