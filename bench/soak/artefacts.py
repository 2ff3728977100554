"""`python -m bench.soak.artefacts`: jobs that hang until they die, explained afterwards.

Each run is a real job of four ranks under torchrun that nobody watches; gloo's time-out ends it.
What it left is diagnosed three times: all of it, without Flight Recorder dumps, and the ranks' own
logs alone. One JSON line a run; the folders are kept.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bench.soak.real_faults import HANGS
from rankscope.collector.artefacts import diagnose
from rankscope.collector.recordings.otlp_lines import RecordingError
from rankscope.collector.settings.collector import CollectorSettings

CULPRIT, RANKS = 2, 4
DUMPS, LOGS, LAUNCHER = "dumps", "logs", "torchrun.log"
_SECONDS = 150.0


def main() -> int:
    """Run the jobs; 0 when whoever was accused was the culprit every time."""
    parser = argparse.ArgumentParser(prog="python -m bench.soak.artefacts", description=__doc__)
    parser.add_argument("--only", action="append", choices=list(HANGS), help="may be repeated")
    parser.add_argument("--folder", type=Path, default=Path("bench-results") / "leftovers")
    wanted = parser.parse_args()
    wrong = 0
    for name in wanted.only or list(HANGS):
        into = wanted.folder / name
        shutil.rmtree(into, ignore_errors=True)
        leave(name, into)
        for what, row in explained(into):
            wrong += row["first"] not in ([CULPRIT], None)
            print(json.dumps({"mechanism": name, "leftovers": what, **row}), flush=True)
    return 1 if wrong else 0


def leave(name: str, into: Path) -> None:
    """Run a job with a fault of the laboratory until it is dead; `into` gets what it leaves."""
    for folder in (DUMPS, LOGS):
        (into / folder).mkdir(parents=True)
    module = "bench.soak.mortal_trainer"
    command = [
        sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={RANKS}",
        "--redirects=3", f"--log-dir={into / LOGS}", "-m", module, name, str(CULPRIT),
        str(into / DUMPS),
    ]  # fmt: skip
    environ = {
        **os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo",
        "TORCH_FR_BUFFER_SIZE": "200", "RANKSCOPE_PROBE": "0",
    }  # fmt: skip
    with (into / LAUNCHER).open("wb") as out:
        subprocess.run(command, check=False, stdout=out, stderr=out, timeout=_SECONDS, env=environ)


def explained(left: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield (which leftovers, what came of them) for all, without dumps, and without both."""
    for what, hidden in (
        ("all", ()),
        ("no dumps", (DUMPS,)),
        ("logs of ranks", (DUMPS, LAUNCHER)),
    ):
        copy = left.parent / f"{left.name}.part"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(left, copy, ignore=shutil.ignore_patterns(*hidden))
        try:
            yield what, found(copy)
        finally:
            shutil.rmtree(copy)


def found(folder: Path) -> Mapping[str, Any]:
    """Return the first cause of what lies in a folder, and whom it accuses."""
    try:
        document = diagnose([folder], CollectorSettings(), job="job", failed=_raise).document()
    except RecordingError as error:
        return {"first": None, "fault": None, "text": str(error)}
    if document is None:
        return {"first": None, "fault": None, "text": "no incident"}
    best = document["root_cause"]["hypotheses"][0]
    return {
        "first": best["entity"]["ranks"] if best["fault"] != "unknown" else None,
        "fault": best["fault"],
        "suspects": [symptom["ranks"] for symptom in document["symptoms"]],
        "text": document["summary"],
    }


def _raise(what: str, error: Exception) -> None:
    del what
    raise error


if __name__ == "__main__":
    sys.exit(main())
