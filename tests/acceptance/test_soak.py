"""kill -9 of a collector under load, twenty-five times: nothing is lost, nobody is paged twice."""

import json
import subprocess
import sys

import pytest

KILLS = 25

pytestmark = [pytest.mark.alone, pytest.mark.long, pytest.mark.timeout(900)]


def test_kills_under_load_lose_nothing_and_page_nobody_twice(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "bench.soak", "--kills", str(KILLS), "--folder",
         str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["kills"] == KILLS
    assert found["wrong"] == 0
    assert found["messages"] >= 2 * found["jobs"]
