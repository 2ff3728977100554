"""Wheel and sdist hold every file of every package; the base install needs no dependency."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.documents

ROOT = Path(__file__).parents[2]
START_LINE = "rankscope_probe.pth"
"""Beside the packages: what lets RANKSCOPE_PROBE=1 attach without a line of code."""

PACKAGES = sorted(link.name for link in (ROOT / "src" / "rankscope").iterdir() if link.is_symlink())
IGNORED = shutil.ignore_patterns("__pycache__", "*.pyc", "*.egg-info", ".*_cache")


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return (sdist, wheel), built from a copy; the wheel is built from the sdist."""
    copy = tmp_path_factory.mktemp("copy")
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    shutil.copytree(ROOT / "src", copy / "src", symlinks=True, ignore=IGNORED)
    for package in PACKAGES:
        shutil.copytree(ROOT / package, copy / package, ignore=IGNORED)
    subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", "dist", "."],
        cwd=copy,
        check=True,
        capture_output=True,
        timeout=150,
    )
    [sdist] = (copy / "dist").glob("*.tar.gz")
    [wheel] = (copy / "dist").glob("*.whl")
    return sdist, wheel


def files_of_packages() -> set[str]:
    """Return every file of every package, as `rankscope/<package>/...`."""
    return {
        f"rankscope/{path.relative_to(ROOT).as_posix()}"
        for package in PACKAGES
        for folder, _, names in os.walk(ROOT / package, followlinks=True)  # runbooks are a link
        for path in (Path(folder, name) for name in names)
        if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".pyc"
    }


def test_every_package_is_linked_and_typed():
    """A package without its link is not installed; without py.typed its types are not seen."""
    layers = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"][
        "contracts"
    ][0]["layers"]
    named = {package for layer in layers for package in re.split(r"\s*\|\s*", layer)}
    assert named == set(PACKAGES)
    for package in PACKAGES:
        assert (ROOT / package / "py.typed").is_file()
        assert Path("../..") / package == (ROOT / "src" / "rankscope" / package).readlink()
    assert not (ROOT / "src" / "rankscope" / "__init__.py").exists()


def test_the_wheel_holds_every_file_of_every_package(built: tuple[Path, Path]):
    _, wheel = built
    with zipfile.ZipFile(wheel) as archive:
        inside = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert files_of_packages() | {START_LINE} == inside


def test_the_sdist_holds_every_file_of_every_package(built: tuple[Path, Path]):
    sdist, _ = built
    with tarfile.open(sdist) as archive:
        names = {member.name.partition("/")[2] for member in archive if member.isfile()}
    inside = {name.removeprefix("src/") for name in names if name.startswith("src/rankscope/")}
    assert files_of_packages() == inside


def test_installing_creates_no_module_beside_rankscope(built: tuple[Path, Path]):
    """`import agent` in somebody's project must stay theirs."""
    _, wheel = built
    with zipfile.ZipFile(wheel) as archive:
        tops = {name.partition("/")[0] for name in archive.namelist()}
    assert {"rankscope", START_LINE} == {top for top in tops if not top.endswith(".dist-info")}


@pytest.fixture(scope="session")
def bare(built: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the bin folder of a fresh environment with the wheel and nothing else."""
    home = tmp_path_factory.mktemp("bare")
    venv.create(home, with_pip=False)
    pip = [sys.executable, "-m", "pip", "--python", str(home / "bin" / "python"), "install"]
    options = ["--no-deps", "--no-index", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, *options, str(built[1])], check=True, capture_output=True, timeout=120)
    return home / "bin"


def test_an_editable_install_has_bytecode_beside_its_sources(tmp_path: Path):
    """Else each start compiles every module again where PYTHONDONTWRITEBYTECODE is set."""
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / "vocabulary", tmp_path / "vocabulary", ignore=IGNORED)
    (tmp_path / "src" / "rankscope").mkdir(parents=True)
    (tmp_path / "src" / "rankscope" / "vocabulary").symlink_to("../../vocabulary")
    build = "import setuptools.build_meta as made; made.build_editable('wheel')"
    subprocess.run(
        [sys.executable, "-c", build], cwd=tmp_path, check=True, capture_output=True, timeout=120,
        env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"},
    )  # fmt: skip
    sources = [str(one) for one in (tmp_path / "vocabulary").rglob("*.py")]
    cached = [Path(importlib.util.cache_from_source(one)) for one in sources]
    assert len(cached) > 50
    assert [] == [one for one in cached if not one.exists()]


def run(
    program: Path, *words: str, cwd: Path, probe: str | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a program of the bare environment, away from the sources."""
    ours = ("PYTHON", "RANKSCOPE_")
    environ = {key: value for key, value in os.environ.items() if not key.startswith(ours)}
    if probe is not None:
        environ["RANKSCOPE_PROBE"] = probe
    return subprocess.run(
        [program, *words], cwd=cwd, env=environ, text=True, capture_output=True, check=False
    )


def test_the_base_install_has_no_dependency(bare: Path, tmp_path: Path):
    code = (
        "import sys; from rankscope import probe, vocabulary; watch = probe.attach();"
        "watch.step().__enter__(); watch.detach();"
        "print(*{name.partition('.')[0] for name in sys.modules} - sys.stdlib_module_names)"
    )
    done = run(bare / "python", "-c", code, cwd=tmp_path)
    assert (0, "") == (done.returncode, done.stderr)
    assert {"rankscope", "__main__"} >= set(done.stdout.split()) - {"sitecustomize"}


@pytest.mark.parametrize(("probe", "loaded"), [("1", "True"), ("0", "False"), (None, "False")])
def test_only_a_set_variable_loads_the_probe_into_every_python(
    bare: Path, tmp_path: Path, probe: str | None, loaded: str
):
    code = "import sys; print('rankscope.probe.autoload' in sys.modules)"
    done = run(bare / "python", "-c", code, cwd=tmp_path, probe=probe)
    assert (0, loaded, "") == (done.returncode, done.stdout.strip(), done.stderr)


def test_a_verb_without_its_extra_says_what_to_install(bare: Path, tmp_path: Path):
    done = run(bare / "rankscope", "replay", "nowhere", cwd=tmp_path)
    assert 2 == done.returncode
    assert "pip install 'rankscope[collector]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_help_works_in_the_base_install(bare: Path, tmp_path: Path):
    done = run(bare / "rankscope", "--help", cwd=tmp_path)
    assert 0 == done.returncode
    assert "replay" in done.stdout
