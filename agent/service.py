"""The agent as a whole: its parts put together, started, and ended one after the other.

The main thread gathers (loop.py); readers, disk, network and the page have threads of their own.
"""

import contextlib
import gc
import logging
import os
import selectors
import signal
import socket
import sys
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..vocabulary import udp_keys
from ..vocabulary.clock import SystemClock
from ..vocabulary.samples import attributes
from . import assembling, claims, exposition, listeners, readers, state
from .attribution import DeviceAttribution
from .device_faults import FaultWriter
from .devices import DeviceRegister
from .exits import ExitWatch
from .handover import MainThreadHandover
from .health import AgentHealth
from .hung import HungProcesses
from .inbox import ProbeInbox
from .latest import LatestValues
from .loop import AgentLoop
from .names import NodeNames
from .routing import TelemetryRouter
from .sender_checks import SenderChecks
from .support_log import SupportLog
from .trainers import TrainerRegister
from .users import ProcessUsers

if TYPE_CHECKING:
    from .settings import AgentSettings

_SWITCH_SECONDS = 0.0005
_DRAIN_SECONDS = 2.0

_log = logging.getLogger(__name__)


class NodeAgent:
    """One agent. The constructor takes every socket and folder, or raises listeners.StartError."""

    def __init__(
        self,
        settings: "AgentSettings",
        *,
        environ: Mapping[str, str],
        version: str = "",
    ) -> None:
        self._settings = settings
        self._clock = SystemClock()
        self._health = AgentHealth()
        self._health.show("info", 1, version or _version())
        self._names = NodeNames(
            host=settings.node.host or socket.gethostname(),
            cluster=settings.node.cluster,
            extra=attributes(settings.node.attributes),
        )
        users = ProcessUsers(settings.node.job_user, proc=settings.node.proc)
        self._trainers = TrainerRegister(
            health=self._health,
            user_of=users.of,
            doubt_of=SenderChecks(settings.node.proc).doubt,
        )
        self._latest = LatestValues(period_seconds=settings.readers.period_seconds)
        self._attribution = DeviceAttribution()
        self._dcgm_page = assembling.dcgm_page(
            settings, host=self._names.host, attribution=self._attribution
        )
        self._selector = selectors.DefaultSelector()
        self._exits = ExitWatch(selector=self._selector)
        self._handover = MainThreadHandover()
        self._closing = contextlib.ExitStack()
        self._listeners = listeners.AgentListeners()
        self._writer: FaultWriter | None = None
        try:
            self._claim = claims.claim(settings.probe.socket, environ)
        except claims.ClaimError as error:
            raise listeners.StartError(str(error)) from error
        try:
            self._open(environ)
        except state.StateError as error:
            self.close()
            raise listeners.StartError(str(error)) from error
        except BaseException:
            self.close()
            raise
        self._routing, self._loop = self._connected()

    def _open(self, environ: Mapping[str, str]) -> None:
        """Open what the node gives: state, listeners, readers."""
        settings = self._settings
        self._state = state.opened(settings.node.state, environ)
        self._devices = DeviceRegister(self._state)
        self._fault_tracker = assembling.fault_tracker(
            settings, devices=self._devices, state=self._state, now=self._clock.now()
        )
        self._writer = FaultWriter(self._fault_tracker, now=self._clock.now)
        self._listeners = listeners.opened(
            settings,
            environ=environ,
            health=self._health,
            now=self._clock.now,
            page=exposition.ExpositionPage(
                latest=self._latest,
                health=self._health,
                groups=settings.export.groups,
                max_series=settings.export.max_series,
                dcgm_page=self._dcgm_page,
            ),
            faults=self._fault_tracker.document,
            resource_of=self._names.attempt,
        )
        chosen = assembling.chosen(self._readers(), off=settings.readers.off)
        self._support = SupportLog()
        self._readings = assembling.readings(
            chosen,
            health=self._health,
            now=self._clock.now,
            deliver=self._handover.deliver,
            delivered=self._handover.wake,
            support=self._support,
        )

    def _connected(self) -> tuple[TelemetryRouter, AgentLoop]:
        """Return what takes telemetry its ways, and what the main thread runs."""
        settings, host = self._settings, self._names.host
        profiling = assembling.profiling(
            settings,
            host=host,
            socket=self._claim.path,
            trainers=self._trainers,
            health=self._health,
            now=self._clock.now,
        )
        checking = assembling.checking(settings, host=host, now=self._clock.now)
        restarting = assembling.restarting(settings, host=host, trainers=self._trainers)
        self._services = [one for one in (profiling, checking, restarting) if one is not None]
        hung = (
            HungProcesses(settings.stacks, proc=settings.node.proc, spied=self._handover.emit)
            if settings.stacks.collect
            else None
        )
        routing = TelemetryRouter(
            names=self._names,
            trainers=self._trainers,
            latest=self._latest,
            exits=self._exits,
            outgoing=self._listeners.outgoing,
            fault_tracker=self._fault_tracker,
            health=self._health,
            attribution=self._attribution,
            dcgm_page=self._dcgm_page,
            profiling=profiling,
            hung=hung,
        )
        key = settings.probe.udp_key_file
        inbox = ProbeInbox(
            health=self._health,
            bytes_per_second=settings.probe.bytes_per_second,
            jobs_of_sender=settings.probe.jobs_of_sender,
            udp_key=udp_keys.read(key) if key else None,
        )
        assert self._writer is not None  # noqa: S101  opened
        return routing, AgentLoop(
            sources=[self._claim.socket, *([self._listeners.udp] if self._listeners.udp else [])],
            inbox=inbox,
            selector=self._selector,
            exits=self._exits,
            handover=self._handover,
            routing=routing,
            fault_tracker=self._fault_tracker,
            writer=self._writer,
            readings=self._readings,
            support=self._support,
            trainers=self._trainers,
            hung=hung,
            outgoing=self._listeners.outgoing,
            flush_seconds=settings.push.interval_seconds,
            health=self._health,
            now=self._clock.now,
        )

    @property
    def health(self) -> AgentHealth:
        """Return what the agent counts about itself."""
        return self._health

    @property
    def socket_path(self) -> str:
        """Return where probes reach this agent."""
        return str(self._claim.path)

    @property
    def port(self) -> int | None:
        """Return the port of the page, None when there is none."""
        return self._listeners.scraping.port if self._listeners.scraping else None

    @property
    def udp_port(self) -> int | None:
        """Return the port for datagrams over UDP, None when there is none."""
        return self._listeners.udp.getsockname()[1] if self._listeners.udp else None

    def stop(self) -> None:
        """End the loop soon; may be called from a signal handler or another thread."""
        self._loop.stop()

    def run(self) -> None:
        """Work until `stop`, then send what is at hand for two seconds at most."""
        if self._listeners.outgoing and self._listeners.sender:
            self._listeners.outgoing.start()
            self._listeners.sender.start()
        if self._listeners.sending:
            self._listeners.sending.start()
        self._routing.announce(
            "start", self._clock.now(), interval_seconds=self._settings.readers.period_seconds
        )
        for reading in self._readings:
            reading.start()
        for service in self._services:
            service.start()
        self._log_start()
        try:
            self._loop.run()
        finally:
            self._finish()

    def close(self) -> None:
        """Give back every socket, file and lock."""
        self._closing.close()
        if self._writer:
            self._writer.close()
        self._exits.close()
        self._selector.close()
        self._listeners.close()
        self._claim.release()
        self._handover.close()

    def _readers(self) -> list[readers.NodeReader]:
        return readers.everything(
            readers.ReaderContext(
                settings=self._settings,
                trainers=self._trainers.everyone,
                adopt=self._trainers.adopt,
                emit=self._handover.emit,
                deliver=self._handover.emit,
                forward=self._listeners.forwarder,
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

    def _finish(self) -> None:
        until = time.monotonic() + _DRAIN_SECONDS
        for reading in self._readings:
            reading.stop()
        self._support.flush(at_once=True)
        for service in self._services:
            service.stop(timeout=_DRAIN_SECONDS / 4)
        self._loop.drain(self._closing.close)
        self._routing.announce("shutdown", self._clock.now())
        if self._listeners.outgoing and self._listeners.sender:
            self._listeners.outgoing.close(timeout=_DRAIN_SECONDS / 2)
            self._listeners.sender.stop(timeout=max(0.0, until - time.monotonic()))
        if self._listeners.sending:
            self._listeners.sending.stop(timeout=max(0.2, until - time.monotonic()))
        self.close()
        _log.info("agent stopped")

    def _log_start(self) -> None:
        probe = self._settings.probe
        senders = "whoever has the key" if probe.udp_key_file else "whoever reaches it"
        _log.info(
            "agent of host %s started: probe socket %s%s, /metrics %s, push %s",
            self._names.host,
            self._claim.path,
            f" and UDP {probe.udp_listen} (open to {senders})" if self._listeners.udp else "",
            f"on port {self.port}" if self._listeners.scraping else "off",
            f"to {self._settings.push.endpoint}" if self._listeners.sender else "off",
        )


def _version() -> str:
    from importlib import metadata  # noqa: PLC0415  with readers of archives, 1 MB

    return metadata.version("rankscope")


def run(settings: "AgentSettings", *, version: str = "") -> int:
    """Run an agent until SIGTERM or SIGINT; return 0, or 1 when it could not start."""
    try:
        agent = NodeAgent(settings, environ=os.environ, version=version)
    except listeners.StartError as error:
        _log.error("%s", error)
        return 1
    # All that is there by now stays: no collection shall look through it again.
    gc.collect()
    gc.freeze()
    # A scrape shall not wait five milliseconds for every turn of another thread.
    sys.setswitchinterval(_SWITCH_SECONDS)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: agent.stop())
    agent.run()
    return 0
