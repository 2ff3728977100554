"""Starts the demo's processes, each a group of its own, and leaves none behind."""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, TracebackType
from typing import NoReturn, Self

import psutil

from .hosts import DemoHost

_GRACE_SECONDS = 4.0


@dataclass(slots=True)
class DemoProcess:
    """A running program, by the name the demo gives it, and where its output goes."""

    name: str
    log: Path
    handle: subprocess.Popen[bytes]

    @property
    def ended(self) -> int | None:
        """Return its exit code, None while it runs."""
        return self.handle.poll()


class DemoProcesses:
    """All processes of the demo; leaving the context ends them, the last started first."""

    def __init__(self, logs: Path) -> None:
        """Keep the output of each in this folder, one file a process."""
        self._logs = logs
        self._running: list[DemoProcess] = []
        self._at_end: list[Callable[[], None]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End everything, then undo what was done outside of processes."""
        try:
            self.stop(*self._running)
        finally:
            for undo in reversed(self._at_end):
                undo()

    def at_end(self, undo: Callable[[], None]) -> None:
        """Call this when all processes have ended."""
        self._at_end.append(undo)

    def start(
        self,
        name: str,
        command: Sequence[str],
        *,
        environ: Mapping[str, str],
        host: DemoHost | None = None,
        nice: int = 0,
    ) -> DemoProcess:
        """Start a program, on the CPUs of a host if one is given."""
        log = self._logs / f"{name}.log"
        mine = os.sched_getaffinity(0)
        with log.open("ab") as output:
            try:
                if host is not None and host.cpus:
                    os.sched_setaffinity(0, host.cpus)  # a child inherits where it may run
                handle = subprocess.Popen(
                    ["nice", "-n", str(nice), *command] if nice else list(command),
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    env=dict(environ),
                    start_new_session=True,
                )
            finally:
                os.sched_setaffinity(0, mine)
        process = DemoProcess(name, log, handle)
        self._running.append(process)
        return process

    def stop(self, *processes: DemoProcess, grace_seconds: float = _GRACE_SECONDS) -> None:
        """End these processes and everything they started; asks first, then insists.

        Ctrl-C while it waits ends the waiting, never what has to be ended.
        """
        rest = list(reversed(processes))
        below = [child for process in rest for child in _below(process)]
        try:
            for process in rest:
                _signal(process, signal.SIGTERM)
            for child in below:
                with contextlib.suppress(psutil.NoSuchProcess):
                    child.resume()  # a process that is stopped hears nothing but SIGKILL
            deadline = time.monotonic() + grace_seconds
            while time.monotonic() < deadline and any(process.ended is None for process in rest):
                time.sleep(0.05)
        finally:
            with _uninterrupted():
                self._kill(rest, below)

    def _kill(self, processes: Sequence[DemoProcess], below: Sequence[psutil.Process]) -> None:
        for process in processes:
            _signal(process, signal.SIGKILL)
            process.handle.wait()
        for child in below:
            with contextlib.suppress(psutil.NoSuchProcess):
                child.kill()
        self._running = [process for process in self._running if process not in processes]


def leave_on_signals() -> None:
    """Let SIGTERM and SIGHUP end this process as Ctrl-C does: with all that it started."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _leave)


def _leave(number: int, frame: FrameType | None) -> NoReturn:  # noqa: ARG001
    raise SystemExit(128 + number)


@contextlib.contextmanager
def _uninterrupted() -> Generator[None]:
    """Keep signals that would end this process waiting until the block is through."""
    before = signal.pthread_sigmask(
        signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    )
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _below(process: DemoProcess) -> Sequence[psutil.Process]:
    """Return what a process started: torchrun gives each rank a session of its own."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return psutil.Process(process.handle.pid).children(recursive=True)
    return ()


def _signal(process: DemoProcess, number: signal.Signals) -> None:
    """Signal the whole group; its leader may be gone while others of it still run."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.handle.pid, number)
