"""Stacks of training processes that fell silent: what the process itself cannot send.

Silent is a probe that sends nothing, and, of a rank without a probe, a log that shows no step for
longer than it ever does.

First what its watchdog wrote into the memory that the agent holds open (another thread holds the
interpreter's lock), else what the kernel says (stopped by a signal, waiting uninterruptibly), else
py-spy, where the settings allow it and it is there.
"""

import logging
import queue
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ..formats.stacks import py_spy
from ..formats.training_logs import crashes
from ..vocabulary.samples import Event, Scalar
from . import procfs
from .open_file import OpenFile
from .trainers import Key, TrainerProcess

if TYPE_CHECKING:
    from .settings import StacksSettings

SHORTEST_SECONDS = 12.0
"""As long as a probe may be silent."""
_TIMES = 3.0
_FEWEST = 5
_KEPT = 64
_MOST_JOBS = 256

Attempt = tuple[str, int | None]
"""Job and attempt."""


@dataclass(slots=True)
class _JobPauses:
    last: float
    pauses: deque[float] = field(default_factory=lambda: deque(maxlen=_KEPT))


class LogPauses:
    """The newest pauses of every job of this node; for one thread. Times are seconds."""

    def __init__(self) -> None:
        self._jobs: dict[Attempt, _JobPauses] = {}

    def logged(self, of: Attempt, now: float) -> None:
        """Note that logs of a job showed something of a step."""
        job = self._jobs.get(of)
        if job is None:
            if len(self._jobs) >= _MOST_JOBS:
                del self._jobs[next(iter(self._jobs))]
            self._jobs[of] = _JobPauses(now)
            return
        job.pauses.append(now - job.last)
        job.last = now

    def silent(self, of: Attempt, now: float) -> bool:
        """Return whether it is longer since then than anything this job's logs explain."""
        job = self._jobs.get(of)
        if job is None or len(job.pauses) < _FEWEST:
            return False
        return now - job.last > max(SHORTEST_SECONDS, _TIMES * max(job.pauses))


STACK = "process.stack"
"""Name of the event."""
SILENT_SECONDS = 12.0
"""Two heartbeats were missed, and more."""
_AGAIN_SECONDS = 30.0
_LONGEST = 64 << 10
_SPY_SECONDS = 5.0
_STATES = {"T": "stopped by a signal", "t": "stopped by a debugger"}

_log = logging.getLogger(__name__)


class HungProcesses:
    """Looks at silent processes once a second, on the agent's main thread."""

    def __init__(
        self, settings: "StacksSettings", *, proc: Path, spied: Callable[[Event], None]
    ) -> None:
        self._proc = proc
        self._files: dict[Key, OpenFile] = {}
        self._due: dict[Key, float] = {}
        self._spied = spied
        self.pauses = LogPauses()
        self._spying: queue.Queue[tuple[TrainerProcess, float]] = queue.Queue(4)
        self._spy = _py_spy() if settings.py_spy else None
        if self._spy is not None:
            threading.Thread(target=self._run, name="py-spy", daemon=True).start()

    def hold(self, trainer: TrainerProcess, file: OpenFile) -> None:
        """Keep the file that a probe's watchdog writes into; anything else is let go of.

        Only memory is kept: reading anything else could keep the agent waiting.
        """
        if trainer.key not in self._files and file.seals() is not None:
            self._files[trainer.key] = file

    def stacks(self, trainers: Iterable[TrainerProcess], now: float) -> list[Event]:
        """Return the stacks of those that are silent, each at most twice a minute."""
        here = {trainer.key: trainer for trainer in trainers}
        self._files = {key: file for key, file in self._files.items() if key in here}
        self._due = {key: at for key, at in self._due.items() if key in here}
        found: list[Event] = []
        for trainer in here.values():
            if trainer.pid is None or not self._silent(trainer, now):
                self._due.pop(trainer.key, None)
                continue
            if now < self._due.get(trainer.key, 0.0):
                continue
            text = self._text(trainer, trainer.pid)
            if text:
                self._due[trainer.key] = now + _AGAIN_SECONDS
                found.append(_event(trainer, text, now))
            elif self._spy is not None and not self._spying.full():
                self._due[trainer.key] = now + _AGAIN_SECONDS
                self._spying.put_nowait((trainer, now))
        return found

    def _silent(self, trainer: TrainerProcess, now: float) -> bool:
        if trainer.probed:
            return now - trainer.last_received >= SILENT_SECONDS
        return self.pauses.silent((trainer.job, trainer.attempt), now)

    def _text(self, trainer: TrainerProcess, pid: int) -> str:
        file = self._files.get(trainer.key)
        if file is not None:
            try:
                dumped = file.begin(_LONGEST).decode(errors="replace")
            except OSError:
                dumped = ""
            if text := main_thread(dumped):
                return text
        return _kernel(pid, self._proc)

    def _run(self) -> None:
        while True:
            trainer, now = self._spying.get()
            command = [str(self._spy), "dump", "--nonblocking", "--pid", str(trainer.pid)]
            try:
                done = subprocess.run(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    timeout=_SPY_SECONDS,
                    check=True,
                )
            except (OSError, subprocess.SubprocessError):
                continue  # not permitted, or gone meanwhile
            calls = py_spy.main_thread(done.stdout[:_LONGEST].decode(errors="replace"))
            if text := crashes.joined(calls):
                self._spied(_event(trainer, text, now))


def _py_spy() -> str | None:
    from .profiling import spying  # noqa: PLC0415  with profiling as a whole, 1 MB

    found = spying.program()
    if found is None:
        _log.warning("stacks.py_spy: %s", spying.MISSING)
    return found


def _event(trainer: TrainerProcess, text: str, at: float) -> Event:
    """Return the event that carries a stack."""
    labels: dict[str, Scalar] = {"rank": trainer.rank, "text": text}
    if trainer.pid is not None:
        labels["pid"] = trainer.pid
    return Event(STACK, at, labels)


def main_thread(text: str) -> str:
    """Return the main thread's stack of what faulthandler wrote, as a probe would send it.

    faulthandler lists the newest thread first, so the main thread comes last. "" for anything else.
    """
    _, _, last = text.rpartition("(most recent call first):")
    return crashes.joined([found for line in last.splitlines() if (found := crashes.call(line))])


def _kernel(pid: int, proc: Path) -> str:
    """Return what the kernel says of a process that cannot run; "" for one that can."""
    state = procfs.state(pid, proc)
    if state in _STATES:
        return f"process is {_STATES[state]} (state {state})"
    if state == "D":
        return f"process waits uninterruptibly in {_wait_channel(pid, proc)} (state D)"
    return ""


def _wait_channel(pid: int, proc: Path) -> str:
    """Return the kernel's function that a process waits in, where it says."""
    name = procfs.read(f"{proc}/{pid}/wchan") or ""
    return name if name.isidentifier() else "the kernel"
