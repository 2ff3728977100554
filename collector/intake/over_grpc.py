"""OTLP over gRPC, beside OTLP over HTTP: the same payloads, the same journal, the same answers.

Off unless an address is set; grpcio is loaded only then (extra `grpc`). Messages are handed on as
the bytes they came in.
"""

import hashlib
import hmac
import ipaddress
import time
from collections.abc import Callable, Sequence
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
"""A wrong token is answered that late: trying many takes long."""
_EXTRA = "OTLP over gRPC needs grpcio: pip install 'rankscope[collector,grpc]'"


class MissingGrpcError(OSError):
    """An address for gRPC is set, and grpcio is not installed."""


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
        handlers: list[Any] = [_Handlers(self._call)]
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

    def _call(self, method: str, body: bytes, context: "grpc.ServicerContext") -> bytes:
        """Take a request; return the bytes of its answer."""
        signal, kind = _METHODS[method]
        codes = self._grpc.StatusCode
        payload = Payload(kind, body, self._jobs(context))
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

    def _jobs(self, context: "grpc.ServicerContext") -> tuple[str, ...]:
        """Return the patterns of jobs that the sender may speak for; refuse who has no token."""
        if not self._tokens:
            return ()
        given = dict(context.invocation_metadata()).get("authorization", "")
        scheme, _, token = str(given).partition(" ")
        digest = hashlib.sha256(token.strip().encode()).digest()
        found: TokenSettings | None = None
        for one in self._tokens:  # all of them, so that time says nothing
            if hmac.compare_digest(one.digest, digest) and scheme.lower() == "bearer":
                found = one
        if found is None:
            time.sleep(_WRONG_SECONDS)
            text = "send the metadata authorization: Bearer TOKEN"
            self._refuse(context, self._grpc.StatusCode.UNAUTHENTICATED, "401", text)
        if self._services.clock.now() >= found.expires_at_seconds:
            text = "this token has expired"
            self._refuse(context, self._grpc.StatusCode.UNAUTHENTICATED, "401", text)
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

    def __init__(self, call: Callable[[str, bytes, Any], bytes]) -> None:
        self._call = call

    def service(self, details: Any) -> Any:
        """Return the handler of a method, None for one that there is not."""
        import grpc  # noqa: PLC0415  as above

        method = details.method
        if method not in _METHODS:
            return None
        return grpc.unary_unary_rpc_method_handler(
            lambda body, context: self._call(method, body, context)
        )


def intakes(services: "Services") -> list[GrpcIntake]:
    """Return the intake over gRPC; none where no address is set. Raises OSError."""
    return [GrpcIntake(services)] if services.settings.intake.grpc_listen else []


def _loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
