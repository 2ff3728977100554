"""The folder that an init container copies: a Python without Rankscope gets the probe by it."""

import ast
import os
import shutil
import socket
import subprocess
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

TORCH = """
class Optimizer:
    def __init__(self):
        self.made = True
    def register_step_pre_hook(self, hook): return self
    register_step_post_hook = register_step_pre_hook
class optim:
    Optimizer = Optimizer
"""

HIDDEN = "print('the sitecustomize of the image ran')"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Make the folder as the Dockerfile does, from the same sources."""
    made = tmp_path / "rankscope-probe"
    for package in ("probe", "vocabulary"):
        shutil.copytree(ROOT / package, made / "rankscope" / package)
    tree = ast.parse((ROOT / "setup.py").read_text())
    [line] = [
        ast.literal_eval(row.value)
        for row in tree.body
        if isinstance(row, ast.Assign) and ast.unparse(row.targets[0]) == "LINE"
    ]
    (made / "rankscope_probe.pth").write_text(line)
    shutil.copy(ROOT / "deploy/probe/sitecustomize.py", made)
    return made


@pytest.fixture
def python(tmp_path: Path) -> Path:
    """Make a Python that has nothing installed."""
    venv.create(tmp_path / "bare", with_pip=False)
    return tmp_path / "bare" / "bin" / "python"


def run(python: Path, code: str, *path: Path, **environ: str) -> str:
    done = subprocess.run(
        [python, "-c", code],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(map(str, path)), **environ},
        text=True,
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert (0, "") == (done.returncode, done.stderr)
    return done.stdout


def test_the_probe_comes_out_of_the_folder_and_needs_nothing_else(folder: Path, python: Path):
    code = "from rankscope import probe; print(probe.__file__); import rankscope.vocabulary"
    assert str(folder) in run(python, code, folder)


def test_the_images_own_start_file_still_runs(folder: Path, python: Path, tmp_path: Path):
    own = tmp_path / "own"
    own.mkdir()
    (own / "sitecustomize.py").write_text(HIDDEN)
    assert "the sitecustomize of the image ran\n" == run(python, "", folder, own)


def test_without_the_variable_nothing_of_it_is_imported(folder: Path, python: Path):
    code = "import sys; print([name for name in sys.modules if 'rankscope' in name])"
    assert "[]\n" == run(python, code, folder)


def test_a_job_attaches_when_it_makes_its_first_optimizer(
    folder: Path, python: Path, tmp_path: Path
):
    image = tmp_path / "image"
    image.mkdir()
    (image / "torch.py").write_text(TORCH)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as agent:
        agent.bind(("127.0.0.1", 0))
        agent.settimeout(60)
        environ = {
            "RANKSCOPE_PROBE": "1",
            "RANKSCOPE_JOB_ID": "brought",
            "RANKSCOPE_AGENT": f"udp://127.0.0.1:{agent.getsockname()[1]}",
        }
        code = "import torch, time; torch.optim.Optimizer(); time.sleep(1)"
        run(python, code, folder, image, **environ)
        assert b"brought" in agent.recv(65536)
