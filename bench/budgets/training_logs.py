"""What reading training jobs' logs costs: megabytes a second of one core, and a job that floods.

`mixed` is a log of ordinary lines, progress bars, NCCL's own lines and one line in a hundred of a
framework; `frameworks_only` has nothing but those. The baseline looks at every line by itself, with
one search for each text that a line of interest has: what a reader without a prefilter does.
"""

import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from rankscope.agent.health import AgentHealth
from rankscope.agent.settings import LogFiles
from rankscope.agent.training_logs import LaunchedProcesses, LogBatch, LogFollower, LogSources
from rankscope.agent.training_logs.positions import FilePositions
from rankscope.formats import training_logs
from rankscope.formats.training_logs import parser

_BYTES = 16_000_000
_PIECE = 1 << 20
_FLOOD = 100_000_000
"""Bytes a second."""
_WRITER = """
import os, sys, time
path, per_second, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
data = sys.stdin.buffer.read()
fd, started, written = os.open(path, os.O_WRONLY | os.O_APPEND), time.monotonic(), 0
while time.monotonic() - started < seconds:
    written += os.write(fd, data)
    if written % (2 * per_second) < len(data):
        os.ftruncate(fd, 0)  # so that the disk does not fill
    time.sleep(max(0.0, started + written / per_second - time.monotonic()))
print(written)
"""


def measure(seconds: float) -> dict[str, Any]:
    """Return the speed of reading, and the share of a core that a flood takes."""
    mixed = _log(0.01)
    read, baseline = _speed(mixed), _baseline(mixed)
    return {
        "mixed_mb_per_second": round(read, 1),
        "frameworks_only_mb_per_second": round(_speed(_log(1.0)), 1),
        "baseline": "line by line, a search for each text",
        "baseline_mb_per_second": round(baseline, 1),
        "ratio_to_baseline": round(read / baseline, 1),
        "flood": _flood(mixed[:_PIECE], max(4.0, seconds)),
    }


def _speed(data: bytes) -> float:
    one = training_logs.TrainingLogParser(rank=0)
    started = time.process_time()
    for begin in range(0, len(data), _PIECE):
        one.feed(data[begin : begin + _PIECE], 1.78e9)
    return len(data) / 1e6 / (time.process_time() - started)


def _baseline(data: bytes) -> float:
    texts = [text.encode() for text in parser.needles(training_logs.shipped())]
    data = data[: len(data) // 4]
    started = time.process_time()
    found = sum(any(text in line for text in texts) for line in data.split(b"\n"))
    took = time.process_time() - started
    return len(data) / 1e6 / took if found else 0.0


def _flood(data: bytes, seconds: float) -> dict[str, Any]:
    """Follow a file that grows by 100 MB a second, as the agent's thread does."""
    health = AgentHealth()
    samples = 0

    def take(batch: LogBatch | LaunchedProcesses) -> None:
        nonlocal samples
        if isinstance(batch, LogBatch):
            samples += len(batch.samples)

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "train.log"
        path.touch()
        follower = LogFollower(
            sources=LogSources(processes=None, named=[LogFiles(path=str(path), job="bench")]),
            positions=FilePositions(None),
            health=health,
            deliver=take,
        )
        follower.turn(time.time())
        command = [sys.executable, "-c", _WRITER, str(path), str(_FLOOD), str(seconds)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
            stdin = writer.stdin
            if stdin is not None:
                stdin.write(data[: data.rfind(b"\n") + 1])
                stdin.close()
            used, started = time.process_time(), time.monotonic()
            while writer.poll() is None:
                time.sleep(1.0)
                follower.turn(time.time())
            share = (time.process_time() - used) / (time.monotonic() - started)
            written = int(writer.stdout.read()) if writer.stdout else 0
        follower.close(time.time())
    return {
        "written_mb_per_second": round(written / 1e6 / seconds, 1),
        "read_mb": round(health.counted("log_bytes") / 1e6, 1),
        "left_out_mb": round(health.counted("log_bytes_skipped") / 1e6, 1),
        "samples": samples,
        "cpu_share_of_a_core": round(share, 4),
    }


def _log(share: float) -> bytes:
    """Return a log with a share of lines of frameworks, the same every time."""
    chance = random.Random(1)
    lines: list[str] = []
    size = 0
    while size < _BYTES:
        number = len(lines)
        line = _of_a_framework(number) if chance.random() < share else _ordinary(chance)
        lines.append(line)
        size += len(line) + 1
    return ("\n".join(lines) + "\n").encode()


def _ordinary(chance: random.Random) -> str:
    kind, number = chance.random(), chance.randrange(100_000)
    if kind < 0.3:
        return (
            f"2026-08-22 12:00:{number % 60:02},{number % 1000:03} - train - INFO - worker "
            f"{number % 64} fetched shard s3://bucket/data/{number:08}.tar in {kind:.2f} s"
        )
    if kind < 0.5:
        return (
            f"node-{number % 99}:{number}:{number} [{number % 8}] NCCL INFO Channel "
            f"{number % 32:02}/0 : 1[1b000] -> 2[2c000] via P2P/IPC/read"
        )
    if kind < 0.7:
        bar = "\u2588" * (number % 20)
        return f"\r{number % 100:3}%|{bar}| {number}/99999 [01:02<03:04, {10 * kind:.2f}it/s]"
    if kind < 0.85:
        return (
            f"[2026-08-22 12:00:00,{number % 1000:03}][data.loader][WARNING] sample {number} is "
            "longer than 4096 tokens and was truncated to the maximum length of the model"
        )
    return f'  File "/opt/lib/torch/nn/modules/module.py", line {number % 2000}, in _call_impl'


def _of_a_framework(number: int) -> str:
    if number % 2:
        return f"{{'loss': {number / 999:.4f}, 'grad_norm': 0.54, 'learning_rate': 5e-05}}"
    return (
        f" [2026-08-22 15:22:{number % 60:02}.123456] iteration {number:8d}/  500000 | consumed "
        f"samples: {number:12d} | elapsed time per iteration (ms): 10345.6 | learning rate: "
        "1.500000E-04 | global batch size:  1024 | lm loss: 2.345678E+00 | loss scale: 1.0 | grad "
        "norm: 0.512 | number of skipped iterations:   0 | number of nan iterations:   0 |"
    )


if __name__ == "__main__":
    print(json.dumps(measure(float(sys.argv[1]) if len(sys.argv) > 1 else 10.0), indent=2))
