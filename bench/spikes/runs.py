"""One run: the job in processes of its own, its recording, and the incidents of a replay."""

import multiprocessing
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from rankscope.collector.pipeline.pipeline import DetectionPipeline
from rankscope.collector.replay.replay import ReplayRun

from . import recording, trainer
from .recording import ProbeRecorder
from .shapes import SpikeShape

_SECONDS = 300.0


class FailedTrainingError(RuntimeError):
    """A process of a run ended with an error, or not at all."""


@dataclass(frozen=True, slots=True)
class SpikeRun:
    """What came of a run: the documents of its incidents, the oldest first, and observations."""

    shape: SpikeShape
    incidents: list[dict[str, Any]]
    observations: list[str]
    recording: Path


def prepare() -> None:
    """Import torch once, in a process that those of all runs are forked from."""
    multiprocessing.get_context("forkserver").set_forkserver_preload([trainer.__name__])


def run(shape: SpikeShape, recorded: Path) -> SpikeRun:
    """Train with a fault, twice where it is one of a resume; raises FailedTrainingError."""
    with tempfile.TemporaryDirectory(prefix="spikes-", dir="/tmp") as place:
        recorder = ProbeRecorder(Path(place) / "probe.sock")
        try:
            for again in (False, True) if shape.resumes else (False,):
                _train(shape, Path(place), recorder.path, again=again)
        finally:
            recorder.close()
    recording.write(recorded, recorder.received)
    return of_recording(shape, recorded)


def of_recording(shape: SpikeShape, recorded: Path) -> SpikeRun:
    return SpikeRun(shape, *replayed(recorded), recorded)


def replayed(path: Path) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the final documents of a recording's incidents, and its observations' texts."""
    line = DetectionPipeline()
    incidents = ReplayRun(pipeline=line, warn=lambda _text: None, failed=_failed).run(path)
    return incidents, [f"{row.kind}: {row.text}" for row in line.tracker.observations()]


def _train(shape: SpikeShape, folder: Path, agent: Path, *, again: bool) -> None:
    context = multiprocessing.get_context("forkserver")
    processes = []
    for rank in range(shape.ranks):
        environ = {
            "RANKSCOPE_AGENT": f"unix://{agent}",
            "RANKSCOPE_JOB_ID": f"{shape.fault}-{shape.seed}",
            "RANKSCOPE_JOB_ATTEMPT": str(int(again)),
            "OMP_NUM_THREADS": "1",
            "RANK": str(rank),
            "LOCAL_RANK": str(rank),
            "WORLD_SIZE": str(shape.ranks),
            "LOCAL_WORLD_SIZE": str(shape.ranks),
        }
        told = trainer.TrainedAttempt(shape, rank, folder, environ, again)
        processes.append(context.Process(target=trainer.train, args=(told,), daemon=True))
    ended(processes, f"{shape.fault}, seed {shape.seed}", seconds=_SECONDS)


def ended(processes: Sequence[BaseProcess], name: str, *, seconds: float) -> None:
    """Run the ranks of a job to their end, and kill who runs for longer than so many seconds.

    Raises FailedTrainingError, with the name of the job, where one did not end well.
    """
    for process in processes:
        process.start()
    until = time.monotonic() + seconds
    for process in processes:
        process.join(max(until - time.monotonic(), 0.0))
    codes = [process.exitcode for process in processes]
    for process in processes:
        process.kill()
        process.join()
        process.close()
    if any(code != 0 for code in codes):  # None: it had to be killed
        raise FailedTrainingError(f"{name}: exit codes {codes}")


def _failed(what: str, error: Exception) -> None:
    raise RuntimeError(what) from error
