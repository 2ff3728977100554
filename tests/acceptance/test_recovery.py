"""A torchrun job loses a rank; the controller evicts its host and restarts from the checkpoint."""

import json
import subprocess
import sys

import pytest

pytestmark = [pytest.mark.alone, pytest.mark.long, pytest.mark.timeout(500)]


def test_the_bad_host_is_evicted_and_training_goes_on_from_the_checkpoint():
    done = subprocess.run(
        [sys.executable, "-m", "rankscope.cli.main", "lab", "recovery", "--json"],
        text=True,
        capture_output=True,
        check=False,
    )
    assert 0 == done.returncode, done.stderr
    found = json.loads(done.stdout)
    assert ("demo-b", ["demo-a", "demo-c"]) == (found["evicted"], found["hosts"])
    assert 0 <= found["lost_steps"] <= 20
    assert found["received_seconds"] < found["resumed_seconds"] <= found["caught_up_seconds"]


def test_the_collector_orders_the_smallest_action_itself_and_says_that_it_helped():
    done = subprocess.run(
        [sys.executable, "-m", "rankscope.cli.main", "lab", "recovery", "--actions", "--json"],
        text=True,
        capture_output=True,
        check=False,
    )
    assert 0 == done.returncode, done.stderr
    found = json.loads(done.stdout)
    assert ("restart", "recovered") == (found["action"], found["outcome"])
    assert ["demo-a", "demo-b"] == found["hosts"]
    assert 0 <= found["lost_steps"] <= 20
