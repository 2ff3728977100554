"""A profile on request: torch.profiler over a few steps, when the agent's file asks for it.

Off unless the agent allows it: without its file nothing is looked at but that there is none, every
other second. A profile is the one thing here that costs the job something, and therefore bounded:
so many steps, so many seconds, one at a time. RANKSCOPE_PROFILE=0 refuses it for this process.
"""

import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from ..vocabulary import profiling
from ..vocabulary.identity import RankIdentity
from ..vocabulary.profiling import ProfileRequest, RequestError
from ..vocabulary.samples import Scalar
from .agent_socket import AgentSocket
from .traces import SealedTrace, TraceMessage, written

_LOOK_SECONDS = 2.0
_REMEMBERED = 64
_OFF = {"0", "off", "false", "no"}


class ProfiledSteps(Protocol):
    """The watch, as a profile sees it: `closers` are called at the end of each step."""

    closers: list[Callable[[], None]]

    def emit(self, event: str, at: float | None = None, **attributes: Scalar) -> None:
        """Send an event of this rank."""
        ...


class ProfileRequests:
    """Looks for requests in the sender's thread, profiles in the thread that trains."""

    def __init__(
        self,
        *,
        agent: AgentSocket,
        identity: Callable[[], RankIdentity],
        watch: ProfiledSteps,
        send: Callable[[TraceMessage], None],
        environ: Mapping[str, str],
    ) -> None:
        self._agent = agent
        self._identity = identity
        self._watch = watch
        self._send = send
        self._refused = environ.get("RANKSCOPE_PROFILE", "").strip().lower() in _OFF
        self._next = 0.0
        self._seen: tuple[int, int] | None = None
        self._done: list[str] = []
        self._wanted: ProfileRequest | None = None
        self._running: _ProfileRun | None = None

    def look(self, now: float) -> None:
        """Look for a request, in the sender's thread; raises OSError and RequestError."""
        if 0 < self._next - now <= _LOOK_SECONDS:
            return
        self._next = now + _LOOK_SECONDS
        wanted = self._wanted
        if wanted is not None and self._running is None and now > wanted.until:
            self._leave()
            self._fail(wanted, "no step ended before the request expired")
        if self._wanted is None and self._agent.path is not None:
            self._find(now)

    def close(self) -> None:
        """End a profile that runs: the probe is being detached."""
        self._watch.closers = [each for each in self._watch.closers if each != self._step_ended]
        running, self._running, self._wanted = self._running, None, None
        if running is not None:
            running.profiler.stop()

    def _find(self, now: float) -> None:
        assert self._agent.path is not None  # noqa: S101  looked at by the caller
        path = profiling.requests_file(self._agent.path)
        try:
            status = path.stat()
        except FileNotFoundError:
            self._seen = None
            return
        if self._seen == (status.st_ino, status.st_mtime_ns):
            return
        self._seen = (status.st_ino, status.st_mtime_ns)
        # Whoever owns the socket is the agent; in a folder of everybody others could write files.
        if status.st_uid not in (0, self._agent.path.stat().st_uid) or status.st_mode & 0o022:
            return
        with path.open("rb") as file:
            data = file.read(profiling.LARGEST + 1)
        if len(data) > profiling.LARGEST:
            raise RequestError(f"more than {profiling.LARGEST} bytes")
        me = self._identity()
        for request in profiling.unpack(data):
            mine = (request.job, request.rank) == (me.job, me.rank)
            if mine and request.until > now and request.id not in self._done:
                self._begin(request)
                return

    def _begin(self, request: ProfileRequest) -> None:
        self._done = [*self._done[-_REMEMBERED:], request.id]
        if self._refused:
            self._fail(request, "the job refuses profiles (RANKSCOPE_PROFILE=0)")
            return
        torch: Any = sys.modules.get("torch")
        if getattr(torch, "profiler", None) is None:
            self._fail(request, "the process has not imported torch.profiler")
            return
        self._wanted = request
        # A new list, since the thread that trains may be walking through the old one.
        self._watch.closers = [*self._watch.closers, self._step_ended]

    def _leave(self) -> None:
        self._watch.closers = [each for each in self._watch.closers if each != self._step_ended]
        self._wanted = self._running = None

    def _step_ended(self) -> None:
        """Begin at the end of a step, and end some steps later; in the thread that trains."""
        wanted, running = self._wanted, self._running
        if wanted is None:
            return
        try:
            if running is None:
                self._running = _ProfileRun(wanted, sys.modules["torch"])
                return
            running.steps += 1
            if running.steps < wanted.steps and running.seconds() < wanted.seconds:
                return
            running.stop()
        except Exception as error:  # noqa: BLE001  the job goes on without a profile
            self._leave()
            self._fail(wanted, f"{type(error).__name__}: {error}"[:300])
            return
        self._leave()
        # Neither the thread that trains nor the one that reports waits for a trace to be written.
        threading.Thread(
            target=self._write, args=(running,), name="rankscope-profile", daemon=True
        ).start()

    def _write(self, run: "_ProfileRun") -> None:
        request = run.request
        try:
            trace = written(run.profiler.export_chrome_trace, max_bytes=request.max_bytes)
        except Exception as error:  # noqa: BLE001  the job goes on without a profile
            self._fail(request, f"{type(error).__name__}: {error}"[:300])
            return
        self._send(self._message(run, trace))

    def _message(self, run: "_ProfileRun", trace: SealedTrace) -> TraceMessage:
        attributes: dict[str, Scalar] = {
            "pid": os.getpid(),
            "request": run.request.id,
            "status": "complete",
            "steps": run.steps,
            "seconds": run.length,
        }
        return TraceMessage(profiling.EVENT, time.time(), attributes, trace)

    def _fail(self, request: ProfileRequest, text: str) -> None:
        self._watch.emit(
            profiling.EVENT, pid=os.getpid(), request=request.id, status="failed", text=text
        )


class _ProfileRun:
    """A profile that runs: begun with this object, in the thread that trains."""

    def __init__(self, request: ProfileRequest, torch: Any) -> None:
        if torch.autograd._profiler_enabled():  # noqa: SLF001  the only way to ask
            raise RuntimeError("the job is being profiled by something else")
        kind = torch.profiler.ProfilerActivity
        activities = [kind.CPU]
        cuda = getattr(torch, "cuda", None)
        if cuda is not None and cuda.is_initialized():  # asking must not make a context
            activities.append(kind.CUDA)
        self.request = request
        self.steps = 0
        self.length = 0.0
        self.profiler: Any = torch.profiler.profile(activities=activities)
        self.profiler.start()
        self._began = time.perf_counter()

    def seconds(self) -> float:
        """Return how long it has been running."""
        return time.perf_counter() - self._began

    def stop(self) -> None:
        self.length = self.seconds()
        self.profiler.stop()
