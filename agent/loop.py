"""The loop of the agent's main thread: it waits for something to happen, and for none of the parts.

It reads datagrams, sees processes end, takes what other threads hand over, and looks after the
parts once a second. Nothing ends it but `stop`.
"""

import logging
import math
import selectors
import socket
import time
from collections.abc import Callable, Sequence

from .device_faults import FaultTracker, FaultWriter
from .exits import ExitWatch
from .handover import MainThreadHandover
from .health import AgentHealth
from .hung import HungProcesses
from .inbox import ProbeInbox
from .outgoing import OutgoingTelemetry
from .reading import ReadingThread
from .routing import TelemetryRouter
from .support_log import SupportLog
from .trainers import TrainerRegister
from .training_logs import LaunchedProcesses, LogBatch

_TICK_SECONDS = 1.0
_SOON_SECONDS = 0.25
"""What is due so soon after a reading is done with it: its own pace settles on that of the readers,
and one wake-up a second is enough."""
_LATE_SHARE = 0.2
"""Of that, how much longer the loop waits for itself after a reading than its pace is: a timer of
the readings' own pace goes off before every other of them, and wakes it a second time."""
_READ_SECONDS = 0.25
"""How long a datagram without an event may lie unread."""
_UDP_MEMORY_SECONDS = 60.0
"""How long a sender without a pid that we can watch is remembered in silence."""
_EXITS_SECONDS = 0.05
"""How soon it looks again where an exit is held back for its status."""

_log = logging.getLogger(__name__)


class AgentLoop:
    """Belongs to the main thread; only `stop` may be called from elsewhere.

    `sources` are sockets that datagrams come from. Without `outgoing` nothing is pushed.
    """

    def __init__(
        self,
        *,
        sources: Sequence[socket.socket],
        inbox: ProbeInbox,
        selector: selectors.BaseSelector,
        exits: ExitWatch,
        handover: MainThreadHandover,
        routing: TelemetryRouter,
        fault_tracker: FaultTracker,
        writer: FaultWriter,
        readings: Sequence[ReadingThread],
        support: SupportLog,
        trainers: TrainerRegister,
        hung: HungProcesses | None,
        outgoing: OutgoingTelemetry | None,
        flush_seconds: float,
        health: AgentHealth,
        now: Callable[[], float],
    ) -> None:
        self._sources = sources
        self._selector = selector
        self._exits = exits
        self._handover = handover
        self._routing = routing
        self._fault_tracker = fault_tracker
        self._writer = writer
        self._readings = readings
        self._support = support
        self._trainers = trainers
        self._hung = hung
        self._outgoing = outgoing
        self._flush_seconds = flush_seconds
        self._health = health
        self._now = now
        self._inbox = inbox
        self._read_at = 0.0
        self._early = 0.0
        self._quiet_until = 0.0
        self._stopping = False
        selector.register(handover.descriptor, selectors.EVENT_READ)
        for source in sources:
            selector.register(source, selectors.EVENT_READ, source)

    def stop(self) -> None:
        """End it soon; may be called from a signal handler or another thread."""
        self._stopping = True
        self._handover.wake()

    def run(self) -> None:
        """Work until `stop`."""
        flush_at = tick_at = time.monotonic()
        while not self._stopping:
            wait = min(flush_at, tick_at, self._unread_until()) - time.monotonic()
            if self._exits.waiting:
                wait = min(wait, _EXITS_SECONDS)
            try:
                someone_ended = self._turn(max(0.0, wait))
                now = time.monotonic()
                soon = now + self._early
                late = now + _LATE_SHARE * self._early
                if soon >= tick_at:
                    tick_at = late + _TICK_SECONDS
                    self._tick()
                    someone_ended = True
                if someone_ended or self._exits.waiting:
                    self._report_exits()
                if soon >= flush_at:
                    self._read_inbox()
                    flush_at = late + self._flush_seconds
                    if self._outgoing:
                        self._outgoing.flush()
            except Exception:  # noqa: BLE001  nothing kills the daemon: the next turn comes
                self._survived()
                time.sleep(0.1)  # keeps a lasting failure from eating a CPU

    def drain(self, close: Callable[[], None]) -> None:
        """Take what is still at hand; `close` ends readers whose threads report their last."""
        try:
            close()
            self._take_events()
            self._report_exits()  # and what was received until now
        except Exception:  # noqa: BLE001  what is at hand must still be sent
            self._survived()

    def _survived(self) -> None:
        """Count an error of the agent's own; log the first of each minute."""
        self._health.count("internal_errors")
        now = time.monotonic()
        if now >= self._quiet_until:
            self._quiet_until = now + 60.0
            _log.exception("internal error; the agent continues")

    def _turn(self, wait: float) -> bool:
        """Wait for something to happen and take it; return whether a process may have ended."""
        ended = urgent = False
        for key, _ in self._selector.select(wait):
            if isinstance(key.data, socket.socket):
                urgent |= self._inbox.fetch(key.data)
            elif key.fd == self._handover.descriptor:
                self._handover.woken()
            else:
                ended = True
        if urgent or time.monotonic() >= self._unread_until():
            self._read_inbox()
        self._take_events()
        self._early = 0.0
        for reading in self._handover.readings():
            self._routing.route(*reading)
            self._early = min(_SOON_SECONDS, self._flush_seconds / 4)
        return ended

    def _read_inbox(self) -> None:
        self._read_at = time.monotonic() + _READ_SECONDS
        for received in self._inbox.read():
            try:
                self._routing.receive(received, self._now())
            except Exception:  # noqa: BLE001  one datagram must not cost those behind it
                self._survived()

    def _unread_until(self) -> float:
        """Return when the inbox is to be read, in monotonic seconds: never while it is empty."""
        return self._read_at if self._inbox.unread else math.inf

    def _take_events(self) -> None:
        for event in self._handover.emitted():
            if isinstance(event, LogBatch):
                self._routing.report(event, self._now())
                continue
            if isinstance(event, LaunchedProcesses):
                self._routing.adopt(event, self._now())
                continue
            leaving = self._fault_tracker.take(event, self._now())
            if leaving is not None:
                self._routing.emit(leaving)
                self._writer.wake()

    def _report_exits(self) -> None:
        # What an ended process sent last still waits in the inbox: its phase decides how its end
        # is read. It can send no more.
        for source in self._sources:
            self._inbox.fetch(source, limit=2048)
        self._read_inbox()
        now = self._now()
        for ended in self._exits.ended(now):
            self._routing.end(ended, now)

    def _tick(self) -> None:
        for reading in self._readings:
            reading.check()
        self._support.flush()
        now = self._now()
        for summary in self._fault_tracker.tick(now):
            self._routing.emit(summary)
        if self._hung:
            for event in self._hung.stacks(self._trainers.everyone(), now):
                self._routing.emit(event)
        self._routing.forget_silent(before=now - _UDP_MEMORY_SECONDS, now=now)
        self._health.show("trainers", len(self._trainers))
