"""Each tool of `make check` fails on a seeded error: a check that cannot fail proves nothing.

A copy of the project gets one broken file a rule; each tool runs over the copy once.
"""

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

pytestmark = pytest.mark.documents

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
IGNORED = shutil.ignore_patterns("__pycache__", ".*_cache")

_ONLY_FOR_ANNOTATIONS = """from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from . import {}
"""
IMPORTS = {
    "vocabulary/seeded.py": "from ..formats import wire\n__all__ = ['wire']\n",
    "alerts/seeded.py": "from ..detectors import contract\n__all__ = ['contract']\n",
    "agent/seeded.py": "import numpy\nfrom ..collector import pipeline\n",
    "probe/seeded.py": "def late():\n    import made_up_library\n    return made_up_library\n",
    "collector/seeded.py": "from .. import probe\n__all__ = ['probe']\n",
    "lab/seeded.py": "from bench import steady\n__all__ = ['steady']\n",
    "formats/nccl/seeded.py": "from ..wire import WireError\n__all__ = ['WireError']\n",
    "detectors/hardware/seeded.py": _ONLY_FOR_ANNOTATIONS.format("seeded_too"),
    "detectors/hardware/seeded_too.py": _ONLY_FOR_ANNOTATIONS.format("seeded"),
}
BROKEN_IMPORTS = (
    "rankscope.vocabulary.seeded -> rankscope.formats.wire",
    "rankscope.alerts.seeded -> rankscope.detectors.contract",
    "rankscope.agent.seeded -> rankscope.collector.pipeline",
    "rankscope.agent.seeded -> numpy",
    "rankscope.collector.seeded -> rankscope.probe",
    "rankscope.lab.seeded -> bench.steady",
    "rankscope.formats.nccl does not say that it imports wire",
    "No cycles are allowed in rankscope.detectors.hardware.",
    "- rankscope.vocabulary.seeded",
    "rankscope.probe.seeded must not import made_up_library",
    "- rankscope.unlisted",
)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Return a copy of the sources and of the tools' settings."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for name in ("bench", "tools"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=IGNORED)
    shutil.copytree(ROOT / "src", tmp_path / "src", symlinks=True, ignore=IGNORED)
    for link in (ROOT / "src" / "rankscope").iterdir():
        if link.is_symlink():
            shutil.copytree(ROOT / link.name, tmp_path / link.name, ignore=IGNORED)
    return tmp_path


def check(copy: Path, *arguments: str) -> str:
    """Run a tool in the copy, see it fail, and return its output, unwrapped."""
    environ = {**os.environ, "PYTHONPATH": str(copy / "src"), "COLUMNS": "200"}
    done = subprocess.run(
        [BIN / arguments[0], *arguments[1:]],
        cwd=copy,
        env=environ,
        text=True,
        capture_output=True,
        check=False,
        timeout=120,
    )
    output = done.stdout + done.stderr
    assert 1 == done.returncode, output
    return " ".join(output.split())


def test_the_linter_finds_a_seeded_error(copy: Path):
    (copy / "vocabulary" / "seeded.py").write_text('"""Seeded."""\n\nimport os\n')
    output = check(copy, "ruff", "check", "--no-cache", "--output-format", "concise", ".")
    assert "vocabulary/seeded.py:3:8: F401" in output


def test_the_formatter_finds_a_seeded_error(copy: Path):
    (copy / "vocabulary" / "seeded.py").write_text("ROWS = [1,2]\n")
    output = check(copy, "ruff", "format", "--no-cache", "--check", "vocabulary")
    assert "vocabulary/seeded.py" in output
    assert "reformat" in output


def test_mypy_finds_a_seeded_error(copy: Path):
    (copy / "vocabulary" / "seeded.py").write_text("def double(value):\n    return 2 * value\n")
    output = check(copy, "mypy", "src/rankscope/vocabulary")
    assert "seeded.py:1: error: Function is missing a type annotation" in output


def test_pyright_finds_a_seeded_error(copy: Path):
    """Its settings are ours but for `include`: one package is enough to see it strict."""
    settings = tomllib.loads((copy / "pyproject.toml").read_text())["tool"]["pyright"]
    (copy / "pyrightconfig.json").write_text(json.dumps({**settings, "include": ["vocabulary"]}))
    (copy / "vocabulary" / "seeded.py").write_text(
        "from . import samples\n\n\ndef double(value):\n    return samples.Sample(1, value, 0)\n"
    )
    output = check(copy, "pyright", "--pythonpath", sys.executable)
    assert "reportMissingParameterType" in output
    assert '"Literal[1]" is not assignable to "str"' in output


def test_import_linter_finds_seeded_errors(copy: Path):
    """Upwards, sideways, a foreign library, and a package that the contract does not list."""
    for name, text in IMPORTS.items():
        (copy / name).write_text(text)
    (copy / "unlisted").mkdir()
    (copy / "unlisted" / "__init__.py").touch()
    (copy / "src" / "rankscope" / "unlisted").symlink_to("../../unlisted")
    output = check(copy, "lint-imports", "--no-logo", "--no-cache")
    assert [] == [line for line in BROKEN_IMPORTS if line not in output]
