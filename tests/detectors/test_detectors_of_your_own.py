"""The package that docs/detectors-of-your-own.md shows: installed, tried and loaded."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "detectors-of-your-own.md"
FENCE = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
BLOCKS = FENCE.findall(PAGE.read_text(encoding="utf-8"))
COMMAND = "python -m rankscope.detectors.conformance fans"
LOADING = """
from rankscope.detectors.selection import plugins
from rankscope.vocabulary.findings import catalogue
(fans,) = plugins(["fans"])
print(fans.name, catalogue()["gpu.fan_at_full_speed"].family)
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """Return a function that runs Python where the package of the page is installed."""
    folder = tmp_path_factory.mktemp("site")
    files = dict(block.removeprefix("# ").split("\n", 1) for _, block in BLOCKS if block[0] == "#")
    (folder / "our_detectors.py").write_text(files["our_detectors.py"], encoding="utf-8")
    project = tomllib.loads(files["pyproject.toml"])["project"]
    about = folder / f"our_detectors-{project['version']}.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    ((group, points),) = project["entry-points"].items()
    lines = [f"[{group}]", *(f"{name} = {value}" for name, value in points.items())]
    (about / "entry_points.txt").write_text("\n".join(lines))

    def run(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, *words],
            env={**os.environ, "PYTHONPATH": str(folder)},
            cwd=folder,
            text=True,
            capture_output=True,
            check=False,
        )
        assert 0 == done.returncode, done.stdout + done.stderr
        return done.stdout

    return run


def test_the_conformance_command_says_what_the_page_shows(python):
    (shown,) = (text for language, text in BLOCKS if language == "console")
    command, printed = shown.split("\n", 1)
    assert f"$ {COMMAND}" == command
    assert printed == python(*COMMAND.split()[1:])


def test_it_is_tried_before_it_is_a_package(python):
    assert "fans keeps the contract" in python(
        "-m", "rankscope.detectors.conformance", "our_detectors:Fans"
    )


def test_it_is_loaded_with_its_own_kind_of_finding(python):
    assert "fans fan\n" == python("-c", LOADING)


def test_the_package_asks_for_what_it_imports():
    """Detectors need numpy, which the package alone does not bring."""
    extras = tomllib.loads((PAGE.parents[1] / "pyproject.toml").read_text())["project"]
    text = next(text for _, text in BLOCKS if text.startswith("# pyproject.toml"))
    (dependency,) = tomllib.loads(text)["project"]["dependencies"]
    extra = dependency.removeprefix("rankscope[").removesuffix("]")
    assert any(one.startswith("numpy") for one in extras["optional-dependencies"][extra])
