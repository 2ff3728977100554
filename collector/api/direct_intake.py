"""Payloads of steady senders, taken from the parser to the queue without the web framework.

What an agent pushes every second is a short body of a known length and type with a good token, and
a framework's request, task and layers cost more than all the rest of it. Only what is beyond
question is taken here; anything else goes the ordinary way, which has every refusal.
"""

from collections.abc import Hashable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass

from starlette.responses import Response
from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from ..intake import bodies
from ..intake.payloads import Payload, PayloadOutcome
from ..intake.routes import REFUSALS, IntakeRoutes
from ..intake.waiting import UnavailableError
from ..journal.kinds import PayloadKind
from . import problems
from .auth import TokenGuard, TokenPrincipal

LARGEST = 64 << 10
"""Bytes of a body as it is sent."""

_PROTOBUF = b"application/x-protobuf"
_KINDS: dict[bytes, dict[bytes, PayloadKind]] = {
    b"/v1/metrics": {_PROTOBUF: PayloadKind.METRICS_PROTOBUF},
    b"/v1/logs": {_PROTOBUF: PayloadKind.LOGS_PROTOBUF},
    b"/api/v1/write": {
        _PROTOBUF: PayloadKind.REMOTE_WRITE,
        _PROTOBUF + b";proto=io.prometheus.write.v2.Request": PayloadKind.REMOTE_WRITE_2,
    },
}
"""By path and content type."""
_OTLP = frozenset((PayloadKind.METRICS_PROTOBUF, PayloadKind.LOGS_PROTOBUF))
_ENCODINGS = {b"": "", b"gzip": "gzip", b"zstd": "zstd"}

Headers = Sequence[tuple[bytes, bytes]]


@dataclass(frozen=True, slots=True)
class AdmittedPayload:
    """A payload that may be taken: its kind, length and encoding, and who sends it."""

    kind: PayloadKind
    length: int
    encoding: str
    principal: TokenPrincipal


class DirectIntake:
    """Says which requests are taken directly, takes them, and has their answers."""

    def __init__(self, intake: IntakeRoutes, guard: TokenGuard) -> None:
        self._intake = intake
        self._guard = guard
        self._kept: dict[PayloadKind, bytes] = {}
        self._kept_headers: Headers = ()

    def admitted(self, path: bytes, headers: Headers) -> AdmittedPayload | None:
        """Return what a POST brings, by its head; room for its body is taken then.

        headers: by their names in small letters. None: to be answered the ordinary way.
        """
        kinds = _KINDS.get(path)
        if kinds is None:
            return None
        found = dict(headers)
        kind = kinds.get(found.get(b"content-type", b""))
        length = found.get(b"content-length", b"")
        if kind is None or len(found) != len(headers) or not length.isdigit():
            return None
        size = int(length[:8])
        packed = found.get(b"content-encoding", b"")
        encoding = _ENCODINGS.get(packed) if kind in _OTLP else "snappy"
        if size > LARGEST or encoding is None or (kind not in _OTLP and packed != b"snappy"):
            return None
        principal = self._guard.admitted(found)
        if principal is None or not self._intake.room.take(principal.sender, size):
            return None
        return AdmittedPayload(kind, size, encoding, principal)

    def given_up(self, admitted: AdmittedPayload) -> None:
        """Note that a sender went away before its body was whole."""
        self.arrived(admitted)
        self._intake.disconnected()

    def arrived(self, admitted: AdmittedPayload) -> None:
        """Give the room of a body back."""
        self._intake.room.give_back(admitted.principal.sender, admitted.length)

    def submit(
        self, admitted: AdmittedPayload, body: bytes, connection: Hashable
    ) -> "Future[PayloadOutcome] | None":
        """Queue a payload; None where it is refused, which the ordinary way tells the sender."""
        limit = min(self._intake.limit, bodies.QUICK_BYTES)
        principal = admitted.principal
        try:
            if admitted.encoding == "snappy":
                body = bodies.unsnap(body, limit=limit)
            elif admitted.encoding:
                body = bodies.unpack(body, admitted.encoding, limit=limit)
            elif len(body) > limit:
                return None
            return self._intake.submit(
                Payload(admitted.kind, body, principal.jobs, principal.sender, connection)
            )
        except (bodies.BodyError, UnavailableError):
            return None

    def answer(
        self, admitted: AdmittedPayload, done: "Future[PayloadOutcome]", headers: Headers
    ) -> bytes:
        """Return the answer as it is sent; `headers`: those of every answer."""
        kind, error = admitted.kind, done.exception()
        if isinstance(error, REFUSALS):
            return _written(self._intake.refused(kind, error), headers)
        if error is not None:
            return _written(problems.defect("the intake", error), headers)
        outcome = done.result()
        if outcome.rejected or outcome.reason or kind is PayloadKind.REMOTE_WRITE_2:
            return _written(self._intake.answered(kind, outcome), headers)
        return self._plain(kind, headers)

    def _plain(self, kind: PayloadKind, headers: Headers) -> bytes:
        """Return the answer to a payload that is kept, put together once a second."""
        if headers is not self._kept_headers:
            self._kept, self._kept_headers = {}, headers
        known = self._kept.get(kind)
        if known is None:
            answer = self._intake.answered(kind, PayloadOutcome(0))
            known = self._kept[kind] = _written(answer, headers)
        return known


def _written(answer: Response, headers: Headers) -> bytes:
    lines = [*headers, *answer.raw_headers]
    head = b"".join(b"%b: %b\r\n" % line for line in lines)
    return STATUS_LINE[answer.status_code] + head + b"\r\n" + bytes(answer.body)
