"""Entries that cannot be read are kept where somebody can look at them, counted and told once."""

import structlog
from nats.js.errors import APIError

from . import messages, names
from .connection import ERRORS, NatsConnection
from .health import ClusterHealth
from .messages import StreamMessage

_LOG = structlog.get_logger(__name__)


class AsideStream:
    """Moves what cannot be read of one partition to the stream `rankscope-aside`."""

    def __init__(self, connection: NatsConnection, partition: int, health: ClusterHealth) -> None:
        self._connection = connection
        self._partition = partition
        self._health = health

    def move(self, message: StreamMessage, error: Exception) -> None:
        """Keep a message with what is wrong with it; the same one twice is kept once."""
        self._health.aside.inc()
        _LOG.error(
            "an entry of the log cannot be read and is moved aside",
            partition=self._partition,
            sequence=message.sequence,
            error=str(error),
        )
        headers = {
            **message.headers,
            messages.ID: f"{self._partition}-{message.sequence}",
            "Rankscope-Error": " ".join(str(error).split())[:500],
            "Rankscope-Sequence": str(message.sequence),
        }
        self._connection.spawn(self._put(message.body, headers))

    async def _put(self, body: bytes, headers: dict[str, str]) -> None:
        try:
            await self._connection.js.publish(
                names.aside(self._partition), body, headers=dict(headers)
            )
        except (APIError, *ERRORS) as error:
            _LOG.warning("the entry could not be moved aside", error=str(error))
