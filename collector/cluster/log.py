"""The shared log as the service opens it."""

import socket
from collections.abc import Callable
from typing import TYPE_CHECKING

from ...vocabulary.clock import Clock
from ..health.health import CollectorHealth
from ..pipeline.pipeline import DetectionPipeline
from ..process import identity
from ..settings.collector import CollectorSettings
from ..store.store import IncidentDatabaseStore
from .connection import LogUnavailableError
from .stages import ClusterStages

if TYPE_CHECKING:
    from ..tracing.spans import SpanMaker

_ANY = ("0.0.0.0", "::", "")  # noqa: S104  compared, not bound


class SharedLog:
    """JetStream, shared by several collectors. `address` gives the socket's own URL."""

    def __init__(self, settings: CollectorSettings) -> None:
        if not settings.store.url.startswith("postgresql"):
            raise LogUnavailableError(
                "log.url needs an incident store that several collectors share: set store.url to "
                "postgresql://... (RANKSCOPE_STORE__URL)"
            )
        self._settings = settings
        self.address: Callable[[], str] = lambda: ""

    def close(self) -> None:
        """Do nothing: nothing is opened yet."""

    def flow(
        self,
        store: IncidentDatabaseStore,
        clock: Clock,
        health: CollectorHealth,
        line: Callable[[], DetectionPipeline],
        traced: "SpanMaker | None",
    ) -> ClusterStages:
        """Return the stages over it; spans end with the log. Raises LogUnavailableError."""
        del traced
        return ClusterStages(
            self._settings,
            store=store,
            clock=clock,
            health=health,
            name=identity.of(self._settings.data_dir),
            address=self._advertised,
            pipeline=line,
        )

    def _advertised(self) -> str:
        """Return where the others reach this collector."""
        if self._settings.log.advertise:
            return self._settings.log.advertise
        scheme, _, rest = self.address().partition("://")
        host, _, port = rest.rpartition(":")
        if host.strip("[]") in _ANY:
            host = socket.getfqdn()
        return f"{scheme}://{host}:{port}"
