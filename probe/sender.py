"""The thread that sends to the agent: everything that costs anything happens here.

The training thread only appends to a bounded deque. This thread polls it ten times a second (a
wake-up per step would cost the training thread a system call and a hand-over of the interpreter
lock), turns messages into datagrams and sends them without waiting. Without an agent messages
wait for a minute at most, then they are dropped and counted.
"""

import collections
import os
import threading
import time
from collections.abc import Callable
from typing import Protocol

from ..vocabulary.datagram import LARGEST, ProbeDatagram, encode
from ..vocabulary.identity import RankIdentity
from ..vocabulary.samples import Event, Sample
from .agent_socket import AgentSocket
from .step_record import StepRecord
from .thinning import ReportThinning

THREAD = "rankscope-probe"
QUEUE = 1024
"""Messages: at 10 steps a second, enough to bridge an agent's restart."""
POLL_SECONDS = 0.1
"""Between two looks at the queue."""
_FULL_SECONDS = 0.01
"""The same while the agent's socket is full: a Unix socket holds as few as ten datagrams."""
MESSAGE_TIMEOUT_SECONDS = 60.0
"""How long a message is worth sending; past that the collector has evaluated without it."""
SHUTDOWN_TIMEOUT_SECONDS = 1.0
"""What an exiting process may spend on sending what is left."""

Parts = tuple[list[Sample], list[Event]]


class SentMessage(Protocol):
    """Something to send once. `at` is when it happened, seconds since the epoch."""

    at: float

    def descriptor(self) -> int | None:
        """Return an open file that the agent gets with it, None where there is none."""
        ...

    def ready(self, now: float) -> bool:
        """Return whether its values are all here, or are no longer worth waiting for."""
        ...

    def parts(self, rank: int) -> Parts:
        """Return what to send; called once, in the sender's thread."""
        ...


class PeriodicSource(Protocol):
    """Samples and events that are due by time."""

    def settled(self) -> bool:
        """Return whether the rank is known."""
        ...

    def descriptor(self) -> int | None:
        """Return an open file that the agent gets with what is due, None where there is none."""
        ...

    def __call__(self, now: float) -> Parts | None:
        """Return what is due now, or None."""
        ...


class StepReports(Protocol):
    """Details of steps that are suspicious."""

    def settle(self) -> None:
        """Do what is due of the batches fetched since; called ten times a second."""
        ...

    def look(self, record: StepRecord, rank: int) -> list[Event]:
        """Return what to send beside this step's own samples; called once for each step."""
        ...


class DatagramSender:
    """Hands messages over to the agent from a daemon thread.

    `identity` is asked at every datagram (the process group may correct the rank); `heartbeat` is
    called at every poll with the time and returns what is due, or None; `reports` is asked of each
    step, sent or thinned out. A failure of either is
    counted in `failures` and costs one datagram.
    """

    def __init__(
        self,
        *,
        agent: AgentSocket,
        identity: Callable[[], RankIdentity],
        start_time: int | None = None,
        heartbeat: PeriodicSource,
        reports: StepReports | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._socket = agent
        self._identity = identity
        self._start_time = start_time
        self._heartbeat = heartbeat
        self._thinning = ReportThinning()
        self._reports = reports
        self._unreported: collections.deque[StepRecord] = collections.deque(maxlen=QUEUE)
        self._clock = clock
        self._queue: collections.deque[SentMessage] = collections.deque(maxlen=QUEUE)
        self._given = 0
        self._taken = 0
        self._lost = 0
        self._number = 0
        self.failures = 0
        self._wake = threading.Event()
        self._closing = False
        self._pid = os.getpid()
        self._thread = threading.Thread(target=self._run, name=THREAD, daemon=True)

    def start(self) -> None:
        """Start the thread; raises RuntimeError where the interpreter can start none."""
        self._thread.start()

    def put(self, message: SentMessage) -> None:
        """Hand a message over: no lock, no system call; a full queue loses its oldest."""
        self._given += 1
        self._queue.append(message)

    @property
    def dropped(self) -> int:
        """Messages given up so far: pushed out of the full queue, too old, or unsendable."""
        return self._lost + max(0, self._given - self._taken - len(self._queue))

    def close(self) -> None:
        """Send what is left, for SHUTDOWN_TIMEOUT_SECONDS at most, and end the thread."""
        self._closing = True
        self._wake.set()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(1.5 * SHUTDOWN_TIMEOUT_SECONDS)

    def flush(self) -> None:
        """Wait until an agent took all, SHUTDOWN_TIMEOUT_SECONDS at most; not without an agent."""
        until = time.monotonic() + SHUTDOWN_TIMEOUT_SECONDS
        while self._queue and self._thread.is_alive() and time.monotonic() < until:
            self._wake.set()
            time.sleep(0.005)
            if not self._socket.connected:
                return

    def _run(self) -> None:
        pause = POLL_SECONDS
        while not self._closing:
            self._wake.wait(pause)
            self._wake.clear()
            if os.getpid() != self._pid:
                return
            pause = POLL_SECONDS if self._round() else _FULL_SECONDS
        until = time.monotonic() + SHUTDOWN_TIMEOUT_SECONDS
        while not self._round(last=True) and time.monotonic() < until:
            time.sleep(_FULL_SECONDS)
        self._socket.close()

    def _round(self, *, last: bool = False) -> bool:
        """Send what can be sent now; False when the agent is there but takes no more at once."""
        try:
            if not self._heartbeat.settled() and not last:
                return True
            now = self._clock()
            if self._reports is not None and not last:
                self._reports.settle()
            if not last:
                self._send_periodic(now)
            return self._drain(now, last=last)
        except Exception:  # noqa: BLE001  the edge of one round: the thread outlives it
            self.failures += 1
            return True

    def _send_periodic(self, now: float) -> None:
        try:
            due = self._heartbeat(now)
            if due is not None and self._socket.open(now):
                self._send(*due, self._heartbeat.descriptor())
        except Exception:  # noqa: BLE001  the edge of one delivery
            self.failures += 1

    def _drain(self, now: float, *, last: bool) -> bool:
        queue = self._queue
        while queue:
            try:
                head = queue[0]
                if now - head.at <= MESSAGE_TIMEOUT_SECONDS:
                    if not (last or head.ready(now)) or not self._socket.open(now):
                        return True
                    if not self._socket.writable():
                        return False
                message = queue.popleft()
            except IndexError:  # the training thread pushed it out of the full queue meanwhile
                return True
            self._taken += 1
            if now - message.at > MESSAGE_TIMEOUT_SECONDS:
                self._lost += 1
                continue
            try:
                if isinstance(message, StepRecord):
                    # A process that ends has a second, and the socket may hold one datagram more:
                    # what its steps were comes before details.
                    self._unreported.append(message)
                    if not self._thinning.wanted(message):
                        continue
                self._send(*message.parts(self._identity().rank), message.descriptor())
            except Exception:  # noqa: BLE001  the edge of one delivery
                self.failures += 1
                self._lost += 1
        while self._unreported and self._socket.open(now):
            if not self._socket.writable():
                return False
            self._report(self._unreported.popleft())
        return True

    def _report(self, record: StepRecord) -> None:
        """Send what there is to say of a step's batches, in a datagram of its own."""
        if self._reports is None:
            return
        try:
            events = self._reports.look(record, self._identity().rank)
            if events:
                self._send([], events)
        except Exception:  # noqa: BLE001  the details of a step, not the step
            self.failures += 1

    def _send(
        self, samples: list[Sample], events: list[Event], descriptor: int | None = None
    ) -> None:
        who = self._identity()
        datagram = ProbeDatagram(
            job=who.job,
            attempt=who.attempt,
            rank=who.rank,
            pid=self._pid,
            number=self._number,
            dropped=self.dropped,
            samples=tuple(samples),
            events=tuple(events),
            start_time=self._start_time,
            user=who.user,
        )
        self._number += 1
        data = encode(datagram)
        if len(data) > LARGEST or not self._socket.send(data, descriptor):
            self._lost += 1
