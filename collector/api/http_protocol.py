"""HTTP/1.1 of the collector: uvicorn's own, with a short way for what the intake takes directly.

Parsing, keep-alive, pipelining and the end of the server are uvicorn's. A request that
`DirectIntake` admits has no task: it is answered once its payload is kept. Where something turns
out to be unusual about it, it is handed to uvicorn as if it had come just then.

Of who shows no valid token nothing but the head of a request is kept: its body is thrown away as it
comes, and the application finds none. `ConnectionRegister` bounds how long a client may keep a
connection waiting.
"""

import asyncio
import functools
from collections import deque
from concurrent.futures import Future
from typing import Any, cast

import httptools
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from ..intake.payloads import PayloadOutcome
from .auth import TokenGuard
from .connections import Awaited, ConnectionRegister
from .direct_intake import AdmittedPayload, DirectIntake

MOST_STALLED_BYTES = 16 << 10
"""Bytes without a head or a part of a body becoming whole: the parser would take any number."""
MOST_PIPELINED = 64
"""Requests of a connection that wait for the answer to one before."""

_Kept = Future[PayloadOutcome]


def serving(
    direct: DirectIntake, guard: TokenGuard, register: ConnectionRegister
) -> type[asyncio.Protocol]:
    """Return what makes the protocol of a connection; one server uses it."""
    return cast(
        "type[asyncio.Protocol]",
        functools.partial(
            CollectorHttpProtocol,
            direct=direct,
            guard=guard,
            register=register,
            mailbox=AnswerMailbox(),
        ),
    )


class CollectorHttpProtocol(HttpToolsProtocol):
    """One connection."""

    parser: httptools.HttpRequestParser

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
        direct: DirectIntake,
        guard: TokenGuard,
        register: ConnectionRegister,
        mailbox: "AnswerMailbox",
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.mailbox = mailbox
        self._direct = direct
        self._guard = guard
        self._register = register
        self._moved = False
        self._stalled = 0
        self._awaited: Awaited | None = "head"
        self._turned = False
        """Whether a request has begun with these bytes."""
        self._answered: RequestResponseCycle | None = None
        """The request that the application answers; others may have come behind it."""
        self._stranger = True
        """Whether the request that comes in has no valid token."""

    @property
    def waiting(self) -> bool:
        """Return whether it waits for its client: nothing of it is being worked at."""
        return self._awaited is not None or not self._busy

    @property
    def paused(self) -> bool:
        """Return whether it is we who do not read."""
        return self.flow.read_paused

    @property
    def unsent(self) -> int:
        """Return the bytes of answers that the client has not taken."""
        return self.transport.get_write_buffer_size()

    def cut(self) -> None:
        """Close it at once; what answers its request finds that nobody is there."""
        self.transport.abort()
        self._gone()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to wait for a head."""
        super().connection_made(cast("asyncio.Transport", transport))
        self._register.expect(self, "head")
        self._register.opened(self)

    def pause_writing(self) -> None:
        """Begin to wait for the client to take its answer."""
        super().pause_writing()
        self._register.expect(self, "answer")

    def resume_writing(self) -> None:
        """Note that the client takes its answer."""
        super().resume_writing()
        self._register.taken(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget what has not arrived."""
        self._register.closed(self)
        cycle = self._direct_cycle()
        if cycle is not None and not cycle.whole:
            self._direct.given_up(cycle.admitted)
        super().connection_lost(exc)
        self._gone()

    def data_received(self, data: bytes) -> None:
        """Take bytes; a head without an end is refused."""
        self._moved = self._turned = False
        before = self._awaited
        super().data_received(data)
        if self._turned or before != self._awaited or before is None:
            self._expect()
        self._stalled = 0 if self._moved else self._stalled + len(data)
        if self._stalled > MOST_STALLED_BYTES and not self.transport.is_closing():
            self.send_400_response("The head of the request is too long.")

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no request, and close."""
        self._register.refused("malformed")
        super().send_400_response(msg)

    def on_message_begin(self) -> None:
        """Begin a request."""
        self._awaited, self._turned = "head", True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Take a request directly where it may be."""
        if self.transport.is_closing():
            return  # it came behind the one for which the connection was closed
        self._moved = True
        self._awaited = "body"
        admitted = self._admitted()
        principal = self._guard.sender(self.headers) if admitted is None else admitted.principal
        self._stranger = principal is None
        if principal is not None:
            self._register.known(self, principal.sender)
        if admitted is None:
            self._begin()
            return
        cycle = DirectCycle(self, admitted, keep_alive=self.parser.should_keep_alive())
        self.cycle = cast("RequestResponseCycle", cycle)

    def on_body(self, body: bytes) -> None:
        """Take a part of a body."""
        self._moved = True
        cycle = self._direct_cycle()
        if cycle is not None:
            cycle.body += body
        elif not self._stranger:
            super().on_body(body)

    def on_message_complete(self) -> None:
        """Submit a payload that is taken directly."""
        self._moved = True
        self._awaited = None
        cycle = self._direct_cycle()
        if cycle is None:
            super().on_message_complete()
            return
        cycle.whole = True
        self._direct.arrived(cycle.admitted)
        kept = self._direct.submit(cycle.admitted, cycle.body, self.client)
        if kept is not None:
            kept.add_done_callback(cycle.kept)
            return
        self.cycle = cast("RequestResponseCycle", None)
        super().on_headers_complete()
        super().on_body(cycle.body)
        super().on_message_complete()

    def answer(self, cycle: "DirectCycle", kept: _Kept) -> None:
        """Answer a request that was taken directly, and let the connection go on."""
        if self.transport.is_closing():
            return
        headers = self.server_state.default_headers
        if not cycle.keep_alive:
            headers = [*headers, (b"connection", b"close")]
        self.transport.write(self._direct.answer(cycle.admitted, kept, headers))
        if not cycle.keep_alive:
            self.transport.close()
        self.on_response_complete()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._answered = cycle
        super()._start_asgi_task(cycle, app)

    def _gone(self) -> None:
        """Let what answers a request know that nobody is there; uvicorn tells the last to come.

        Those behind it hold the connection, which holds them: only a look for garbage ends that.
        """
        self.pipeline.clear()
        if self._answered is not None:
            self._answered.disconnected = True
            self._answered.message_event.set()

    def _admitted(self) -> AdmittedPayload | None:
        parser = self.parser
        if parser.get_method() != b"POST" or parser.get_http_version() != "1.1":
            return None
        if self._busy or self.expect_100_continue or parser.should_upgrade():
            return None
        return self._direct.admitted(self.url, self.headers)

    def _begin(self) -> None:
        """Have the application answer a request, once those before it are answered."""
        if len(self.pipeline) < MOST_PIPELINED:
            super().on_headers_complete()
        elif not self.transport.is_closing():
            self._register.refused("pipelined")
            self.cut()

    @property
    def _busy(self) -> bool:
        """Return whether a request is to be answered."""
        return bool(self.cycle) and not self.cycle.response_complete

    def _expect(self) -> None:
        """Say what the client is to send, where that may have changed with what it sent."""
        if self._awaited is None and not self._moved and not self._busy:
            # Bytes between two requests, such as empty lines: they stop uvicorn's own clock.
            self._awaited = "head"
        if self._awaited is None:
            self._register.sent(self)
        elif not self.transport.is_closing():
            self._register.expect(self, self._awaited)

    def _direct_cycle(self) -> "DirectCycle | None":
        """Return the request that is being received, where it is taken directly."""
        cycle: object = self.cycle
        return cycle if isinstance(cycle, DirectCycle) and not cycle.response_complete else None


class DirectCycle:
    """A request that is taken directly, and its answer; uvicorn asks the same of its own."""

    def __init__(
        self, protocol: CollectorHttpProtocol, admitted: AdmittedPayload, *, keep_alive: bool
    ) -> None:
        self.admitted = admitted
        self.keep_alive = keep_alive
        self.body = b""
        self.whole = False
        self.response_complete = False
        self.disconnected = False
        self.message_event = self
        self._protocol = protocol

    def set(self) -> None:
        """Do nothing: no task waits for this request."""

    def kept(self, kept: _Kept) -> None:
        """Have the event loop answer; from any thread."""
        self._protocol.mailbox.put(self._protocol.loop, self, kept)

    def answer(self, kept: _Kept) -> None:
        """Answer, in the event loop."""
        self.response_complete = True
        self._protocol.answer(self, kept)


class AnswerMailbox:
    """Answers that are due, from any thread to the event loop, which is woken once for many."""

    def __init__(self) -> None:
        self._due: deque[tuple[DirectCycle, _Kept]] = deque()
        self._woken = False

    def put(self, loop: asyncio.AbstractEventLoop, cycle: DirectCycle, kept: _Kept) -> None:
        """Have a request answered in the event loop of all of them."""
        self._due.append((cycle, kept))
        if not self._woken and not loop.is_closed():
            self._woken = True
            loop.call_soon_threadsafe(self._answer, loop)

    def _answer(self, loop: asyncio.AbstractEventLoop) -> None:
        self._woken = False
        while self._due:
            cycle, kept = self._due.popleft()
            loop.call_soon(cycle.answer, kept)
