"""Which tests each target runs; `make test` runs both halves, whatever the first one finds."""

import os
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.documents

ROOT = Path(__file__).parents[2]

PYTEST = """#!/bin/sh
echo "$RANKSCOPE_TESTS: $*" >> "$(dirname "$0")/calls"
case "$*" in *"not alone"*) exit {first};; *) exit {second};; esac
"""


class Venv:
    """An environment whose Python writes down how it was called."""

    def __init__(self, folder: Path, make: str) -> None:
        self._folder, self._make = folder, make
        (folder / "bin").mkdir(parents=True)
        (folder / ".made").touch()
        (folder / ".developing").touch()
        self.ends_with(0, 0)

    def ends_with(self, first: int, second: int) -> None:
        python = self._folder / "bin" / "python"
        python.write_text(PYTEST.format(first=first, second=second))
        python.chmod(0o755)

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        environ = {k: v for k, v in os.environ.items() if k not in {"MAKEFLAGS", "MFLAGS", "ARGS"}}
        return subprocess.run(
            [self._make, *words, f"VENV={self._folder}"],
            cwd=ROOT,
            env=environ,
            text=True,
            capture_output=True,
            check=False,
            timeout=60,
        )

    def calls(self) -> list[str]:
        """Return what was called, one space between words."""
        lines = (self._folder / "bin" / "calls").read_text().splitlines()
        return [" ".join(line.split()) for line in lines]


@pytest.fixture
def environment(program, tmp_path: Path) -> Venv:
    return Venv(tmp_path / "venv", program("make"))


@pytest.mark.parametrize(
    ("first", "second", "succeeds"),
    [(0, 0, True), (1, 0, False), (0, 1, False), (5, 0, True), (0, 5, True), (2, 5, False)],
)
def test_both_halves_run_and_one_that_fails_fails_it_all(
    first: int, second: int, succeeds: bool, environment: Venv, tmp_path: Path
):
    """Pytest's exit code 5 means that no test was chosen."""
    environment.ends_with(first, second)
    done = environment.run("test", f"REPORT={tmp_path}/report")
    assert succeeds is (done.returncode == 0), done.stdout + done.stderr
    parallel, alone = environment.calls()
    assert f"--junit-xml={tmp_path}/report-parallel.xml" in parallel
    assert "-m not alone and not documents and not long -n 3" in parallel
    assert (
        f"--junit-xml={tmp_path}/report-alone.xml -m alone and not long tests/acceptance" in alone
    )
    assert all(call.startswith(": ") and "--durations" in call for call in (parallel, alone))


def test_the_long_target_leaves_only_to_the_checks_what_is_theirs(environment: Venv):
    assert 0 == environment.run("test-long").returncode
    parallel, alone = environment.calls()
    assert "-m not alone and not documents -n 3" in parallel
    assert alone.endswith("-m alone tests/acceptance")
    assert all(call.startswith("long: ") for call in (parallel, alone))


def test_what_reads_documents_is_one_of_the_checks(environment: Venv, tmp_path: Path):
    assert 0 == environment.run("documents", f"REPORT={tmp_path}/report").returncode
    (call,) = environment.calls()
    assert call.endswith(f"--junit-xml={tmp_path}/report-documents.xml -m documents")
    dry = environment.run("--dry-run", "check").stdout
    assert "-m documents" in dry
    tools = ("pyright", "mypy", "ruff check", "ruff format", "lint-imports")
    assert [] == [tool for tool in tools if f"/{tool}" not in dry]


def test_files_that_are_asked_for_are_all_that_runs(environment: Venv):
    environment.run("test", "ARGS=-x tests/cli")
    parallel, alone = environment.calls()
    assert parallel.endswith("-x tests/cli")
    assert alone.endswith("-m alone and not long -x tests/cli")


def test_what_needs_the_machine_alone_is_in_the_folder_that_is_searched_for_it():
    files = [
        path.relative_to(ROOT)
        for path in (ROOT / "tests").rglob("test_*.py")
        if "pytest.mark.alone" in path.read_text(encoding="utf-8")
    ]
    assert {"tests/acceptance"} == {path.parent.as_posix() for path in files} - {"tests/project"}
