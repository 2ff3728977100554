"""Messages of one stream in order, by a pull consumer that is made anew wherever it is lost."""

import contextlib
import time
from datetime import UTC, datetime, timedelta
from typing import Any

from nats.aio.msg import Msg
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy

from .connection import ERRORS, NatsConnection
from .messages import StreamMessage
from .pulling import ConsumerBatches, ConsumerDeliveries, ConsumerPull, numbers

_QUIET_SECONDS = 3.0
"""After so long without a message the consumer is looked for: its server may have died."""
_INACTIVE_SECONDS = 60.0
_EPOCH = datetime.fromtimestamp(0, UTC)


class StreamReader:
    """Reads a stream after a sequence, or since a time. For one coroutine at a time."""

    def __init__(
        self,
        connection: NatsConnection,
        stream: str,
        *,
        after: int = 0,
        since_ns: int | None = None,
        subject: str | None = None,
        newest_only: bool = False,
        ahead: bool = True,
    ) -> None:
        """`newest_only`: begin with the newest message of each subject.

        Without `ahead` nothing is delivered before it is fetched.
        """
        self._connection = connection
        self.stream = stream
        self._after = after
        self._since_ns = since_ns
        self._subject = subject
        self._newest_only = newest_only
        self._deliveries = ConsumerPull if ahead else ConsumerBatches
        self._pull: ConsumerDeliveries | None = None
        self._name = ""
        self._delivered = 0
        self._heard_at = 0.0

    async def fetch(self, seconds: float) -> list[StreamMessage]:
        """Return the next messages, waiting for the first so long; empty where there is none.

        Raises what `connection.ERRORS` names while the stream cannot be read.
        """
        if self._pull is None:
            await self._begin()
        assert self._pull is not None  # noqa: S101  just made
        try:
            found = await self._pull.take(seconds)
        except ERRORS:
            await self.close()
            raise
        if not found:
            await self._look()
            return []
        self._heard_at = time.monotonic()
        messages: list[StreamMessage] = []
        for one in found:
            message, number = _message(one)
            if number != self._delivered + 1:
                # Lost between the server and here: read again from where it broke off.
                await self.close()
                break
            self._delivered = number
            self._after = message.sequence
            messages.append(message)
        return messages

    async def close(self) -> None:
        """Let go of the consumer; the next fetch makes another after what was read."""
        pull, self._pull = self._pull, None
        if pull is None:
            return
        with contextlib.suppress(*ERRORS):
            await pull.close()
        with contextlib.suppress(*ERRORS):
            await self._connection.js.delete_consumer(self.stream, self._name)

    async def _begin(self) -> None:
        config = ConsumerConfig(
            deliver_policy=DeliverPolicy.ALL,
            ack_policy=AckPolicy.NONE,
            filter_subject=self._subject,
            inactive_threshold=_INACTIVE_SECONDS,
            mem_storage=True,
            num_replicas=1,
        )
        if self._after:
            config.deliver_policy = DeliverPolicy.BY_START_SEQUENCE
            config.opt_start_seq = self._after + 1
        elif self._since_ns is not None:
            config.deliver_policy = DeliverPolicy.BY_START_TIME
            # Whole microseconds, downwards: rounded up, it would begin after the entry.
            config.opt_start_time = _EPOCH + timedelta(microseconds=self._since_ns // 1000)
        elif self._newest_only:
            config.deliver_policy = DeliverPolicy.LAST_PER_SUBJECT
        js = self._connection.js
        made = await js.add_consumer(self.stream, config)
        self._name = str(made.name)
        self._delivered = 0
        self._heard_at = time.monotonic()
        self._pull = self._deliveries(self._connection.client, self.stream, self._name)

    async def _look(self) -> None:
        """Make the consumer anew where it is gone."""
        if time.monotonic() - self._heard_at < _QUIET_SECONDS:
            return
        try:
            await self._connection.js.consumer_info(self.stream, self._name)
            self._heard_at = time.monotonic()
        except ERRORS:
            await self.close()


def _message(one: Msg) -> tuple[StreamMessage, int]:
    """Return a message, and its number among those that this consumer delivered."""
    sequence, delivered, taken, pending = numbers(one)
    headers: dict[str, Any] = one.headers or {}
    return StreamMessage(sequence, taken, headers, one.data, pending), delivered
