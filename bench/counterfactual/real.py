"""Small torch jobs over gloo, each with a fault that ends while the job goes on.

What the probes of all ranks send goes into a pipeline. The meter is asked when the fault has lasted
for a while; the truth is how long steps took once it was over.
"""

import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from rankscope.collector.pipeline.pipeline import DetectionPipeline
from rankscope.detectors.counterfactual.comparing import compared
from rankscope.formats.otlp import encode
from rankscope.formats.otlp.decode import MetricsDecoder
from rankscope.lab.demo.stage import clean_environment, free_port
from rankscope.vocabulary import datagram
from rankscope.vocabulary.ids import Fault, Job
from rankscope.vocabulary.samples import Sample, TelemetryResource, attributes

from .episodes import RANKS, RealEpisode, drawn
from .figures import MeasuredCase

LONG = 5.0
STEP = "training.step.duration"


@dataclass(slots=True)
class ReportedSteps:
    """What the ranks of one job reported, in order of arrival, each with its rank."""

    samples: list[tuple[int, Sample]] = field(default_factory=list)

    def index(self) -> dict[tuple[int, float], int]:
        """Return the index of each step by the rank and the end of it."""
        rows = (row for row in self.samples if row[1].metric == "training.step")
        return {(rank, sample.at): int(sample.value) for rank, sample in rows}

    def durations(self) -> dict[int, float]:
        """Return the median duration of each step over ranks (s), by index."""
        index = {
            (rank, s.at): int(s.value) for rank, s in self.samples if s.metric == "training.step"
        }
        found: dict[int, list[float]] = {}
        for rank, sample in self.samples:
            if sample.metric == STEP and (rank, sample.at) in index:
                found.setdefault(index[rank, sample.at], []).append(sample.value)
        return {step: float(np.median(values)) for step, values in sorted(found.items())}


def run(count: int, seed: int, kinds: Sequence[str]) -> dict[str, ReportedSteps]:
    """Run the episodes; return what was reported, by job."""
    found: dict[str, ReportedSteps] = {}
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        path = str(Path(folder) / "agent.sock")
        receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        receiver.bind(path)
        receiver.settimeout(0.5)
        ranks = _started([str(count), str(seed), ",".join(kinds)], path)
        while any(process.poll() is None for process in ranks):
            for sent in _received(receiver):
                steps = found.setdefault(sent.job, ReportedSteps())
                steps.samples += [(sent.rank, sample) for sample in sent.samples]
        receiver.close()
    return found


def measured(episode: RealEpisode, reported: ReportedSteps) -> MeasuredCase | None:
    """Return what the meter says at the end of the fault, beside what came after."""
    took = reported.durations()
    ends: dict[int, float] = {}
    pipeline = DetectionPipeline()
    decoder = MetricsDecoder(pipeline.table)
    by_rank: dict[int, list[Sample]] = {}
    index = reported.index()
    for (_, at), step in index.items():
        ends[step] = max(ends.get(step, 0.0), at)
    until = ends[episode.end - 1]
    for rank, sample in reported.samples:
        if index.get((rank, sample.at), 0) < episode.end:
            by_rank.setdefault(rank, []).append(_of_rank(sample, rank))
    resource = TelemetryResource("host-a", episode.job, attempt=0)
    body = encode.metrics_json([(resource, [s for rows in by_rank.values() for s in rows])])
    pipeline.metrics(decoder.json(body), until)
    attempt = pipeline.windows.attempt(Job(episode.job))
    if attempt is None:
        return None
    window = pipeline.windows.window(attempt, until)
    onset = ends[episode.begin - 1]
    found = compared(window, Fault(episode.fault), episode.ranks, onset)
    if found is None:
        return None
    after = _mean([took[step] for step in took if step >= episode.end + 2])
    return MeasuredCase(
        name=episode.job,
        fault=episode.fault,
        named=episode.fault,
        right=True,
        basis=found.basis,
        now=found.step_seconds,
        truth=after,
        estimate=found.without.step_seconds,
        low=found.without.low,
        high=found.without.high,
    )


def _of_rank(sample: Sample, rank: int) -> Sample:
    pairs = dict(sample.attributes)
    return Sample(sample.metric, sample.value, sample.at, attributes({**pairs, "rank": rank}))


def _mean(values: Sequence[float]) -> float:
    known = np.array(values)
    return float(known[known <= LONG * np.median(known)].mean())


def _received(receiver: socket.socket) -> Iterator[datagram.ProbeDatagram]:
    """Yield the datagrams that come within half a second."""
    deadline = time.monotonic() + 0.5
    while time.monotonic() < deadline:
        try:
            data = receiver.recv(datagram.LARGEST)
        except TimeoutError:
            return
        yield datagram.decode(data)


def _started(arguments: Sequence[str], path: str) -> list[subprocess.Popen[bytes]]:
    port = free_port()
    return [
        subprocess.Popen(
            [sys.executable, "-m", "bench.counterfactual.ranks", *arguments],
            env={
                **clean_environment(),
                "RANK": str(rank),
                "WORLD_SIZE": str(RANKS),
                "MASTER_ADDR": "127.0.0.1",
                "MASTER_PORT": str(port),
                "RANKSCOPE_AGENT": f"unix://{path}",
                "OMP_NUM_THREADS": "1",
            },
        )
        for rank in range(RANKS)
    ]


def cases(count: int, seed: int, kinds: Sequence[str]) -> list[MeasuredCase]:
    """Run so many episodes of some kinds; return those that were measured."""
    reported = run(count, seed, kinds)
    rows = [
        measured(episode, reported[episode.job])
        for episode in drawn(count, seed, kinds)
        if episode.job in reported
    ]
    return [row for row in rows if row is not None]
