"""Connections of senders and readers: how many there may be, and how long one may keep us waiting.

Where there is no room for another, a connection that waits for its client makes it: one without a
valid token first, else one of the token that has most. Belongs to the event loop.
"""

import asyncio
from collections.abc import Iterable
from itertools import islice
from typing import Literal, Protocol

import structlog

from ...vocabulary.clock import Clock
from ..health.health import CollectorHealth
from ..settings.http import HttpSettings

Awaited = Literal["head", "body", "answer"]
ClosedFor = Awaited | Literal["room", "pipelined", "malformed"]
_REASONS: tuple[ClosedFor, ...] = ("head", "body", "answer", "room", "pipelined", "malformed")

_LOG = structlog.get_logger(__name__)
_SWEEP_SECONDS = 1.0
_MOST_LOOKED_AT = 100
"""Connections that are asked whether they wait; where none of them does, the new one goes."""
_READ_BYTES = 64 << 10
"""Of its answer, what a client takes at least between two looks."""
_RESERVED = 512
"""Descriptors that are left to journal, database, deliveries and polls."""
_NEWS_SECONDS = 600.0


class HttpConnection(Protocol):
    """A connection, as the register sees it."""

    @property
    def waiting(self) -> bool:
        """Return whether it waits for its client: nothing of it is being worked at."""
        ...

    @property
    def paused(self) -> bool:
        """Return whether it is we who do not read."""
        ...

    @property
    def unsent(self) -> int:
        """Return the bytes of answers that its client has not taken."""
        ...

    def cut(self) -> None:
        """Close it at once."""
        ...


def most(settings: HttpSettings, descriptors: int) -> int:
    """Return how many connections there may be in a process with so many descriptors."""
    return min(settings.max_connections, descriptors - min(_RESERVED, descriptors // 2))


class ConnectionRegister:
    """All connections of a server."""

    def __init__(
        self, settings: HttpSettings, *, descriptors: int, health: CollectorHealth, clock: Clock
    ) -> None:
        """`descriptors`: how many files this process may have open."""
        self.limit = most(settings, descriptors)
        self._seconds: dict[Awaited, float] = {
            "head": settings.head_seconds,
            "body": settings.body_seconds,
            "answer": settings.answer_seconds,
        }
        self._clock = clock
        self._count = 0
        self._owners: dict[HttpConnection, bytes | None] = {}
        self._by_owner: dict[bytes | None, dict[HttpConnection, None]] = {None: {}}
        """By token, None: none so far; the longest quiet first."""
        self._awaited: dict[HttpConnection, tuple[Awaited, float]] = {}
        """What a client has to send, and until when, in seconds of the event loop."""
        self._unread: dict[HttpConnection, tuple[int, float]] = {}
        """What a client has to take: its bytes when last looked at, and when to look again."""
        self._sweeping = False
        self._full_at: float | None = None
        self._closed = health.closed_connections
        for reason in _REASONS:
            self._closed.labels(reason)
        health.connections.set_function(lambda: len(self._owners))
        health.connections_limit.set(self.limit)

    def opened(self, connection: HttpConnection) -> None:
        """Enter a connection; where there are too many, one goes, this one perhaps."""
        self._owners[connection] = None
        self._by_owner[None][connection] = None
        if len(self._owners) > self.limit:
            self._close(self._dispensable(connection), "room")
            self._note_full()

    def known(self, connection: HttpConnection, sender: bytes) -> None:
        """Note that a request with a valid token came on a connection."""
        owner = self._owners.get(connection)
        if owner == sender:
            mine = self._by_owner[sender]
            del mine[connection]
            mine[connection] = None
            return
        if connection not in self._owners:
            return  # it was closed meanwhile
        self._leave(connection, owner)
        self._owners[connection] = sender
        self._by_owner.setdefault(sender, {})[connection] = None

    def closed(self, connection: HttpConnection) -> None:
        if connection in self._owners:
            self._leave(connection, self._owners.pop(connection))
        self._awaited.pop(connection, None)
        self._unread.pop(connection, None)

    def expect(self, connection: HttpConnection, what: Awaited) -> None:
        """Give a client from now on so long to send something, or to take what is its."""
        due = self._now() + self._seconds[what]
        if what == "answer":
            self._unread[connection] = (connection.unsent, due)
        else:
            self._awaited[connection] = (what, due)
        if not self._sweeping:
            self._sweeping = True
            asyncio.get_running_loop().call_later(_SWEEP_SECONDS, self._sweep)

    def sent(self, connection: HttpConnection) -> None:
        """Note that a client has sent what was expected."""
        self._awaited.pop(connection, None)

    def taken(self, connection: HttpConnection) -> None:
        """Note that a client has taken what was its."""
        self._unread.pop(connection, None)

    def refused(self, reason: ClosedFor) -> None:
        """Count a connection that is closed for what came on it."""
        self._closed.labels(reason).inc()

    def warnings(self) -> list[str]:
        """Return what an operator has to know."""
        if self._full_at is None or self._clock.now() - self._full_at > _NEWS_SECONDS:
            return []
        warning = (
            f"all {self.limit} connections are in use, and the longest quiet ones are closed for "
            "new ones: raise http.max_connections (RANKSCOPE_HTTP__MAX_CONNECTIONS) and the limit "
            "of open files (LimitNOFILE, ulimit -n), or find who opens them"
        )
        return [warning]

    def _now(self) -> float:
        return asyncio.get_running_loop().time()

    def _leave(self, connection: HttpConnection, owner: bytes | None) -> None:
        of_owner = self._by_owner[owner]
        of_owner.pop(connection, None)
        if not of_owner and owner is not None:
            del self._by_owner[owner]

    def _dispensable(self, newest: HttpConnection) -> HttpConnection:
        """Return the connection that is to make room.

        Where nobody waits it is one of who has more than half of all, else the newest.
        """
        strangers = _waiting(self._by_owner[None])
        if strangers is not None and strangers is not newest:
            return strangers
        largest = max(self._by_owner.values(), key=len)
        if len(largest) > self.limit // 2:
            return _waiting(largest) or next(iter(largest))
        return _waiting(largest) or newest

    def _note_full(self) -> None:
        now = self._clock.now()
        if self._full_at is None or now - self._full_at > _NEWS_SECONDS:
            _LOG.warning(
                "too many connections: quiet ones are closed for new ones", most=self.limit
            )
        self._full_at = now

    def _close(self, connection: HttpConnection, reason: ClosedFor) -> None:
        self.refused(reason)
        self.closed(connection)
        connection.cut()

    def _sweep(self) -> None:
        """Close whom was waited for long enough."""
        now = self._now()
        for connection, (what, due) in list(self._awaited.items()):
            if due > now:
                continue
            if connection.paused:
                self.expect(connection, what)
            else:
                self._close(connection, what)
        for connection, (before, due) in list(self._unread.items()):
            if due > now:
                continue
            if connection.unsent <= before - _READ_BYTES:
                self.expect(connection, "answer")
            else:
                self._close(connection, "answer")
        self._sweeping = bool(self._awaited or self._unread)
        if self._sweeping:
            asyncio.get_running_loop().call_later(_SWEEP_SECONDS, self._sweep)


def _waiting(connections: Iterable[HttpConnection]) -> HttpConnection | None:
    """Return the first that waits for its client, of the first few."""
    few = islice(connections, _MOST_LOOKED_AT)
    return next((connection for connection in few if connection.waiting), None)
