"""docs/reference is what `make docs` generates from the code."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.documents

ROOT = Path(__file__).parents[2]


def test_the_reference_is_current():
    done = subprocess.run(
        [sys.executable, "-m", "tools.reference", "--check"],
        cwd=ROOT,
        text=True,
        capture_output=True,
        check=False,
        timeout=120,
    )
    assert (0, "") == (done.returncode, done.stderr)
