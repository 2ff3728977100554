"""`python -m bench.buffered`: jobs of which only a log is known that is written in blocks.

Nothing is wrong with them, and none may be called hung; at the end each hangs. Lines are a
training script's, read by the real parser in turns as an agent reads them, and evaluated by the
real pipeline in simulated time. One JSON line a case.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np

from rankscope.collector.pipeline.pipeline import DetectionPipeline
from rankscope.formats.otlp import encode
from rankscope.formats.otlp.decode import MetricsDecoder
from rankscope.formats.training_logs import TrainingLogParser
from rankscope.vocabulary.samples import Sample, TelemetryResource, attributes

START = 1_700_000_000.0
RANKS, PUSH_SECONDS = 4, 5
STARTED_SECONDS = 40.0
"""From the start of the processes to the first step."""
PYTHONS_BLOCK = 8192


@dataclass(frozen=True, slots=True)
class BufferedCase:
    """A job and how its log is written.

    step: seconds. every: a line each so many steps. block: bytes that are written at once, 0: each
    line. flush: seconds between two writes, and by what factor each is longer than the one before.
    stamped: lines have times of their own. evaluation: (each so many steps, seconds), without a
    line. cpu: CPUs that each rank's process uses.
    """

    name: str
    step: float = 0.5
    every: int = 1
    block: int = 0
    flush: tuple[float, float] = (0.0, 1.0)
    stamped: bool = False
    evaluation: tuple[int, float] = (0, 0.0)
    cpu: float = 1.0


CASES = (
    BufferedCase("each line at once"),
    BufferedCase("each line at once, evaluations of 45 s", evaluation=(500, 45.0)),
    BufferedCase("Python's blocks of 8 KiB, steps of 0.5 s", block=PYTHONS_BLOCK),
    BufferedCase("Python's blocks of 8 KiB, steps of 2.5 s", step=2.5, block=PYTHONS_BLOCK),
    BufferedCase("Python's blocks of 8 KiB, a line in ten steps", every=10, block=PYTHONS_BLOCK),
    BufferedCase("Python's blocks of 8 KiB, evaluations of 90 s", block=PYTHONS_BLOCK,
         evaluation=(500, 90.0)),
    BufferedCase("Python's blocks of 8 KiB, lines with times", block=PYTHONS_BLOCK, stamped=True),
    BufferedCase("every minute", flush=(60.0, 1.0)),
    BufferedCase("every minute, evaluations of 90 s", flush=(60.0, 1.0), evaluation=(400, 90.0)),
    BufferedCase(
        "every two minutes, lines with times, as TensorBoard", flush=(120.0, 1.0), stamped=True
    ),
    BufferedCase("every ten minutes, lines with times", flush=(600.0, 1.0), stamped=True),
    BufferedCase("less and less often, by a half each time", flush=(20.0, 1.5)),
    BufferedCase("less and less often, lines with times", flush=(20.0, 1.5), stamped=True),
    BufferedCase("every minute, processes that use a third of a CPU", flush=(60.0, 1.0), cpu=0.33),
)  # fmt: skip


def main() -> int:
    """Run the cases; 0 when no healthy job had an incident above info."""
    parser = argparse.ArgumentParser(prog="python -m bench.buffered", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0, help="healthy, of each case")
    parser.add_argument("--only", help="cases whose name has this text")
    wanted = parser.parse_args()
    false = 0
    for case in CASES:
        if wanted.only is None or wanted.only in case.name:
            row = run(case, 60.0 * wanted.minutes)
            false += row["above_info"]
            print(json.dumps(row), flush=True)
    return 1 if false else 0


def run(case: BufferedCase, healthy: float, hung: float = 3600.0) -> dict[str, Any]:
    """Return what one job had while it was well, and when it was found to hang, s.

    first_word counts from the last step that ended, written or not; None: not within `hung`.
    """
    pipeline = DetectionPipeline()
    decoder = MetricsDecoder(pipeline.table)
    parser = TrainingLogParser(rank=0, world_size=RANKS, zone=UTC)
    texts = _written(case, healthy)
    stands = float("inf")
    waiting: list[Sample] = []
    left = next(texts, None)
    false: dict[str, tuple[str, str]] = {}
    row: dict[str, Any] = {"case": case.name, "minutes": healthy / 60, "above_info": 0}
    for second in range(int(STARTED_SECONDS + healthy + hung)):
        while left is not None and left[0] <= second:
            logged = parser.feed(left[1], START + second, START + max(second - 1.0, 0.0))
            waiting += [sample for line in logged for sample in line.samples]
            stands = left[2]
            left = next(texts, None)
        if second % PUSH_SECONDS == 0:
            waiting += _processes(case, second, second > STARTED_SECONDS + healthy)
            body = encode.metrics_json([(TelemetryResource("host-a", "job", attempt=0), waiting)])
            pipeline.metrics(decoder.json(body), START + second)
            waiting = []
        pipeline.evaluate(START + second)
        for key, incident in pipeline.incidents.items():
            if second < STARTED_SECONDS + healthy:
                false[key] = (incident.severity, incident.symptoms[0].kind)
            elif key not in false and left is None:
                row["first_word"] = round(second - stands, 1)
        if "first_word" in row:
            break
    row["incidents"] = sorted(false.values())
    row["above_info"] = sum(severity != "info" for severity, _ in false.values())
    return row


def _written(case: BufferedCase, healthy: float) -> Iterator[tuple[float, bytes, float]]:
    """Yield (when it can be read, bytes, when the newest step among them ended), s from the start.

    The last of them is what the job writes before it hangs; what is in its buffer then stays there.
    """
    held, due, pause = b"", STARTED_SECONDS + case.flush[0], case.flush[0]
    at = newest = STARTED_SECONDS
    rng = np.random.default_rng(7)
    index = 0
    while at < STARTED_SECONDS + healthy:
        index += 1
        at += case.step * float(rng.normal(1.0, 0.02))
        if case.evaluation[0] and index % case.evaluation[0] == 0:
            at += case.evaluation[1]
        newest = at
        if index % case.every == 0:
            held += _line(case, index, at, 3.0 / (1 + index / 500) + float(rng.normal(0, 0.02)))
        if case.block:
            while len(held) >= case.block:
                yield at, held[: case.block], newest
                held = held[case.block :]
        elif not pause:
            yield at, held, newest
            held = b""
        elif at >= due:
            yield at, held, newest
            pause *= case.flush[1]
            held, due = b"", at + pause


def _line(case: BufferedCase, index: int, at: float, loss: float) -> bytes:
    if not case.stamped:
        return f"iter {index}: loss {loss:.4f}, time {1000 * case.step:.2f}ms\n".encode()
    stamp = datetime.fromtimestamp(START + at, UTC).strftime("%Y-%m-%d %H:%M:%S,%f")[:-3]
    return (
        f"[titan] {stamp} - root - INFO - step: {index}  loss: {loss:.5f}  grad_norm: 1.2345  "
        "memory: 40.12GiB(50.63%)  tps: 5,678  tflops: 300.12  mfu: 30.34%\n"
    ).encode()


def _processes(case: BufferedCase, second: int, hangs: bool) -> list[Sample]:  # noqa: FBT001
    """Return what an agent reports of the processes: that they live, and their CPUs."""
    found: list[Sample] = []
    for rank in range(RANKS):
        pairs = {"rank": rank, "pid": 1000 + rank}
        who = attributes({**pairs, "local_rank": rank, "world_size": RANKS})
        role = attributes({**pairs, "role": "trainer"})
        cpu = case.cpu if not hangs or case.cpu >= 1.0 else 0.0
        at = START + second
        found += [
            Sample("training.rank.info", 1.0, at, who),
            Sample("process.cpu.utilization", cpu, at, role),
        ]
    return found


if __name__ == "__main__":
    sys.exit(main())
