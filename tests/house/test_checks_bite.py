"""Each tool of `make check` is seen to fail on a seeded error: a check that cannot fail is none.

A copy of the house gets one broken file a rule; each tool runs over the copy once.
"""

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
IGNORED = shutil.ignore_patterns("__pycache__", ".*_cache")

IMPORTS = {
    "vocabulary/seeded.py": "from ..formats import wire\n__all__ = ['wire']\n",
    "alerts/seeded.py": "from ..detectors import contract\n__all__ = ['contract']\n",
    "agent/seeded.py": "import numpy\nfrom ..collector import engine\n",
    "probe/seeded.py": "def late():\n    import made_up_library\n    return made_up_library\n",
    "collector/seeded.py": "from .. import probe\n__all__ = ['probe']\n",
}
BROKEN_IMPORTS = (
    "rankscope.vocabulary.seeded -> rankscope.formats.wire",
    "rankscope.alerts.seeded -> rankscope.detectors.contract",
    "rankscope.agent.seeded -> rankscope.collector.engine",
    "rankscope.agent.seeded -> numpy",
    "rankscope.collector.seeded -> rankscope.probe",
    "rankscope.probe.seeded must not import made_up_library",
    "- rankscope.cellar",
)


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """Return a copy of the sources and of the tools' settings."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    shutil.copytree(ROOT / "tools", tmp_path / "tools", ignore=IGNORED)
    shutil.copytree(ROOT / "src", tmp_path / "src", symlinks=True, ignore=IGNORED)
    for link in (ROOT / "src" / "rankscope").iterdir():
        if link.is_symlink():
            shutil.copytree(ROOT / link.name, tmp_path / link.name, ignore=IGNORED)
    return tmp_path


def check(house: Path, *words: str) -> str:
    """Run a tool in the copy, see it fail, and return what it said, unwrapped."""
    environ = {**os.environ, "PYTHONPATH": str(house / "src"), "COLUMNS": "200"}
    done = subprocess.run(
        [BIN / words[0], *words[1:]],
        cwd=house,
        env=environ,
        text=True,
        capture_output=True,
        check=False,
        timeout=120,
    )
    said = done.stdout + done.stderr
    assert 1 == done.returncode, said
    return " ".join(said.split())


def test_the_linter_bites(house: Path):
    (house / "vocabulary" / "seeded.py").write_text('"""Seeded."""\n\nimport os\n')
    said = check(house, "ruff", "check", "--no-cache", "--output-format", "concise", ".")
    assert "vocabulary/seeded.py:3:8: F401" in said


def test_the_formatter_bites(house: Path):
    (house / "vocabulary" / "seeded.py").write_text("ROWS = [1,2]\n")
    said = check(house, "ruff", "format", "--no-cache", "--check", "vocabulary")
    assert "vocabulary/seeded.py" in said
    assert "reformat" in said


def test_mypy_bites(house: Path):
    (house / "vocabulary" / "seeded.py").write_text("def double(value):\n    return 2 * value\n")
    said = check(house, "mypy", "src/rankscope/vocabulary")
    assert "seeded.py:1: error: Function is missing a type annotation" in said


def test_pyright_bites(house: Path):
    """Its settings are ours but for `include`: one package is enough to see it strict."""
    settings = tomllib.loads((house / "pyproject.toml").read_text())["tool"]["pyright"]
    (house / "pyrightconfig.json").write_text(json.dumps({**settings, "include": ["vocabulary"]}))
    (house / "vocabulary" / "seeded.py").write_text(
        "from . import samples\n\n\ndef double(value):\n    return samples.Sample(1, value, 0)\n"
    )
    said = check(house, "pyright", "--pythonpath", sys.executable)
    assert "reportMissingParameterType" in said
    assert '"Literal[1]" is not assignable to "str"' in said


def test_the_layers_bite(house: Path):
    """Upwards, sideways, a foreign library, and a package that the contract does not know."""
    for name, text in IMPORTS.items():
        (house / name).write_text(text)
    (house / "cellar").mkdir()
    (house / "cellar" / "__init__.py").touch()
    (house / "src" / "rankscope" / "cellar").symlink_to("../../cellar")
    said = check(house, "lint-imports", "--no-logo", "--no-cache")
    assert [] == [line for line in BROKEN_IMPORTS if line not in said]
