"""The versions and hashes of what an image is built of: writes deploy/requirements.txt anew.

    python -m tools.locks

Asks the configured index for the newest releases within the ranges of pyproject.toml, for both
platforms that images are built for. Ranges are for whoever installs the library; an image is to be
the same whenever it is built.
"""

import json
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
FILE = ROOT / "deploy" / "requirements.txt"
EXTRAS = (
    *("agent", "collector", "postgresql", "analysis", "lab"),
    *("cluster", "grpc", "telemetry", "mcp", "py-spy"),
)
"""Those that an image may be built with (`EXTRAS` of the Dockerfile)."""

PYTHON = "311"
PLATFORMS = ("x86_64", "aarch64")
_HEAD = """\
# What an image is built of, by version and hash, for Python 3.11 on x86-64 and ARM. Written by
# `python -m tools.locks`; an extra that is not among those listed there has to be locked first.
"""

Locked = dict[str, tuple[str, set[str]]]
"""By name: version and hashes."""


def ranges(extras: Iterable[str]) -> Iterator[str]:
    """Yield the requirements of extras, those that they name included, and what builds a wheel."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    yield from project["build-system"]["requires"]
    listed: Mapping[str, list[str]] = project["project"]["optional-dependencies"]
    for extra in extras:
        for row in listed[extra]:
            if row.startswith("rankscope["):
                yield from ranges(row.partition("[")[2].rstrip("]").split(","))
            else:
                yield row


def locked(reports: Iterable[Mapping[str, Any]]) -> Locked:
    """Return what several resolutions chose. Raises ValueError where they differ in a version."""
    found: Locked = {}
    for report in reports:
        for row in report["install"]:
            name = row["metadata"]["name"].lower().replace("_", "-")
            version, hashes = found.setdefault(name, (row["metadata"]["version"], set()))
            if version != row["metadata"]["version"]:
                raise ValueError(f"{name}: {version} and {row['metadata']['version']}")
            hashes.add(row["download_info"]["archive_info"]["hashes"]["sha256"])
    return found


def text(found: Locked) -> str:
    """Return the file's text."""
    rows = (
        " \\\n".join(
            (f"{name}=={version}", *(f"    --hash=sha256:{one}" for one in sorted(hashes)))
        )
        for name, (version, hashes) in sorted(found.items())
    )
    return _HEAD + "".join(f"{row}\n" for row in rows)


def _resolved(platform: str, folder: Path) -> Any:
    report = folder / f"{platform}.json"
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "install", "--dry-run", "--quiet", "--ignore-installed"),
            *("--only-binary=:all:", "--implementation=cp", f"--python-version={PYTHON}"),
            *(f"--platform=manylinux_2_28_{platform}", f"--platform=manylinux2014_{platform}"),
            *("--target", folder / "target", "--report", report),
            *dict.fromkeys(ranges(EXTRAS)),
        ],
        check=True,
    )
    return json.loads(report.read_text())


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        reports = [_resolved(platform, Path(folder)) for platform in PLATFORMS]
    FILE.write_text(text(locked(reports)))
