"""`python -m bench.spikes.silent`: what is said of parallel training that goes wrong in silence.

Each bug of parallelism.py trains for a hundred steps with the probe attached; printed is what the
collector says of it, one JSON line each.
"""

import argparse
import json
import multiprocessing
import os
import sys
import tempfile
from pathlib import Path

from . import parallelism, recording, runs
from .recording import ProbeRecorder

_SECONDS = 240.0


def said(bug: parallelism.SilentBug, folder: Path) -> list[str]:
    """Train with a bug, and return what the collector says of values: causes and observations."""
    context = multiprocessing.get_context("forkserver")
    with tempfile.TemporaryDirectory(prefix="silent-", dir="/tmp") as place:
        recorder = ProbeRecorder(Path(place) / "probe.sock")
        environ = {"RANKSCOPE_AGENT": f"unix://{recorder.path}", "RANKSCOPE_JOB_ID": bug.name,
                   "OMP_NUM_THREADS": "1", "WORLD_SIZE": str(bug.ranks)}  # fmt: skip
        trained = [
            context.Process(
                target=parallelism.process,
                args=(bug.name, rank, place, {**environ, "RANK": str(rank)}),
            )
            for rank in range(bug.ranks)
        ]
        try:
            runs.ended(trained, bug.name, seconds=_SECONDS)
        finally:
            recorder.close()
    path = folder / f"{bug.name}.jsonl"
    recording.write(path, recorder.received)
    incidents, observations = runs.replayed(path)
    firsts = [document["root_cause"]["hypotheses"][0] for document in incidents]
    texts = [
        f"{first['fault']}: {first['evidence'][0]['text']}"
        for first in firsts
        if first["fault"].startswith(("numerics.", "gpu.silent"))
    ]
    return [*texts, *(text for text in observations if not text.startswith("job.slow"))]


def main() -> int:
    """Run the reproductions; always 0: what is said is read by people."""
    parser = argparse.ArgumentParser(prog="python -m bench.spikes.silent", description=__doc__)
    parser.add_argument("--only", action="append", choices=[bug.name for bug in parallelism.BUGS])
    parser.add_argument("--folder", type=Path, default=Path("bench-results") / "silent")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    os.nice(5)
    os.environ["OMP_NUM_THREADS"] = "1"
    multiprocessing.get_context("forkserver").set_forkserver_preload([parallelism.__name__])
    for bug in parallelism.BUGS:
        if not given.only or bug.name in given.only:
            print(json.dumps({"bug": bug.name, "said": said(bug, given.folder)}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
