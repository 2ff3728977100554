"""OTLP over gRPC, beside OTLP over HTTP: the same payloads, the same journal, the same answers.

Off unless an address is set; grpcio is loaded only then (extra `grpc`). Messages are handed on as
the bytes they came in. A call waits for its message in one of few threads, so the token, which
comes before the message, is checked first: who has none keeps no thread.
"""

import hashlib
import hmac
import ipaddress
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent import futures
from typing import TYPE_CHECKING, Any, NoReturn

import structlog

from ...formats.otlp.errors import UndecodableError
from ..api.settings import TokenSettings
from ..journal.kinds import Kind
from . import answers
from .answers import Signal
from .payloads import Outcome, Payload
from .permits import NotPermittedError
from .waiting import UnavailableError

if TYPE_CHECKING:
    import grpc

    from ..services import Services

_LOG = structlog.get_logger(__name__)
_METHODS: dict[str, tuple[Signal, Kind]] = {
    "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export": (
        "metrics",
        Kind.METRICS_PROTOBUF,
    ),
    "/opentelemetry.proto.collector.logs.v1.LogsService/Export": ("logs", Kind.LOGS_PROTOBUF),
}
_THREADS = 4
_ANSWER_SECONDS = 30.0
_GRACE_SECONDS = 2.0
_WRONG_SECONDS = 1.0
"""A wrong token is answered that late, one at a time: further ones at once, not by more threads."""
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

    def __init__(self, services: "Services") -> None:
        try:
            import grpc  # noqa: PLC0415  only where an address is set
        except ImportError:
            raise MissingGrpcError(_EXTRA) from None
        self._grpc = grpc
        self._services = services
        self._tokens: Sequence[TokenSettings] = services.settings.api.tokens
        self._guessing = threading.Lock()
        handlers: list[Any] = [_Handlers(self)]
        self._server = grpc.server(
            futures.ThreadPoolExecutor(_THREADS, thread_name_prefix="otlp-grpc"),
            handlers=handlers,
            options=(
                ("grpc.max_receive_message_length", services.settings.intake.body_limit_bytes),
            ),
        )
        listen = services.settings.intake.grpc_listen
        host, _, port = listen.rpartition(":")
        if not self._tokens and not _loopback(host):
            _LOG.warning("no token is configured: OTLP over gRPC on loopback only", asked=listen)
            host = "127.0.0.1"
        try:
            bound = self._server.add_insecure_port(f"{host}:{port}")
        except RuntimeError as error:
            raise OSError(f"intake.grpc_listen {listen}: {error}") from None
        self.address = f"{host}:{bound}"

    def start(self) -> None:
        """Take requests."""
        self._server.start()
        _LOG.info("OTLP over gRPC", address=self.address)

    def stop(self) -> None:
        """Take no more, and answer those that are in progress."""
        self._server.stop(_GRACE_SECONDS).wait(_GRACE_SECONDS)

    def warnings(self) -> list[str]:
        """Return nothing: senders hear what is wrong."""
        return []

    def call(
        self, method: str, body: bytes, jobs: tuple[str, ...], context: "grpc.ServicerContext"
    ) -> bytes:
        """Take a request of who may speak for these jobs; return the bytes of its answer."""
        signal, kind = _METHODS[method]
        codes = self._grpc.StatusCode
        payload = Payload(kind, body, jobs)
        try:
            outcome: Outcome = self._services.stages.submit(payload).result(_ANSWER_SECONDS)
        except UndecodableError as error:
            self._refuse(context, codes.INVALID_ARGUMENT, "400", str(error))
        except NotPermittedError as error:
            self._refuse(context, codes.PERMISSION_DENIED, "403", str(error))
        except (UnavailableError, TimeoutError) as error:
            # The one code, beside those of a broken connection, that every OTLP sender repeats.
            self._refuse(context, codes.UNAVAILABLE, "503", str(error) or "the journal is slow")
        return bytes(answers.success(outcome, signal, "protobuf").body)

    def unknown(self, error: _TokenError, context: "grpc.ServicerContext") -> NoReturn:
        """Answer a call without a token that is valid."""
        if error.guessed and self._guessing.acquire(blocking=False):
            try:
                time.sleep(_WRONG_SECONDS)
            finally:
                self._guessing.release()
        self._refuse(context, self._grpc.StatusCode.UNAUTHENTICATED, "401", str(error))

    def jobs(self, metadata: Iterable[tuple[str, str | bytes]]) -> tuple[str, ...]:
        """Return the patterns of jobs that a sender may speak for. Raises _TokenError."""
        if not self._tokens:
            return ()
        given = dict(metadata).get("authorization", "")
        scheme, _, token = str(given).partition(" ")
        digest = hashlib.sha256(token.strip().encode()).digest()
        found: TokenSettings | None = None
        for one in self._tokens:  # all of them, so that time says nothing
            if hmac.compare_digest(one.digest, digest) and scheme.lower() == "bearer":
                found = one
        if found is None:
            raise _TokenError("send the metadata authorization: Bearer TOKEN", guessed=bool(given))
        if self._services.clock.now() >= found.expires_at_seconds:
            raise _TokenError("this token has expired")
        return found.jobs

    def _refuse(
        self, context: "grpc.ServicerContext", code: Any, status: str, text: str
    ) -> NoReturn:
        """Count what is refused, by the status that HTTP has for it, and end the call."""
        self._services.health.refused.labels(status).inc()
        context.abort(code, text)
        raise AssertionError  # abort raises


class _Handlers:
    """Finds what handles a method; grpcio answers UNIMPLEMENTED for others, as for traces."""

    def __init__(self, intake: GrpcIntake) -> None:
        self._intake = intake

    def service(self, details: Any) -> Any:
        """Return the handler of a method, None for one that there is not."""
        import grpc  # noqa: PLC0415  as above

        method = details.method
        if method not in _METHODS:
            return None
        try:
            jobs = self._intake.jobs(details.invocation_metadata)
        except _TokenError as error:
            return grpc.stream_unary_rpc_method_handler(self._refusing(error))
        return grpc.unary_unary_rpc_method_handler(
            lambda body, context: self._intake.call(method, body, jobs, context)
        )

    def _refusing(self, error: _TokenError) -> Callable[[Any, Any], bytes]:
        """Return what refuses a call; of a stream nothing is read before it is asked for."""
        return lambda _messages, context: self._intake.unknown(error, context)


def intakes(services: "Services") -> list[GrpcIntake]:
    """Return the intake over gRPC; none where no address is set. Raises OSError."""
    return [GrpcIntake(services)] if services.settings.intake.grpc_listen else []


def _loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
