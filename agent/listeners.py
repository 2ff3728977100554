"""What the agent listens on and sends by, beside the socket of probes: UDP, push, spool, page."""

import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..vocabulary.samples import TelemetryResource
from . import exposition, listening
from .forwarding import ForwardQueue, ForwardSender, LineForwarder
from .health import AgentHealth
from .outgoing import OutgoingTelemetry
from .push import PushConnection, SpoolSender
from .scraping import ScrapeServer
from .spool import DiskSpool, SpoolError

if TYPE_CHECKING:
    from .settings import AgentSettings, ForwardSettings


class StartError(Exception):
    """The agent cannot start; the text says why and what to do."""


@dataclass(slots=True)
class AgentListeners:
    """What is open; None where the settings ask for none."""

    udp: socket.socket | None = None
    spool: DiskSpool | None = None
    sender: SpoolSender | None = None
    outgoing: OutgoingTelemetry | None = None
    scraping: ScrapeServer | None = None
    forwarder: LineForwarder | None = None
    sending: ForwardSender | None = None

    def close(self) -> None:
        """Give back every socket and lock."""
        if self.scraping:
            self.scraping.close()
        if self.udp:
            self.udp.close()
        if self.spool:
            self.spool.close()


def opened(
    settings: "AgentSettings",
    *,
    environ: Mapping[str, str],
    health: AgentHealth,
    now: Callable[[], float],
    page: exposition.ExpositionPage,
    faults: Callable[[], bytes],
    resource_of: Callable[[str, int | None], TelemetryResource],
) -> AgentListeners:
    """Return what the settings ask for, open.

    Raises StartError with the key that cannot be had; nothing stays open then.
    """
    listeners = AgentListeners()
    try:
        if settings.probe.udp_listen:
            listeners.udp = _udp(settings.probe.udp_listen)
        if settings.push.endpoint:
            _push(listeners, settings, environ=environ, health=health, now=now)
        if settings.forward.endpoint:
            _forward(listeners, settings.forward, health=health, now=now, resource_of=resource_of)
        if settings.export.listen:
            listeners.scraping = _page(settings.export.listen, page=page, now=now, faults=faults)
    except StartError:
        listeners.close()
        raise
    return listeners


def _udp(listen: str) -> socket.socket:
    try:
        udp = listening.bound(listen, socket.SOCK_DGRAM)
    except OSError as error:
        raise StartError(f"probe.udp_listen {listen}: {error.strerror or error}") from error
    udp.setblocking(False)
    return udp


def _push(
    listeners: AgentListeners,
    settings: "AgentSettings",
    *,
    environ: Mapping[str, str],
    health: AgentHealth,
    now: Callable[[], float],
) -> None:
    try:
        listeners.spool = DiskSpool.open(
            settings.spool.folder,
            max_bytes=settings.spool.max_bytes,
            environ=environ,
            health=health,
        )
        post = PushConnection(
            settings.push.endpoint,
            timeout=settings.push.timeout_seconds,
            token=settings.push.token.get_secret_value(),
            ca_file=settings.push.ca_file,
        )
    except SpoolError as error:
        raise StartError(str(error)) from error
    except ValueError as error:
        raise StartError(f"push.token: {error}") from error
    except OSError as error:
        raise StartError(f"push.ca_file: {error.strerror or error}") from error
    listeners.sender = SpoolSender(spool=listeners.spool, post=post, health=health, now=now)
    listeners.outgoing = OutgoingTelemetry(
        spool=listeners.spool, health=health, now=now, spooled=listeners.sender.wake
    )


def _forward(
    listeners: AgentListeners,
    settings: "ForwardSettings",
    *,
    health: AgentHealth,
    now: Callable[[], float],
    resource_of: Callable[[str, int | None], TelemetryResource],
) -> None:
    waiting = ForwardQueue(max_bytes=settings.max_bytes, health=health)
    try:
        post = PushConnection(
            settings.endpoint,
            timeout=settings.timeout_seconds,
            token=settings.token.get_secret_value(),
            ca_file=settings.ca_file,
            headers={name: held.get_secret_value() for name, held in settings.headers.items()},
        )
    except OSError as error:
        raise StartError(f"forward.ca_file: {error.strerror or error}") from error
    listeners.sending = ForwardSender(
        waiting=waiting, post=post, health=health, interval=settings.interval_seconds
    )
    listeners.forwarder = LineForwarder(
        waiting=waiting,
        resource_of=resource_of,
        bytes_per_second=settings.bytes_per_second,
        health=health,
        now=now,
    )


def _page(
    listen: str,
    *,
    page: exposition.ExpositionPage,
    now: Callable[[], float],
    faults: Callable[[], bytes],
) -> ScrapeServer:
    try:
        return ScrapeServer(listen, page=page, now=now, faults=faults)
    except OSError as error:
        raise StartError(
            f"export.listen {listen}: {error.strerror or error}; "
            "choose another port, or an empty text for no page"
        ) from error
