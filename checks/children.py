"""A check in a child process of its own: bounded in time, ended whole, with nothing left of it."""

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import IO

from .measurements.rows import MOST_ROWS, CheckOrder, MeasuredRow

MOST_ANSWER = 1 << 20
"""Bytes of an answer; more is no answer of ours."""
LOOK_SECONDS = 0.5
"""How often it is asked whether somebody else needs the node."""
_MOST_SAID = 300

Command = Sequence[str]
CHILD: Command = (sys.executable, "-m", "rankscope.checks.worker")

Yielding = Callable[[], str]
"""Says why the node is to be left at once, "" while it is not."""


def measure(
    order: CheckOrder,
    *,
    most_seconds: float,
    yielding: Yielding,
    command: Command = CHILD,
) -> list[MeasuredRow]:
    """Return what a child measured; one that hangs, is killed or fails gives a row that says so.

    The child leads a process group. Whatever happens here, an interrupt too, the group is killed
    and waited for before this returns.
    """
    environment = {
        **os.environ,
        "RANKSCOPE_CHECK_PARENT": str(os.getpid()),
        "OPENBLAS_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
    }
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        start_new_session=True,
    ) as process:
        try:
            return _answered(process, order, time.monotonic() + most_seconds, yielding)
        finally:
            _end(process)


def _answered(
    process: "subprocess.Popen[bytes]", order: CheckOrder, end: float, yielding: Yielding
) -> list[MeasuredRow]:
    assert process.stdin is not None  # noqa: S101  asked for above
    assert process.stdout is not None  # noqa: S101
    assert process.stderr is not None  # noqa: S101
    with contextlib.suppress(BrokenPipeError):
        process.stdin.write(json.dumps(order.document()).encode() + b"\n")
        process.stdin.close()
    answer, said = bytearray(), bytearray()
    pipes: dict[int, tuple[IO[bytes], bytearray]] = {
        process.stdout.fileno(): (process.stdout, answer),
        process.stderr.fileno(): (process.stderr, said),
    }
    while process.stdout.fileno() in pipes and not answer.endswith(b"\n"):
        if why := yielding():
            return [MeasuredRow("", missing=why)]
        left = end - time.monotonic()
        if left <= 0:
            return [MeasuredRow("", failed="it did not end in time and was killed")]
        ready, _, _ = select.select(list(pipes), [], [], min(left, LOOK_SECONDS))
        for number in ready:
            data = os.read(number, 1 << 16)
            if not data:
                del pipes[number]
            held = pipes[number][1] if number in pipes else bytearray()
            held += data[: MOST_ANSWER - len(held)]
    try:
        given = json.loads(answer)
        return [MeasuredRow.read(row) for row in given[:MOST_ROWS]]
    except (ValueError, TypeError, KeyError):
        return [MeasuredRow("", failed=_ended(process, bytes(said)))]


def _ended(process: "subprocess.Popen[bytes]", said: bytes) -> str:
    try:
        code = process.wait(1.0)
    except subprocess.TimeoutExpired:
        return "it closed its output and did not end"
    if code < 0:
        return f"it was killed by {_signal_name(-code)}"
    lines = said.decode(errors="replace").strip().splitlines()
    return f"it ended with {code}: {lines[-1][:_MOST_SAID] if lines else 'it said nothing'}"


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Kill what is left of the group: the child, and what it started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
