"""Messages published in groups, each acknowledged by JetStream once its stream has it.

The client's own `publish` makes a task, a timer and an inbox of each message; here a group has one
of each, and an acknowledgement finds its message by the number at the end of its subject.
"""

import asyncio
import json
from collections.abc import Sequence

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription

from .connection import ERRORS
from .messages import Headers

Outgoing = tuple[str, bytes, Headers]
"""A message on its way: subject, body, headers."""

_NO_ANSWER = "NATS does not answer"


class _MessageGroup:
    """What became of each message of a group: None once it is kept, else why it is not."""

    def __init__(self, size: int) -> None:
        self.found: list[str | None] = [_NO_ANSWER] * size
        self.done = asyncio.Event()
        self._open = size

    def answer(self, place: int, why: str | None) -> None:
        """Note what became of one that was not answered yet."""
        self.found[place] = why
        self._open -= 1
        if not self._open:
            self.done.set()


class AcknowledgedPublisher:
    """Publishes on one client, from its loop; several groups may be on their way."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._inbox = client.new_inbox()
        self._subscription: Subscription | None = None
        self._subscribing = asyncio.Lock()
        self._number = 0
        self._waiting: dict[str, tuple[_MessageGroup, int]] = {}

    async def publish(self, outgoing: Sequence[Outgoing], seconds: float) -> list[str | None]:
        """Return of each message None if it is kept, else why that is not known within so long.

        Raises what `connection.ERRORS` names where no acknowledgement can come.
        """
        async with self._subscribing:
            if self._subscription is None:
                inbox = f"{self._inbox}.*"
                self._subscription = await self._client.subscribe(inbox, cb=self._take)
        group = _MessageGroup(len(outgoing))
        replies: list[str] = []
        for place, (subject, body, headers) in enumerate(outgoing):
            self._number += 1
            reply = f"{self._inbox}.{self._number}"
            replies.append(reply)
            self._waiting[reply] = group, place
            try:
                await self._client.publish(subject, body, reply, dict(headers))
            except ERRORS as error:
                self._answer(reply, str(error) or _NO_ANSWER)
        try:
            async with asyncio.timeout(seconds):
                await group.done.wait()
        except TimeoutError:
            pass
        finally:
            for reply in replies:
                self._waiting.pop(reply, None)
        return group.found

    async def _take(self, message: Msg) -> None:
        self._answer(message.subject, _refusal(message))

    def _answer(self, reply: str, why: str | None) -> None:
        waiting = self._waiting.pop(reply, None)
        if waiting is not None:
            group, place = waiting
            group.answer(place, why)


def _refusal(message: Msg) -> str | None:
    """Return why a stream does not have a message; None of its acknowledgement."""
    if not message.data:
        return "no stream has the subject"
    if b'"error"' not in message.data:
        return None
    try:
        error = json.loads(message.data).get("error")
    except ValueError:
        return "the acknowledgement is not JSON"
    return str(error.get("description") or error) if error else None
