"""OTLP over gRPC, beside OTLP over HTTP: the same payloads, the same journal, the same answers.

Off unless an address is set; grpcio is loaded only then (extra `grpc`). Messages are handed on as
the bytes they came in. Calls wait for their messages and for the journal on one event loop, in a
thread of its own: a sender that stops within a message holds nothing that others need, and its
call ends after `http.body_seconds`. The token comes before the message, and is checked first;
messages that are read at once have the room of bodies (`intake.buffer_bytes`), by token.
"""

import asyncio
import functools
import hashlib
import hmac
import ipaddress
import threading
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import structlog

from ...formats.otlp.errors import UndecodableError
from ...vocabulary.clock import Clock
from ..health.health import CollectorHealth
from ..journal.kinds import PayloadKind
from ..settings.api import TokenSettings
from ..settings.collector import CollectorSettings
from . import answers
from .answers import Signal
from .budget import ByteBudget
from .payloads import Payload, PayloadDefectError, PayloadOutcome, PayloadSink
from .permits import NotPermittedError
from .waiting import UnavailableError

if TYPE_CHECKING:
    import grpc

_LOG = structlog.get_logger(__name__)
_METHODS: dict[str, tuple[Signal, PayloadKind]] = {
    "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export": (
        "metrics",
        PayloadKind.METRICS_PROTOBUF,
    ),
    "/opentelemetry.proto.collector.logs.v1.LogsService/Export": (
        "logs",
        PayloadKind.LOGS_PROTOBUF,
    ),
}
_CALLS = 100
"""At once on a connection, those of a proxy that carries many senders too; more wait there."""
_OPTIONS = (
    # Else a second collector on the address starts without a word, and gets every other sender.
    ("grpc.so_reuseport", 0),
    ("grpc.max_concurrent_streams", _CALLS),
    # Who is gone without a word is noticed, and its calls with it.
    ("grpc.keepalive_time_ms", 60_000),
    ("grpc.keepalive_timeout_ms", 20_000),
    ("grpc.max_connection_idle_ms", 300_000),
    # Who connects and says nothing.
    ("grpc.server_handshake_timeout_ms", 10_000),
)
_ANSWER_SECONDS = 30.0
_GRACE_SECONDS = 2.0
_WRONG_SECONDS = 1.0
"""A wrong token is answered that late, one at a time: further ones at once."""
_EXTRA = "OTLP over gRPC needs grpcio: pip install 'rankscope[collector,grpc]'"


class MissingGrpcError(OSError):
    """An address for gRPC is set, and grpcio is not installed."""


class _TokenError(Exception):
    """A call without a token that is known and valid; the text says what to do.

    `guessed`: it came with one that is not known.
    """

    def __init__(self, text: str, *, guessed: bool = False) -> None:
        super().__init__(text)
        self.guessed = guessed


class GrpcIntake:
    """Takes ExportMetricsServiceRequest and ExportLogsServiceRequest over gRPC.

    Raises OSError where the address cannot be had, or grpcio is not installed.
    """

    def __init__(
        self,
        settings: CollectorSettings,
        *,
        sink: PayloadSink,
        clock: Clock,
        health: CollectorHealth,
        connections: int,
    ) -> None:
        """Bind the address. `connections`: how many there may be; further ones are closed."""
        try:
            import grpc.aio  # noqa: PLC0415  only where an address is set
        except ImportError:
            raise MissingGrpcError(_EXTRA) from None
        self._grpc = grpc
        self._sink = sink
        self._clock = clock
        self._health = health
        self._settings = settings.intake
        self._limit = min(settings.intake.grpc_limit_bytes, settings.intake.body_limit_bytes)
        self._message_seconds = settings.http.body_seconds
        self._most_connections = connections
        self._room = ByteBudget(settings.intake.buffer_bytes)
        self._room_changed = asyncio.Condition()
        self._tokens: Sequence[TokenSettings] = settings.api.tokens
        self._guessed = False
        listen = settings.intake.grpc_listen
        host, _, port = listen.rpartition(":")
        if not self._tokens and not _loopback(host):
            _LOG.warning("no token is configured: OTLP over gRPC on loopback only", asked=listen)
            host = "127.0.0.1"
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="otlp-grpc", daemon=True)
        try:
            bound = self._loop.run_until_complete(self._bind(f"{host}:{port}"))
        except OSError:
            self._loop.close()
            raise
        self.address = f"{host}:{bound}"

    async def _bind(self, address: str) -> int:
        """Make the server, which belongs to the loop that runs; return its port."""
        intake = self._settings
        handlers: list[Any] = [_GrpcHandlers(self)]
        limits = (
            ("grpc.max_receive_message_length", self._limit),
            ("grpc.max_allowed_incoming_connections", self._most_connections),
        )
        self._server = self._grpc.aio.server(handlers=handlers, options=(*limits, *_OPTIONS))
        try:
            return int(self._server.add_insecure_port(address))
        except RuntimeError:
            # grpcio writes the cause to standard error, and says here how to make it write more.
            raise OSError(
                f"intake.grpc_listen {intake.grpc_listen}: it is in use, or no address of this "
                "machine; set intake.grpc_listen (RANKSCOPE_INTAKE__GRPC_LISTEN) to one that is "
                "free"
            ) from None

    def start(self) -> None:
        """Take requests."""
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._server.start(), self._loop).result()
        _LOG.info("OTLP over gRPC", address=self.address)

    def stop(self) -> None:
        """Take no more, and answer those that are in progress."""
        if self._thread.ident is not None:
            asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
        self._loop.close()

    def warnings(self) -> list[str]:
        """Return nothing: senders hear what is wrong."""
        return []

    async def call(
        self,
        method: str,
        token: TokenSettings | None,
        context: "grpc.aio.ServicerContext[Any, Any]",
    ) -> bytes:
        """Take a request of who has this token; return the bytes of its answer."""
        signal, kind = _METHODS[method]
        codes = self._grpc.StatusCode
        try:
            async with asyncio.timeout(self._message_seconds):
                body = await self._read(context, b"" if token is None else token.digest)
        except TimeoutError:
            text = f"the message did not come within {self._message_seconds:g} s"
            await self._refuse(context, codes.DEADLINE_EXCEEDED, "408", text)
        if not isinstance(body, bytes):
            await self._refuse(context, codes.INVALID_ARGUMENT, "400", "there is no message")
        payload = (
            Payload(kind, body, connection=context.peer())
            if token is None
            else Payload(kind, body, token.jobs, token.digest, context.peer())
        )
        try:
            # Who hangs up does not undo what is on its way into the journal.
            kept = asyncio.shield(asyncio.wrap_future(self._sink.submit(payload)))
            outcome: PayloadOutcome = await asyncio.wait_for(kept, _ANSWER_SECONDS)
        except UndecodableError as error:
            await self._refuse(context, codes.INVALID_ARGUMENT, "400", str(error))
        except NotPermittedError as error:
            await self._refuse(context, codes.PERMISSION_DENIED, "403", str(error))
        except PayloadDefectError as error:
            await self._refuse(context, codes.INTERNAL, "500", str(error))
        except (UnavailableError, TimeoutError) as error:
            # Like DEADLINE_EXCEEDED above one of those that every OTLP sender repeats.
            text = str(error) or "the journal is slow"
            await self._refuse(context, codes.UNAVAILABLE, "503", text)
        return bytes(answers.success(outcome, signal, "protobuf").body)

    async def _read(self, context: "grpc.aio.ServicerContext[Any, Any]", sender: bytes) -> object:
        """Return the message of a call; how long it is nobody knows, so it has room for any."""
        async with self._room_changed:
            await self._room_changed.wait_for(lambda: self._room.take(sender, self._limit))
        try:
            return await context.read()
        finally:
            self._room.give_back(sender, self._limit)
            async with self._room_changed:
                self._room_changed.notify_all()

    async def unknown(
        self, error: _TokenError, context: "grpc.aio.ServicerContext[Any, Any]"
    ) -> NoReturn:
        """Answer a call without a token that is valid."""
        if error.guessed and not self._guessed:
            self._guessed = True
            try:
                await asyncio.sleep(_WRONG_SECONDS)
            finally:
                self._guessed = False
        await self._refuse(context, self._grpc.StatusCode.UNAUTHENTICATED, "401", str(error))

    def token(self, metadata: Iterable[tuple[str, str | bytes]]) -> TokenSettings | None:
        """Return the token of a sender, None where none is needed. Raises _TokenError."""
        if not self._tokens:
            return None
        given = dict(metadata).get("authorization", "")
        scheme, _, text = str(given).partition(" ")
        digest = hashlib.sha256(text.strip().encode()).digest()
        found: TokenSettings | None = None
        for one in self._tokens:  # all of them, so that time says nothing
            if hmac.compare_digest(one.digest, digest) and scheme.lower() == "bearer":
                found = one
        if found is None:
            raise _TokenError("send the metadata authorization: Bearer TOKEN", guessed=bool(given))
        if self._clock.now() >= found.expires_at_seconds:
            raise _TokenError("this token has expired")
        return found

    async def _refuse(
        self,
        context: "grpc.aio.ServicerContext[Any, Any]",
        code: "grpc.StatusCode",
        status: str,
        text: str,
    ) -> NoReturn:
        """Count what is refused, by the status that HTTP has for it, and end the call."""
        self._health.refused.labels(status).inc()
        await context.abort(code, text)
        raise AssertionError  # abort raises

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()

    async def _end(self) -> None:
        await self._server.stop(_GRACE_SECONDS)
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)


class _GrpcHandlers:
    """Finds what handles a method; grpcio answers UNIMPLEMENTED for others, as for traces."""

    def __init__(self, intake: GrpcIntake) -> None:
        self._intake = intake

    def service(self, details: Any) -> Any:
        """Return the handler of a method, None for one that there is not.

        It reads the message itself: nothing of one is read before it is asked for.
        """
        import grpc  # noqa: PLC0415  as above

        method = details.method
        if method not in _METHODS:
            return None
        answer: Callable[[Any], Awaitable[bytes]]
        try:
            token = self._intake.token(details.invocation_metadata)
        except _TokenError as error:
            answer = functools.partial(self._intake.unknown, error)
        else:
            answer = functools.partial(self._intake.call, method, token)

        async def handle(_messages: object, context: Any) -> bytes:
            return await answer(context)

        return grpc.stream_unary_rpc_method_handler(handle)


def intakes(
    settings: CollectorSettings,
    *,
    sink: PayloadSink,
    clock: Clock,
    health: CollectorHealth,
    connections: int,
) -> list[GrpcIntake]:
    """Return the intake over gRPC; none where no address is set. Raises OSError."""
    if not settings.intake.grpc_listen:
        return []
    return [GrpcIntake(settings, sink=sink, clock=clock, health=health, connections=connections)]


def _loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
