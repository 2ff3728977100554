"""From a map to results: a small project, a function in it for each thing that can come of one."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from tools.mutants import __main__ as mutants
from tools.mutants import trials
from tools.mutants.sites import every_site, files

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[3]

CODE = """
LIMIT = 10

def below(value):
    return value < LIMIT

def price(count):
    return count * 3

def seldom(count):
    return count - 4

def unread(count):
    return count // 5

def unreached(count):
    return count ** 8

def wait(count):
    while count > 0:
        count -= 1

def chance(count):
    return count % 7
"""
TESTS = """
import os
from pathlib import Path
import pytest
from rankscope.lab import code

def test_below():
    assert [True, False] == [code.below(10 - 1), code.below(10)]

def test_price():
    assert 6 == code.price(2)

@pytest.mark.long
def test_seldom():
    assert 0 == code.seldom(4)

def test_unread():
    code.unread(5)

def test_wait():
    code.wait(3)

def test_it_passes_the_first_time_only():
    code.chance(7)
    assert not Path(os.environ["REPEATED"]).exists()
    Path(os.environ["REPEATED"]).touch()
"""
SETTINGS = """
[tool.pytest.ini_options]
addopts = ["--import-mode=importlib"]
markers = ["long: in the long target only"]
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    (folder / "lab").mkdir()
    (folder / "lab" / "__init__.py").touch()
    (folder / "lab" / "code.py").write_text(CODE)
    (folder / "src" / "rankscope").mkdir(parents=True)
    (folder / "src" / "rankscope" / "lab").symlink_to("../../lab")
    (folder / "tests" / "lab").mkdir(parents=True)
    (folder / "tests" / "lab" / "test_code.py").write_text(TESTS)
    (folder / "pyproject.toml").write_text(SETTINGS)
    shutil.copytree(ROOT / "tools" / "mutants", folder / "tools" / "mutants")
    (folder / ".gitignore").write_text("*.sqlite\n*.jsonl\n__pycache__\n")
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    return folder


@pytest.fixture(scope="module")
def patched(project: Path) -> Iterator[pytest.MonkeyPatch]:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(project)
        patch.setattr(mutants, "ROOT", project)
        patch.setattr(trials, "PATIENCE_SECONDS", 5.0)
        patch.setenv("REPEATED", str(project / "repeated"))
        patch.setenv("PYTHONPATH", str(project / "src"))
        yield patch


RUN = ["run", "mutants.jsonl", "--map", "map.sqlite", "--tests", "not long"]


@pytest.fixture(scope="module")
def results(project: Path, patched) -> dict[str, dict[str, Any]]:
    """Return what became of each mutant, by its function and what it changes."""
    assert 0 == mutants.main(["map", "map.sqlite", "--", "-q", "tests"])
    sites = every_site(files(project))["lab/code.py"]
    drawn = [json.dumps(asdict(site.mutant)) for site in sites]
    (project / "mutants.jsonl").write_text("\n".join(drawn))
    assert 0 == mutants.main(RUN)
    lines = (project / "mutants.results.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    assert len(drawn) == len(rows)
    return {f"{row['mutant']['function']} {row['mutant']['before']}": row for row in rows}


@pytest.mark.parametrize(
    ("mutant", "outcome", "killer"),
    [
        ("price *", "killed by quick", "test_price"),
        (" 10", "killed by quick", "test_below"),
        ("seldom -", "killed by long", "test_seldom"),
        ("unread //", "survived", None),
        ("unreached **", "reached by no test", None),
        ("wait -", "killed by quick", "test_wait"),
        ("chance %", "survived", None),
    ],
)
def test_what_becomes_of_a_mutant(results, mutant: str, outcome: str, killer: str | None):
    """What a module holds counts for all its tests; one that fails anyway decides nothing."""
    row = results[mutant]
    assert outcome == row["outcome"]
    assert (killer and f"tests/lab/test_code.py::{killer}") == row.get("killer")


def test_a_kill_says_why_and_the_original_is_untouched(project: Path, results):
    assert "assert 6 == " in results["price *"]["why"]
    assert "time was over" == results["wait -"]["why"]
    assert "lab/code.py:8" == results["price *"]["at"]
    assert CODE == (project / "lab" / "code.py").read_text()


def test_a_second_run_tries_nothing_again_and_names_what_no_quick_test_kills(
    project: Path, results, capsys: pytest.CaptureFixture[str]
):
    before = (project / "mutants.results.jsonl").read_text()
    assert 0 == mutants.main(RUN)
    assert before == (project / "mutants.results.jsonl").read_text()
    shown = capsys.readouterr().out
    assert "lab/code.py:11 seldom: killed by long tests/lab/test_code.py::test_seldom" in shown
    assert "    arithmetic: '//' becomes '*'" in shown
    assert "price" not in shown
