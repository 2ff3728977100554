"""The agent as a whole: parts put together, one loop that never waits for any of them.

The main thread reads datagrams, sees processes end, and gathers; readers, disk, network and the
page have threads of their own. After the start nothing ends the loop but `stop`.
"""

import contextlib
import logging
import math
import os
import selectors
import signal
import socket
import sys
import time
from collections.abc import Mapping
from importlib import metadata

from ..vocabulary.clock import Clock, SystemClock
from ..vocabulary.samples import attributes
from . import assembling, claims, exposition, readers, state, ways
from .attribution import Attribution
from .device_faults import Writer
from .devices import Devices
from .exits import ExitWatch
from .handover import Handover
from .health import Health
from .hung import Hung
from .inbox import Inbox
from .latest import Latest
from .names import Names
from .reading import Reading
from .routing import Routing
from .settings import AgentSettings
from .support_log import SupportLog
from .trainers import Trainers
from .training_logs import Batch, Launched
from .users import Users

_TICK_SECONDS = 1.0
_SWITCH_SECONDS = 0.0005
_DRAIN_SECONDS = 2.0
_READ_SECONDS = 0.25
"""How long a datagram without an event may lie unread."""
QUICK_SECONDS = 1.0
"""Readers of this period or less have a thread of their own."""
_UDP_MEMORY_SECONDS = 60.0
"""How long a sender without a pid that we can watch is remembered in silence."""

_log = logging.getLogger(__name__)


class Agent:
    """One agent. The constructor takes every socket and folder, or raises ways.StartError."""

    def __init__(
        self, settings: AgentSettings, *, environ: Mapping[str, str], clock: Clock | None = None
    ) -> None:
        self._settings = settings
        self._clock = clock or SystemClock()
        self._health = Health()
        self._health.show("info", 1, metadata.version("rankscope"))
        self._names = Names(
            host=settings.node.host or socket.gethostname(),
            cluster=settings.node.cluster,
            extra=attributes(settings.node.attributes),
        )
        users = Users(settings.node.job_user, proc=settings.node.proc)
        self._trainers = Trainers(health=self._health, user_of=users.of)
        self._latest = Latest(period_seconds=settings.readers.period_seconds)
        self._attribution = Attribution()
        self._imitation = assembling.imitation(
            settings, host=self._names.host, attribution=self._attribution
        )
        self._inbox = Inbox(health=self._health)
        self._selector = selectors.DefaultSelector()
        self._exits = ExitWatch(selector=self._selector)
        self._handover = Handover()
        self._closing = contextlib.ExitStack()
        self._read_at = 0.0
        self._quiet_until = 0.0
        self._stopping = False
        self._ways = ways.Ways()
        self._writer: Writer | None = None
        try:
            self._claim = claims.claim(settings.probe.socket, environ)
        except claims.ClaimError as error:
            raise ways.StartError(str(error)) from error
        try:
            self._state = state.opened(settings.node.state, environ)
            self._devices = Devices(self._state)
            self._fault_tracker = assembling.fault_tracker(
                settings, devices=self._devices, state=self._state, now=self._clock.now()
            )
            self._writer = Writer(self._fault_tracker, now=self._clock.now)
            self._ways = ways.opened(
                settings,
                environ=environ,
                health=self._health,
                now=self._clock.now,
                page=exposition.Page(
                    latest=self._latest,
                    health=self._health,
                    groups=settings.export.groups,
                    max_series=settings.export.max_series,
                    imitation=self._imitation,
                ),
                faults=self._fault_tracker.document,
                resource_of=self._names.attempt,
            )
            chosen = assembling.chosen(self._readers(), off=settings.readers.off)
            self._support = SupportLog()
            self._readings = [
                Reading(
                    readers=group,
                    health=self._health,
                    now=self._clock.now,
                    deliver=self._handover.deliver,
                    support=self._support,
                )
                for group in (
                    [reader for reader in chosen if reader.period > QUICK_SECONDS],
                    [reader for reader in chosen if reader.period <= QUICK_SECONDS],
                )
                if group
            ]
        except state.StateError as error:
            self.close()
            raise ways.StartError(str(error)) from error
        except BaseException:
            self.close()
            raise
        self._profiling = assembling.profiling(
            settings,
            host=self._names.host,
            socket=self._claim.path,
            trainers=self._trainers,
            health=self._health,
            now=self._clock.now,
        )
        self._hung = (
            Hung(settings.stacks, proc=settings.node.proc, spied=self._handover.emit)
            if settings.stacks.collect
            else None
        )
        self._routing = Routing(
            names=self._names,
            trainers=self._trainers,
            latest=self._latest,
            exits=self._exits,
            outgoing=self._ways.outgoing,
            fault_tracker=self._fault_tracker,
            health=self._health,
            attribution=self._attribution,
            imitation=self._imitation,
            profiling=self._profiling,
            hung=self._hung,
        )

    @property
    def health(self) -> Health:
        """Return what the agent counts about itself."""
        return self._health

    @property
    def socket_path(self) -> str:
        """Return where probes reach this agent."""
        return str(self._claim.path)

    @property
    def port(self) -> int | None:
        """Return the port of the page, None when there is none."""
        return self._ways.scraping.port if self._ways.scraping else None

    @property
    def udp_port(self) -> int | None:
        """Return the port for datagrams over UDP, None when there is none."""
        return self._ways.udp.getsockname()[1] if self._ways.udp else None

    def stop(self) -> None:
        """End the loop soon; may be called from a signal handler or another thread."""
        self._stopping = True
        self._handover.wake()

    def run(self) -> None:
        """Work until `stop`, then send what is at hand for two seconds at most."""
        self._selector.register(self._handover.descriptor, selectors.EVENT_READ)
        for source in self._sources():
            self._selector.register(source, selectors.EVENT_READ, source)
        if self._ways.outgoing and self._ways.sender:
            self._ways.outgoing.start()
            self._ways.sender.start()
        if self._ways.sending:
            self._ways.sending.start()
        self._routing.announce(
            "start", self._clock.now(), interval_seconds=self._settings.readers.period_seconds
        )
        for reading in self._readings:
            reading.start()
        if self._profiling:
            self._profiling.start()
        self._log_start()
        flush_at = tick_at = time.monotonic()
        try:
            while not self._stopping:
                wait = min(flush_at, tick_at, self._unread_until()) - time.monotonic()
                if self._exits.waiting:
                    wait = min(wait, 0.05)
                try:
                    someone_ended = self._turn(max(0.0, wait))
                    now = time.monotonic()
                    if now >= tick_at:
                        tick_at = now + _TICK_SECONDS
                        self._tick()
                        someone_ended = True
                    if someone_ended or self._exits.waiting:
                        self._report_exits()
                    if now >= flush_at:
                        self._read_inbox()
                        flush_at = now + self._settings.push.interval_seconds
                        if self._ways.outgoing:
                            self._ways.outgoing.flush()
                except Exception:  # noqa: BLE001  nothing kills the daemon: the next turn comes
                    self._survived()
                    time.sleep(0.1)  # keeps a lasting failure from eating a CPU
        finally:
            self._finish()

    def _survived(self) -> None:
        """Count an error of the agent's own; log the first of each minute."""
        self._health.count("internal_errors")
        now = time.monotonic()
        if now >= self._quiet_until:
            self._quiet_until = now + 60.0
            _log.exception("internal error; the agent continues")

    def close(self) -> None:
        """Give back every socket, file and lock."""
        self._closing.close()
        if self._writer:
            self._writer.close()
        self._exits.close()
        self._selector.close()
        self._ways.close()
        self._claim.release()
        self._handover.close()

    def _readers(self) -> list[readers.Reader]:
        return readers.everything(
            readers.ReaderContext(
                settings=self._settings,
                trainers=self._trainers.everyone,
                adopt=self._trainers.adopt,
                emit=self._handover.emit,
                deliver=self._handover.emit,
                forward=self._ways.forwarder,
                health=self._health,
                devices=self._devices,
                attribution=self._attribution,
                fault_tracker=self._fault_tracker,
                closing=self._closing,
                state=self._state,
                now=self._clock.now,
                proc=self._settings.node.proc,
                sys=self._settings.node.sys,
                dev=self._settings.node.dev,
            )
        )

    def _sources(self) -> list[socket.socket]:
        return [self._claim.socket, *([self._ways.udp] if self._ways.udp else [])]

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
        for reading in self._handover.readings():
            self._routing.route(*reading)
        return ended

    def _read_inbox(self) -> None:
        self._read_at = time.monotonic() + _READ_SECONDS
        for received in self._inbox.read():
            try:
                self._routing.receive(received, self._clock.now())
            except Exception:  # noqa: BLE001  one datagram must not cost those behind it
                self._survived()

    def _unread_until(self) -> float:
        """Return when the inbox is to be read, in monotonic seconds: never while it is empty."""
        return self._read_at if self._inbox.unread else math.inf

    def _take_events(self) -> None:
        for event in self._handover.emitted():
            if isinstance(event, Batch):
                self._routing.report(event, self._clock.now())
                continue
            if isinstance(event, Launched):
                self._routing.adopt(event, self._clock.now())
                continue
            leaving = self._fault_tracker.take(event, self._clock.now())
            if leaving is not None:
                self._routing.emit(leaving)
                if self._writer:
                    self._writer.wake()

    def _report_exits(self) -> None:
        # What an ended process sent last still waits in the inbox: its phase decides how its end
        # is read. It can send no more.
        for source in self._sources():
            self._inbox.fetch(source, limit=2048)
        self._read_inbox()
        now = self._clock.now()
        for ended in self._exits.ended(now):
            self._routing.end(ended, now)

    def _tick(self) -> None:
        for reading in self._readings:
            reading.check()
        self._support.flush()
        for summary in self._fault_tracker.tick(self._clock.now()):
            self._routing.emit(summary)
        now = self._clock.now()
        if self._hung:
            for event in self._hung.stacks(self._trainers.everyone(), now):
                self._routing.emit(event)
        self._routing.forget_silent(before=now - _UDP_MEMORY_SECONDS, now=now)
        self._health.show("trainers", len(self._trainers))

    def _finish(self) -> None:
        until = time.monotonic() + _DRAIN_SECONDS
        for reading in self._readings:
            reading.stop()
        self._support.flush(at_once=True)
        if self._profiling:
            self._profiling.stop(timeout=_DRAIN_SECONDS / 4)
        try:
            self._closing.close()  # readers with threads of their own report their last
            self._take_events()
            self._report_exits()  # and what was received until now
        except Exception:  # noqa: BLE001  what is at hand must still be sent
            self._survived()
        self._routing.announce("shutdown", self._clock.now())
        if self._ways.outgoing and self._ways.sender:
            self._ways.outgoing.close(timeout=_DRAIN_SECONDS / 2)
            self._ways.sender.stop(timeout=max(0.0, until - time.monotonic()))
        if self._ways.sending:
            self._ways.sending.stop(timeout=max(0.2, until - time.monotonic()))
        self.close()
        _log.info("agent stopped")

    def _log_start(self) -> None:
        _log.info(
            "agent of host %s started: probe socket %s%s, /metrics %s, push %s",
            self._names.host,
            self._claim.path,
            f" and UDP {self._settings.probe.udp_listen}" if self._ways.udp else "",
            f"on port {self.port}" if self._ways.scraping else "off",
            f"to {self._settings.push.endpoint}" if self._ways.sender else "off",
        )


def run(settings: AgentSettings) -> int:
    """Run an agent until SIGTERM or SIGINT; return 0, or 1 when it could not start."""
    try:
        agent = Agent(settings, environ=os.environ)
    except ways.StartError as error:
        _log.error("%s", error)
        return 1
    # A scrape shall not wait five milliseconds for every turn of another thread.
    sys.setswitchinterval(_SWITCH_SECONDS)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: agent.stop())
    agent.run()
    return 0
