"""Real gloo jobs of torch: what their recorders hold when one rank does not come."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

JOB = Path(__file__).with_name("job.py")


@pytest.fixture
def leftovers(tmp_path, written):
    """Return a function that runs a job of four ranks and returns the folder that it left."""
    pytest.importorskip("torch", reason="real Flight Recorder dumps need torch")

    def run(fault, culprit):
        launch = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=4"]
        subprocess.run(
            [sys.executable, *launch, str(JOB), str(tmp_path), fault, str(culprit)],
            check=True,
            capture_output=True,
            timeout=120,
            env={"PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo",
                 "TORCH_FR_BUFFER_SIZE": "100", "HOME": str(tmp_path)},
        )  # fmt: skip
        for flag in tmp_path.glob("written_*"):
            flag.unlink()
        written(tmp_path, time.time() + 60)
        return tmp_path

    return run


@pytest.mark.acceptance
@pytest.mark.parametrize(
    ("fault", "culprit", "cause"),
    [
        ("absent", 2, "software.stuck_process"),
        ("other-collective", 1, "software.collective_mismatch"),
    ],
)
def test_the_rank_that_the_others_wait_for_is_named_by_real_dumps(
    explain, leftovers, fault, culprit, cause
):
    first = explain(leftovers(fault, culprit)).document()["root_cause"]["hypotheses"][0]
    assert (cause, [culprit]) == (first["fault"], first["entity"]["ranks"])
