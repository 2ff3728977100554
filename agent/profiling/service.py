"""Profiles on request, in a thread of their own: asked for, allowed or not, taken, uploaded."""

import logging
import queue
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ...vocabulary.profiling import ProfileRequest, RequestError
from ...vocabulary.samples import Scalar
from ..health import AgentHealth
from ..open_file import SEALS, OpenFile
from ..requests.asking import CollectorCallError
from ..trainers import TrainerProcess
from . import spying
from .board import RequestBoard

if TYPE_CHECKING:
    from ..settings import ProfilingSettings

_LATE_SECONDS = 90.0
"""After a request expired, how long a profile that began in time may take to be here."""
_TRIES = 3
_RETRY_SECONDS = 2.0
_MOST_WAITING = 8
_MOST_REMEMBERED = 1024

_log = logging.getLogger(__name__)


class ProfileApi(Protocol):
    """The collector, as far as profiles need it; every call raises CollectorCallError."""

    def requests(self, host: str) -> list[object]: ...

    def upload(
        self, identity: str, rank: int, trace: OpenFile, size: int, *, steps: int, seconds: float
    ) -> None:
        """Send a trace of so many bytes."""
        ...

    def refuse(self, identity: str, rank: int, text: str) -> None:
        """Say why there will be no trace."""
        ...


@dataclass(frozen=True, slots=True)
class _ProbeAnswer:
    """What a probe answered."""

    request: ProfileRequest
    steps: int
    seconds: float
    text: str
    trace: OpenFile | None


class ProfileService:
    """Asks every few seconds; `take` is called by the main thread with what probes answered."""

    def __init__(
        self,
        settings: "ProfilingSettings",
        *,
        host: str,
        socket: Path,
        collector: ProfileApi,
        trainers: Callable[[], Sequence[TrainerProcess]],
        health: AgentHealth,
        now: Callable[[], float],
    ) -> None:
        self._settings = settings
        self._host = host
        self._collector = collector
        self._trainers = trainers
        self._health = health
        self._now = now
        self._board = RequestBoard(socket)
        self._spy = spying.program() if settings.py_spy else None
        if settings.py_spy and self._spy is None:
            _log.warning("profiling.py_spy: %s", spying.MISSING)
        self._spying = threading.Lock()
        self._answered: dict[tuple[str, int], None] = {}
        self._profiled: dict[tuple[str, int], float] = {}
        self._taken: queue.Queue[_ProbeAnswer | None] = queue.Queue(_MOST_WAITING)
        self._trouble = ""
        self._thread = threading.Thread(target=self._run, name="profiling", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self, *, timeout: float) -> None:
        """End, after what is being uploaded, or so many seconds."""
        try:
            self._taken.put_nowait(None)
        except queue.Full:
            return
        self._thread.join(timeout)
        self._board.close()

    def take(
        self, trainer: TrainerProcess, attributes: Mapping[str, Scalar], trace: OpenFile | None
    ) -> None:
        """Take a probe's answer; what nobody asked of that very process is nothing."""
        request = self._board.find(str(attributes.get("request")), trainer.rank)
        if request is None or request.job != trainer.job:
            return
        done = attributes.get("status") == "complete"
        steps, seconds = attributes.get("steps"), attributes.get("seconds")
        text = "" if done else str(attributes.get("text") or "the probe does not say why")[:300]
        try:
            self._taken.put_nowait(
                _ProbeAnswer(
                    request,
                    steps if isinstance(steps, int) else 0,
                    float(seconds) if isinstance(seconds, int | float) else 0.0,
                    text,
                    trace if done else None,
                )
            )
        except queue.Full:
            self._health.count("profiles", "dropped")

    def _run(self) -> None:
        while True:
            try:
                taken = self._taken.get(timeout=self._settings.poll_seconds)
            except queue.Empty:
                self._round()
                continue
            if taken is None:
                return
            try:
                self._deliver(taken)
            except Exception:  # noqa: BLE001  the edge of one profile
                self._health.count("profiles", "error")
                _log.exception("a profile could not be delivered")

    def _round(self) -> None:
        try:
            asked = self._collector.requests(self._host)
            if self._trouble:
                _log.info("the collector answers requests for profiles again")
            self._trouble = ""
        except CollectorCallError as error:
            if not self._trouble:
                _log.warning("requests for profiles cannot be fetched: %s", error)
            self._trouble = str(error)
            asked = []
        for row in asked:
            try:
                request = ProfileRequest.parse(row)
            except RequestError as error:
                self._health.count("profiles", "error")
                _log.warning("the collector sent an invalid request for a profile: %s", error)
                continue
            if (request.id, request.rank) not in self._answered:
                self._ask(request)
        now = self._now()
        for request in self._board.everything():
            if now > request.until + request.seconds + _LATE_SECONDS:
                self._refuse(request, "the probe did not answer: an older one, or it is stuck")

    def _ask(self, request: ProfileRequest) -> None:
        """Ask a probe, or say why not."""
        key = (request.id, request.rank)
        self._answered[key] = None
        while len(self._answered) > _MOST_REMEMBERED:
            del self._answered[next(iter(self._answered))]
        trainer, why = self._asked(request)
        if trainer is None or trainer.pid is None:
            self._refuse(request, why)
            return
        self._profiled[request.job, request.rank] = self._now()
        limits = self._settings
        bounded = replace(
            request,
            steps=min(request.steps, limits.max_steps),
            seconds=min(request.seconds, limits.max_seconds),
            max_bytes=min(request.max_bytes, limits.max_bytes),
        )
        if not trainer.probed:
            name = f"py-spy-{request.rank}"
            spy = threading.Thread(
                target=self._look, args=(bounded, trainer.pid), name=name, daemon=True
            )
            spy.start()
            return
        try:
            self._board.put(bounded)
        except OSError as error:
            self._refuse(request, f"the agent cannot write beside its socket: {error.strerror}")

    def _look(self, request: ProfileRequest, pid: int) -> None:
        """Have py-spy look at a process that has no probe, in a thread; one after the other."""
        trace, text = None, ""
        with self._spying:
            try:
                trace = OpenFile.of(spying.record(str(self._spy), pid, seconds=request.seconds))
            except (spying.SpyError, OSError) as error:
                text = str(error)
        try:
            self._taken.put_nowait(_ProbeAnswer(request, 0, request.seconds, text, trace))
        except queue.Full:
            self._health.count("profiles", "dropped")

    def _asked(self, request: ProfileRequest) -> tuple[TrainerProcess | None, str]:
        """Return the process to profile; None and why not, where it is not to be."""
        limits, now = self._settings, self._now()
        if limits.jobs and not any(fnmatchcase(request.job, jobs) for jobs in limits.jobs):
            return None, "this agent allows no profiles of that job (profiling.jobs)"
        if now > request.until:
            return None, "the request had expired when the agent saw it"
        mine = [
            trainer
            for trainer in self._trainers()
            if (trainer.job, trainer.rank) == (request.job, request.rank)
        ]
        if not mine:
            return None, "no process of that rank reports to this agent"
        one = next((trainer for trainer in mine if trainer.pid is not None), None)
        if one is None:
            return None, "its probe reports over UDP: profiles need the Unix socket"
        if not one.probed and self._spy is None:
            lacking = spying.MISSING if limits.py_spy else "py-spy may be used: profiling.py_spy"
            return None, f"that rank has no probe; {lacking}"
        before = self._profiled.get((request.job, request.rank))
        if before is not None and now - before < limits.interval_seconds:
            return None, (
                f"profiled {now - before:.0f} s ago; this agent allows one in "
                f"{limits.interval_seconds:.0f} s (profiling.interval_seconds)"
            )
        return one, ""

    def _deliver(self, taken: _ProbeAnswer) -> None:
        request = taken.request
        if taken.trace is None:
            self._refuse(request, taken.text or "the probe sent no trace")
            return
        size = _size(taken.trace)
        if size is None or not 0 < size <= request.max_bytes:
            self._refuse(request, "the probe sent something that is not a trace, or too large")
            return
        self._board.take(request)
        pause = threading.Event()
        for left in range(_TRIES, 0, -1):
            taken.trace.rewind()
            try:
                self._collector.upload(
                    request.id,
                    request.rank,
                    taken.trace,
                    size,
                    steps=taken.steps,
                    seconds=taken.seconds,
                )
            except CollectorCallError as error:
                # What the collector refuses it would refuse again, but for a moment of overload.
                refused = error.status is not None and error.status not in (500, 503)
                if left == 1 or refused:
                    self._health.count("profiles", "not_uploaded")
                    _log.warning(
                        "the collector did not accept a profile of rank %d: %s", request.rank, error
                    )
                    return
                pause.wait(_RETRY_SECONDS)
            else:
                self._health.count("profiles", "uploaded")
                return

    def _refuse(self, request: ProfileRequest, text: str) -> None:
        self._board.take(request)
        self._health.count("profiles", "refused")
        try:
            self._collector.refuse(request.id, request.rank, text)
        except CollectorCallError as error:
            _log.warning("the collector did not accept a refusal (%s): %s", text, error)


def _size(trace: OpenFile) -> int | None:
    """Return the bytes of a file in memory that nobody can change; None for anything else.

    A tenant could hand over a pipe that never ends, or a file that shrinks while it is read.
    """
    seals = trace.seals()
    return trace.size if seals is not None and seals & SEALS == SEALS else None
