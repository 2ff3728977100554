"""Runs the readers, one after the other in one thread, and leaves a reader behind that hangs.

A hung reader keeps its thread (nothing can end a call into the kernel); the others go on in a new
one. When the call returns after all, the reader is taken in again.
"""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..vocabulary.samples import Sample
from .health import AgentHealth
from .readers import NodeReader
from .support_log import SupportLog

_ASK_AGAIN_SECONDS = 600.0
"""How often an unsupported reader is asked again, where it has no `ask_again`: mounts appear."""

_log = logging.getLogger(__name__)


def _nothing() -> None:
    """Wake nobody."""


@dataclass(slots=True)
class _ReaderTurn:
    """One reader and when it is due next, in monotonic seconds."""

    reader: NodeReader
    due: float
    supported: bool = False
    failing: bool = False


class ReadingThread:
    """Delivers samples through `deliver(reader, samples, now)`, called on the reading thread.

    `delivered` is called when no more is due at once: one wake-up of whoever waits for them all.
    """

    def __init__(
        self,
        *,
        readers: Sequence[NodeReader],
        health: AgentHealth,
        now: Callable[[], float],
        deliver: Callable[[NodeReader, list[Sample], float], None],
        delivered: Callable[[], None] = _nothing,
        support: SupportLog,
        stuck_seconds: float = 10.0,
    ) -> None:
        self._support = support
        self._health = health
        self._now = now
        self._deliver = deliver
        self._delivered = delivered
        self._any_delivered = False
        self._stuck_seconds = stuck_seconds
        self._lock = threading.Condition()
        self._turns = [_ReaderTurn(reader, time.monotonic()) for reader in readers]
        self._generation = 0
        self._busy: tuple[_ReaderTurn, float] | None = None
        self._stopped = False

    def start(self) -> None:
        self._spawn()

    def stop(self) -> None:
        """Read no more; a hung reader's thread is left to the end of the process."""
        with self._lock:
            self._stopped = True
            self._lock.notify_all()

    def check(self) -> None:
        """Look after the reading thread; to be called every second or so."""
        with self._lock:
            if self._busy is None or self._stopped:
                return
            turn, since = self._busy
            if time.monotonic() - since < self._stuck_seconds:
                return
            self._turns.remove(turn)
            self._busy = None
            self._generation += 1
        name = turn.reader.name
        _log.warning("reader %s does not return; it is skipped until it does", name)
        self._health.count("reader_failures", name, "hung")
        self._health.show("reader_up", 0, name)
        self._spawn()

    def _spawn(self) -> None:
        threading.Thread(
            target=self._run, args=(self._generation,), name="reading", daemon=True
        ).start()

    def _run(self, generation: int) -> None:
        due: list[_ReaderTurn] = []
        turn: _ReaderTurn | None = None
        while True:
            with self._lock:
                if turn is not None and generation != self._generation:
                    # We were given up while this reader hung: it is back, our successor goes on.
                    _log.warning("reader %s answers again", turn.reader.name)
                    self._turns.append(turn)
                    self._lock.notify_all()
                    return
                self._busy = None
                due = due or self._next(generation)
                if not due or self._stopped:
                    return
                turn = due.pop()
                self._busy = (turn, time.monotonic())
            self._take(turn)

    def _next(self, generation: int) -> list[_ReaderTurn]:
        """Wait for readers that are due, the last due first; none when this thread shall end.

        Holds the lock.
        """
        while not self._stopped and generation == self._generation:
            now = time.monotonic()
            due = [turn for turn in self._turns if turn.due <= now]
            if due:
                due.sort(key=lambda one: one.due)
                due.reverse()
                return due
            if self._any_delivered:
                self._any_delivered = False
                self._delivered()
            soonest = min((turn.due for turn in self._turns), default=None)
            self._lock.wait(None if soonest is None else soonest - now)
        return []

    def _take(self, turn: _ReaderTurn) -> None:
        reader = turn.reader
        started = time.monotonic()
        try:
            if not turn.supported:
                turn.supported, reason = reader.supported()
                self._support.note(reader.name, supported=turn.supported, reason=reason)
            if not turn.supported:
                turn.due = started + float(getattr(reader, "ask_again", _ASK_AGAIN_SECONDS))
                return
            now = self._now()
            samples = reader.read(now)
        except Exception as error:  # noqa: BLE001  the edge of one read
            reason = type(error).__name__
            self._health.count("reader_failures", reader.name, reason)
            self._health.show("reader_up", 0, reader.name)
            if not turn.failing:
                _log.warning("reader %s fails: %s: %s", reader.name, reason, error)
            turn.failing = True
            turn.due = started + reader.period
            return
        if turn.failing:
            _log.warning("reader %s works again", reader.name)
            turn.failing = False
        took = time.monotonic() - started
        self._health.show("reader_up", 1, reader.name)
        self._health.show("reader_duration_seconds", took, reader.name)
        self._health.happened("reader_last_success", now, reader.name)
        # From the time it was due, so that readings keep their rhythm; after a long one, from now.
        turn.due = max(turn.due, started - reader.period) + reader.period
        if samples:
            self._deliver(reader, samples, now)
            self._any_delivered = True
