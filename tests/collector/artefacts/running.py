"""A real gloo job that ends with every rank's Flight Recorder dump in a folder."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.waiting import PATIENCE_SECONDS

JOB = Path(__file__).with_name("left_job.py")


def leave_dumps(folder: Path, fault: str, culprit: int) -> None:
    """Run the job of four ranks, whose dumps are then in the folder as `fr_RANK`.

    One that does not end is ended with all its ranks: what they went on with would be seen by the
    agents of later tests.
    """
    pytest.importorskip("torch", reason="real Flight Recorder dumps need torch")
    job = subprocess.Popen(
        [sys.executable, str(JOB), str(folder), fault, str(culprit)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={"PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo",
             "TORCH_FR_BUFFER_SIZE": "100", "HOME": str(folder)},
        start_new_session=True,
    )  # fmt: skip
    try:
        printed, _ = job.communicate(timeout=PATIENCE_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(job.pid, signal.SIGKILL)
        printed, _ = job.communicate()
        pytest.fail(f"the job did not end within {PATIENCE_SECONDS:.0f} s:\n{printed.decode()}")
    assert 0 == job.returncode, printed.decode()
    for flag in folder.glob("written_*"):
        flag.unlink()
