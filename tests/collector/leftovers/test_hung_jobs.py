"""Every hang that is injected into a real job, explained by what it left behind and nothing else."""

import subprocess
import sys
from pathlib import Path

import pytest

JOBS = Path(__file__).with_name("hung_jobs.py")
CULPRIT = 2

MISMATCH, STUCK = "software.collective_mismatch", "software.stuck_process"

FAULTS = {
    "stuck-thread": {STUCK},
    "stop-signal": {STUCK},
    "gil": {STUCK},
    "dataloader": {STUCK, "software.dataloader_slow"},
    "other-collective": {MISMATCH},
    "size": {MISMATCH},
    "short-shard": {MISMATCH, "software.uneven_batches"},
    "early-exit": {STUCK, "software.crash"},
    "exception": {"software.crash"},
    "kill-signal": {STUCK, "software.crash"},
}
"""By fault: what may be called its cause. A rank without a dump and without a word may have ended."""


@pytest.fixture(scope="module")
def left(tmp_path_factory):
    """Return a folder with one of leftovers a fault."""
    pytest.importorskip("torch", reason="real jobs need torch")
    folder = tmp_path_factory.mktemp("jobs")
    subprocess.run(
        [sys.executable, str(JOBS), str(folder), *FAULTS],
        check=True,
        capture_output=True,
        timeout=200,
        env={"PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo",
             "TORCH_FR_BUFFER_SIZE": "200", "HOME": str(folder)},
    )  # fmt: skip
    return folder


@pytest.mark.acceptance
@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_a_hang_is_explained_by_its_leftovers_alone(explain, left, fault):
    document = explain(left / fault).document()
    assert document is not None
    first = document["root_cause"]["hypotheses"][0]
    assert [CULPRIT] == first["entity"]["ranks"]
    assert first["fault"] in FAULTS[fault]
