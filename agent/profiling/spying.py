"""py-spy: what the main thread of a process without a probe does, seen from outside.

It reads the process's memory (the right to trace it is needed), does not stop it and loads nothing
into it. What it writes (begins and ends of Python functions, sampled a hundred times a second)
leaves as a Chrome trace of complete events.
"""

import gzip
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

PROGRAM = "py-spy"
MISSING = "there is no py-spy beside this Python or in PATH; pip install 'rankscope[py-spy]'"
_SAMPLES_A_SECOND = 100
_AFTER_SECONDS = 20.0
"""Beyond its own time: it reads the symbols of the process first."""
_LARGEST = 256 << 20
_MAIN = "<module>"
"""What the outermost call of a script's main thread is called; other threads begin in theirs."""


class SpyError(Exception):
    """There is no trace; the text says why."""


def program() -> str | None:
    """Return where py-spy is, beside this Python or in PATH; None where it is not."""
    beside = str(Path(sys.executable).parent)
    return shutil.which(PROGRAM, path=os.pathsep.join([beside, os.environ.get("PATH", "")]))


def record(spy: str, pid: int, *, seconds: float) -> bytes:
    """Return a trace of so many seconds, compressed. Raises SpyError."""
    with tempfile.TemporaryDirectory(prefix="rankscope-") as folder:
        path = Path(folder) / "trace"
        command = [
            spy, "record", "--pid", str(pid), "--format", "chrometrace", "--nonblocking", "--idle",
            "--rate", str(_SAMPLES_A_SECOND), "--duration", str(max(1, math.ceil(seconds))),
            "--output", str(path),
        ]  # fmt: skip
        said = b""
        try:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                timeout=seconds + _AFTER_SECONDS,
                check=False,
            )
            said = done.stderr
            body = path.read_bytes() if 0 < path.stat().st_size <= _LARGEST else b""
        except subprocess.TimeoutExpired as error:
            raise SpyError(f"py-spy did not end in {seconds + _AFTER_SECONDS:.0f} s") from error
        except OSError as error:
            raise SpyError(f"py-spy: {_last(said) or error.strerror}") from error
    if done.returncode or not body:
        raise SpyError(f"py-spy: {_last(said) or 'it wrote no trace'}")
    try:
        events = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise SpyError("py-spy wrote something that is not a trace") from error
    found = complete(events if isinstance(events, list) else [])
    if not found:
        raise SpyError("py-spy saw no call of the main thread")
    return gzip.compress(json.dumps({"traceEvents": found}).encode(), mtime=0)


def complete(events: Iterable[object]) -> list[dict[str, Any]]:
    """Return the calls of the main thread with their durations, from begins and ends.

    In the order in which they began, the outer one of two first.
    """
    threads: dict[object, list[dict[str, Any]]] = {}
    opened: dict[object, list[dict[str, Any]]] = {}
    main: object = None
    for event in events:
        if not isinstance(event, Mapping):
            continue
        thread, at, phase = (event.get("pid"), event.get("tid")), event.get("ts"), event.get("ph")
        if not isinstance(at, int | float) or phase not in ("B", "E"):
            continue
        held = opened.setdefault(thread, [])
        if phase == "B":
            if not held and event.get("name") == _MAIN:
                main = thread
            call = {
                "ph": "X",
                "cat": "python_function",
                "name": _called(event),
                "ts": float(at),
                "pid": event.get("pid"),
                "tid": event.get("tid"),
            }
            held.append(call)
            threads.setdefault(thread, []).append(call)
        elif held:
            call = held.pop()
            call["dur"] = max(0.0, float(at) - call["ts"])
    if main not in threads:
        main = max(threads, key=lambda thread: len(threads[thread]), default=None)
    return [call for call in threads.get(main, []) if "dur" in call]


def _called(event: Mapping[str, Any]) -> str:
    """Return a function with its file, which has no folders: they may name a tenant's home."""
    args = event.get("args")
    file = str(args.get("filename") or "") if isinstance(args, Mapping) else ""
    name = str(event.get("name", "?"))
    return f"{name} ({file.rpartition('/')[2]})" if file else name


def _last(said: bytes) -> str:
    """Return the last line that a program wrote."""
    lines = [line.strip() for line in said.decode(errors="replace").splitlines() if line.strip()]
    return lines[-1][:200] if lines else ""
