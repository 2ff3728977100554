"""What one pull consumer delivers: asked for ahead, or what there is at the moment.

Whoever waits for messages asks ahead, so that none costs a request of its own. Whoever comes for
them at times of its own asks then: they are sent in one go, which wakes server and client once and
not for each message. The client's own `fetch` waits for each message with a timer.
"""

import asyncio
import json
import time
from typing import Any

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription

_BATCH = 128
_EXPIRES_SECONDS = 5.0
"""A request that so many messages did not answer ends, and is made again."""
_LATE_SECONDS = 0.5
_REST_SECONDS = 0.05
"""How long what is sent in one go may be interrupted."""
_HEARTBEAT, _ENDED = "100", ("404", "408")
"""Statuses of a request that still waits, or has just ended."""
_SECOND_NS = 1_000_000_000


def numbers(message: Msg) -> tuple[int, int, int, int]:
    """Return (sequence, number of the delivery, time in ns, messages behind it) of a delivery."""
    # $JS.ACK.[domain.account.]stream.consumer.tries.sequence.delivered.time.pending[.token]
    words = message.reply.split(".")
    sequence, delivered, taken, pending = words[5:9] if len(words) < 11 else words[7:11]
    return int(sequence), int(delivered), int(taken), int(pending)


class ConsumerDeliveries:
    """Base: the deliveries of one consumer, in order. For one coroutine at a time."""

    def __init__(self, client: Client, stream: str, consumer: str) -> None:
        self._client = client
        self._next = f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{consumer}"
        self._inbox = client.new_inbox()
        self._subscription: Subscription | None = None
        self._arrived: list[Msg] = []
        self._some = asyncio.Event()
        self._asked = 0
        """Messages that are still to come of what was asked for."""
        self._over = ""
        """Why the consumer gives no more."""

    async def take(self, seconds: float) -> list[Msg]:
        """Return what has arrived, waiting for the first so long; empty where nothing does.

        Raises ConnectionError where the consumer is gone, and what the client raises.
        """
        if self._subscription is None:
            self._subscription = await self._client.subscribe(self._inbox, cb=self._take)
        await self._ask()
        await self._wait(seconds)
        if self._over and not self._arrived:
            raise ConnectionError(self._over)
        found, self._arrived = self._arrived, []
        self._some.clear()
        return found

    async def close(self) -> None:
        """Take no more. Raises what the client raises."""
        subscription, self._subscription = self._subscription, None
        if subscription is not None:
            await subscription.unsubscribe()

    async def _ask(self) -> None:
        """Ask for messages, where that is due."""
        raise NotImplementedError

    async def _wait(self, seconds: float) -> None:
        """Wait so long for the first message, or for the end of what was asked for."""
        raise NotImplementedError

    async def _request(self, **terms: Any) -> None:
        request = json.dumps({"batch": _BATCH, **terms}).encode()
        await self._client.publish(self._next, request, self._inbox)

    async def _some_within(self, seconds: float) -> bool:
        """Wait for the next message or status; return whether one came."""
        try:
            async with asyncio.timeout(seconds):
                await self._some.wait()
        except TimeoutError:
            return False
        return True

    async def _take(self, message: Msg) -> None:
        if message.reply:
            self._asked -= 1
            self._arrived.append(message)
            self._some.set()
            return
        found = message.headers or {}
        # The client takes a subject that stands beside the status for a part of it.
        status = found.get("Status", "").partition("\n")[0].strip()
        if status == _HEARTBEAT:
            return
        self._asked = 0
        if status not in _ENDED:
            why = found.get("Description") or "no server has the consumer"
            self._over = f"{status}: {why}"
        self._some.set()  # so that it is asked again


class ConsumerPull(ConsumerDeliveries):
    """What the stream gets is delivered at once: it was asked for ahead."""

    def __init__(self, client: Client, stream: str, consumer: str) -> None:
        super().__init__(client, stream, consumer)
        self._until = 0.0
        self._connected = -1

    async def _ask(self) -> None:
        """Ask for more where little is to come; at once where a server was lost with a request."""
        now, connected = time.monotonic(), self._client.stats["reconnects"]
        lost = connected != self._connected or now > self._until
        if not self._client.is_connected or (self._asked > _BATCH // 2 and not lost):
            return
        await self._request(expires=int(_EXPIRES_SECONDS * _SECOND_NS))
        self._asked = _BATCH if lost else self._asked + _BATCH
        self._until, self._connected = now + _EXPIRES_SECONDS + _LATE_SECONDS, connected

    async def _wait(self, seconds: float) -> None:
        if not self._arrived:
            await self._some_within(seconds)


class ConsumerBatches(ConsumerDeliveries):
    """What there is when it is taken, up to a batch."""

    async def _ask(self) -> None:
        self._some.clear()
        await self._request(no_wait=True)
        self._asked = _BATCH

    async def _wait(self, seconds: float) -> None:
        """Wait until the stream has no more or the batch is whole.

        The server makes a batch as large as what there is; what the stream got since is not in it.
        """
        while self._asked > 0 and not (self._arrived and numbers(self._arrived[-1])[3] == 0):
            if not await self._some_within(_REST_SECONDS if self._arrived else seconds):
                return
            self._some.clear()
