"""One run: the job in processes of its own, its recording, and the incidents of a replay."""

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rankscope.collector.pipeline.pipeline import DetectionPipeline
from rankscope.collector.replay.replay import ReplayRun

from . import recording
from .recording import ProbeRecorder

STEPS, AT, SAVE_AT = 200, 150, 140
_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class SpikeRun:
    """What came of a run: the documents of its incidents, the oldest first, and observations."""

    fault: str
    seed: int
    incidents: list[dict[str, Any]]
    observations: list[str]
    recording: Path


def run(fault: str, seed: int, folder: Path, *, resumes: bool, ranks: int = 2) -> SpikeRun:
    """Train with a fault, twice where it is one of a resume; raises CalledProcessError."""
    name = f"{fault or 'clean'}-{seed}"
    with tempfile.TemporaryDirectory(prefix="spikes-", dir="/tmp") as place:
        recorder = ProbeRecorder(Path(place) / "probe.sock")
        checkpoint = Path(place) / "checkpoint.pt"
        told = {
            "RANKSCOPE_AGENT": f"unix://{recorder.path}",
            "RANKSCOPE_JOB_ID": name,
            "OMP_NUM_THREADS": "1",
            "SPIKES_SEED": str(seed),
            "SPIKES_STEPS": str(STEPS),
            "SPIKES_AT": str(AT),
        }
        try:
            if resumes:
                first = told | {"SPIKES_SAVE_AT": str(SAVE_AT), "SPIKES_SAVE": str(checkpoint)}
                _train(first | {"SPIKES_STOP": str(SAVE_AT + 20)}, ranks)
                told |= {"SPIKES_FROM": str(checkpoint), "RANKSCOPE_JOB_ATTEMPT": "1"}
            _train(told | {"SPIKES_FAULT": fault}, ranks)
        finally:
            recorder.close()
    path = folder / f"{name}.jsonl"
    recording.write(path, recorder.received)
    incidents, observations = replayed(path)
    return SpikeRun(fault, seed, incidents, observations, path)


def replayed(path: Path) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the final documents of a recording's incidents, and its observations' texts."""
    line = DetectionPipeline()
    incidents = ReplayRun(pipeline=line, warn=lambda _text: None, failed=_failed).run(path)
    return incidents, [f"{row.kind}: {row.text}" for row in line.tracker.observations()]


def _train(told: dict[str, str], ranks: int) -> None:
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone",
               f"--nproc-per-node={ranks}", "-m", "bench.spikes.trainer"]  # fmt: skip
    subprocess.run(
        command,
        env={**os.environ, **told},
        check=True,
        capture_output=True,
        text=True,
        timeout=_SECONDS,
    )


def _failed(what: str, error: Exception) -> None:
    raise RuntimeError(what) from error
