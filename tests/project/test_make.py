"""`make test` runs both halves of the suite, whatever the first one finds."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

PYTEST = """#!/bin/sh
echo "$*" >> "$(dirname "$0")/calls"
case "$*" in *"not acceptance"*) exit {first};; *) exit {second};; esac
"""


@pytest.mark.parametrize(
    ("first", "second", "succeeds"),
    [(0, 0, True), (1, 0, False), (0, 1, False), (5, 0, True), (0, 5, True), (2, 5, False)],
)
def test_both_halves_run_and_one_that_fails_fails_it_all(
    first: int, second: int, succeeds: bool, program, tmp_path: Path
):
    """Pytest's exit code 5 means that no test was chosen."""
    folder = tmp_path / "venv"
    (folder / "bin").mkdir(parents=True)
    stub = folder / "bin" / "python"
    stub.write_text(PYTEST.format(first=first, second=second))
    stub.chmod(0o755)
    (folder / ".made").touch()
    (folder / ".developing").touch()
    environ = {k: v for k, v in os.environ.items() if k not in {"MAKEFLAGS", "MFLAGS", "ARGS"}}
    done = subprocess.run(
        [program("make"), "test", f"VENV={folder}", f"REPORT={tmp_path}/report"],
        cwd=ROOT,
        env=environ,
        text=True,
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert succeeds is (done.returncode == 0), done.stdout + done.stderr
    units, acceptance = (folder / "bin" / "calls").read_text().splitlines()
    assert f"-m not acceptance -n 2 --junit-xml={tmp_path}/report-units.xml" in units
    assert f"-m acceptance --junit-xml={tmp_path}/report-acceptance.xml" in acceptance
