"""The incidents of a case by `rankscope replay FILE --json`, kept beside it."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

_KEPT = "incidents.jsonl"


class ReplayError(Exception):
    """A replay that refused a case; the text says which and why."""


def incidents(folder: Path) -> list[dict[str, Any]]:
    """Return the incident documents of a case; raises ReplayError."""
    kept = folder / _KEPT
    if not kept.exists():
        command = [sys.executable, "-m", "rankscope.cli.main", "replay", "--json"]
        done = subprocess.run(
            [*command, str(folder / "case.jsonl.gz")], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise ReplayError(f"{folder.name}: exit code {done.returncode}: {done.stderr[-400:]}")
        (folder / "complaints.txt").write_text(done.stderr, encoding="utf-8")
        part = folder / f"{_KEPT}.part"
        part.write_text(done.stdout, encoding="utf-8")
        part.rename(kept)
    return [json.loads(line) for line in kept.read_text(encoding="utf-8").splitlines()]


def all_incidents(folders: list[Path], jobs: int) -> list[list[dict[str, Any]]]:
    """Return the incidents of every case, in the order of the folders."""
    with ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(incidents, folders))
