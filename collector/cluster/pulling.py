"""What one pull consumer delivers: asked for ahead, so that a message costs no request of its own.

The client's own `fetch` asks for each batch, and waits for each message with a timer.
"""

import asyncio
import json
import time

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription

_BATCH = 128
_EXPIRES_SECONDS = 5.0
"""A request that so many messages did not answer ends, and is made again."""
_LATE_SECONDS = 0.5
_HEARTBEAT, _ENDED = "100", ("404", "408")
"""Statuses of a request that still waits, or has just ended."""
_SECOND_NS = 1_000_000_000


class ConsumerPull:
    """The deliveries of one consumer, in order. For one coroutine at a time."""

    def __init__(self, client: Client, stream: str, consumer: str) -> None:
        self._client = client
        self._next = f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{consumer}"
        self._inbox = client.new_inbox()
        self._subscription: Subscription | None = None
        self._arrived: list[Msg] = []
        self._some = asyncio.Event()
        self._asked = 0
        """Messages that are still to come of what was asked for."""
        self._until = 0.0
        self._connected = -1
        self._over = ""
        """Why the consumer gives no more."""

    async def take(self, seconds: float) -> list[Msg]:
        """Return what has arrived, waiting for the first so long; empty where nothing does.

        Raises ConnectionError where the consumer is gone, and what the client raises.
        """
        if self._subscription is None:
            self._subscription = await self._client.subscribe(self._inbox, cb=self._take)
        await self._ask()
        if not self._arrived:
            try:
                async with asyncio.timeout(seconds):
                    await self._some.wait()
            except TimeoutError:
                return []
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
        """Ask for more where little is to come; at once where a server was lost with a request."""
        now, connected = time.monotonic(), self._client.stats["reconnects"]
        lost = connected != self._connected or now > self._until
        if not self._client.is_connected or (self._asked > _BATCH // 2 and not lost):
            return
        request = {"batch": _BATCH, "expires": int(_EXPIRES_SECONDS * _SECOND_NS)}
        await self._client.publish(self._next, json.dumps(request).encode(), self._inbox)
        self._asked = _BATCH if lost else self._asked + _BATCH
        self._until, self._connected = now + _EXPIRES_SECONDS + _LATE_SECONDS, connected

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
