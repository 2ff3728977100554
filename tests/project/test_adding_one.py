"""CONTRIBUTING's "Adding one", word for word: its commands in a copy of the project, then tests."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

pytestmark = pytest.mark.documents

ROOT = Path(__file__).parents[2]
SECTION = (ROOT / "CONTRIBUTING.md").read_text("utf-8").partition("## Adding one")[2]
SECTION = SECTION.partition("###")[0]
FILES = (
    "pyproject.toml", "CONTRIBUTING.md", "README.md", "README.zh.md", "CHANGELOG.md", "LICENSE",
    "Makefile", "docker-compose.yml",
)  # fmt: skip
FOLDERS = ("bench", "docs", "tests", "tools", "deploy")
IGNORED = shutil.ignore_patterns("__pycache__", ".*_cache", ".hypothesis")


@dataclass(frozen=True)
class Steps:
    """What the page says of one kind: a command, the files left to edit, what tries it."""

    make: str
    edits: tuple[str, ...]
    check: str

    @property
    def kind(self) -> str:
        """Return the kind, as the command names it."""
        return shlex.split(self.make)[3]


def _steps(block: str) -> Steps:
    lines = block.strip().splitlines()
    edits = [line for line in lines if line.startswith("# edit ")]
    return Steps(lines[0], tuple(line.split()[-1] for line in edits), lines[-1])


KINDS = [_steps(block) for block in re.findall(r"```\n(.*?)```", SECTION, re.DOTALL)]
EVERY = pytest.mark.parametrize("steps", KINDS, ids=lambda steps: steps.kind)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Return a function that runs a line of the page in a copy of the project."""
    copy = tmp_path_factory.mktemp("contributor")
    for name in FILES:
        shutil.copy(ROOT / name, copy)
    shutil.copytree(ROOT / "src", copy / "src", symlinks=True, ignore=IGNORED)
    packages = [link.name for link in (ROOT / "src" / "rankscope").iterdir() if link.is_symlink()]
    for name in (*FOLDERS, *packages):
        shutil.copytree(ROOT / name, copy / name, ignore=IGNORED, symlinks=True)
    environ = {**os.environ, "PYTHONPATH": f"{copy / 'src'}{os.pathsep}{copy}"}

    def call(line: str) -> subprocess.CompletedProcess[str]:
        words = shlex.split(line)
        assert "python" == words[0]
        return subprocess.run(
            [sys.executable, *words[1:]],
            cwd=copy,
            env=environ,
            text=True,
            capture_output=True,
            check=False,
            timeout=300,
        )

    return call


@pytest.fixture(scope="module")
def made(run):
    """Return what each command of the page printed: all of them, and `make docs`, were run."""
    answers = {steps.kind: run(steps.make) for steps in KINDS}
    docs = run("python -m tools.reference")
    assert 0 == docs.returncode, docs.stderr
    return answers


def test_the_page_shows_every_kind_that_the_command_knows(run):
    shown = run("python -m tools.new --help").stdout
    listed = re.findall(r"^    ([a-z-]+)\b", shown, re.MULTILINE)
    assert listed == [steps.kind for steps in KINDS]


@EVERY
def test_the_command_leaves_the_two_edits_that_the_page_names(made, steps):
    answer = made[steps.kind]
    assert (0, "") == (answer.returncode, answer.stderr)
    left = answer.stdout.partition("left to edit:\n")[2].partition("then:")[0]
    assert list(steps.edits) == [line.split(": ")[0].strip() for line in left.splitlines()]
    assert len(steps.edits) <= 2
    assert f"made {steps.edits[0]}\n" in answer.stdout


@EVERY
def test_what_it_made_keeps_its_contract_before_anything_is_edited(made, run, steps):
    done = run(f"{steps.check} -q -p no:cacheprovider")
    assert 0 == done.returncode, done.stdout[-3000:]
    assert re.search(r"\d+ passed", done.stdout)


def test_it_passes_the_linter_the_layers_and_the_check_of_the_pages(made, run):
    for line in (
        "python -m ruff check --no-cache .",
        "python -m ruff format --no-cache --check .",
        "python -m tools.reference --check",
        "python -m pytest -q -p no:cacheprovider tests/project/test_docs.py",
    ):
        done = run(line)
        assert 0 == done.returncode, done.stdout[-3000:] + done.stderr


@EVERY
def test_a_name_that_is_taken_is_refused_in_one_line(made, run, steps):
    again = run(steps.make)
    assert (2, "", 1) == (again.returncode, again.stdout, len(again.stderr.splitlines()))
    assert "take another name" in again.stderr


@EVERY
def test_a_malformed_name_is_refused_in_one_line(made, run, steps):
    words = shlex.split(steps.make)
    words[4] = words[4].replace("_", "-").replace("mattermost", "Mattermost")
    wrong = run(shlex.join(words))
    assert (2, "", 1) == (wrong.returncode, wrong.stdout, len(wrong.stderr.splitlines()))
    assert "is no name: small letters" in wrong.stderr
