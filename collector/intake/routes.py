"""How telemetry comes in: OTLP/HTTP, Prometheus remote write, and alerts of an Alertmanager.

A request is answered once its payload is safe in the journal. Senders are never slowed with 429:
a full queue is 503 with Retry-After, which every OTLP and remote-write sender tries again. What
would be refused again is answered so that no sender repeats it: docs/senders.md has the table.
"""

import asyncio
import contextlib
import functools
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from http import HTTPStatus
from typing import TypeVar

import anyio.to_thread
from fastapi import APIRouter, Request
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, Response

from ...formats import alertmanager
from ...formats.otlp import encode
from ...formats.otlp.errors import UndecodableError
from ..health.health import CollectorHealth
from ..journal.kinds import PayloadKind
from ..settings.intake import IntakeSettings
from . import answers, bodies
from .answers import Encoding, Signal
from .budget import ByteBudget
from .payloads import Payload, PayloadDefectError, PayloadOutcome, PayloadSink
from .permits import NotPermittedError
from .waiting import RETRY_SECONDS, UnavailableError

_SMALL_BYTES = 64 << 10
"""Compressed bodies up to this size are tried on the event loop first: cheaper than a thread."""
_KINDS: dict[tuple[Signal, Encoding], PayloadKind] = {
    ("metrics", "protobuf"): PayloadKind.METRICS_PROTOBUF,
    ("metrics", "json"): PayloadKind.METRICS_JSON,
    ("logs", "protobuf"): PayloadKind.LOGS_PROTOBUF,
    ("logs", "json"): PayloadKind.LOGS_JSON,
}
_OTLP_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            "application/x-protobuf": {"schema": {"type": "string", "format": "binary"}},
            "application/json": {"schema": {"type": "object"}},
        },
    }
}
_WRITE_BODY = {
    "requestBody": {
        "required": True,
        "content": {"application/x-protobuf": {"schema": {"type": "string", "format": "binary"}}},
    }
}
_ALERTS_BODY = {
    "requestBody": {
        "required": True,
        "content": {"application/json": {"schema": {"type": "object"}}},
    }
}
_ALERTS_ANSWER = {
    "type": "object",
    "properties": {"accepted": {"type": "integer"}, "left_out": {"type": "integer"}},
}
_REMOTE_WRITE = {
    "prometheus.writerequest": PayloadKind.REMOTE_WRITE,
    "io.prometheus.write.v2.request": PayloadKind.REMOTE_WRITE_2,
}
"""By the `proto` parameter of the content type, which 1.0 may leave out."""
_SIGNALS = {kind: signal for signal, kind in _KINDS.items()}
_WRITES = frozenset(_REMOTE_WRITE.values())
_WRITTEN = "X-Prometheus-Remote-Write-{}-Written"
REFUSALS = (
    bodies.BodyError,
    UndecodableError,
    NotPermittedError,
    PayloadDefectError,
    UnavailableError,
    ClientDisconnect,
)
"""What `IntakeRoutes.refused` has an answer for."""

_REPEATED_FOR_EVER = 500
"""What senders of remote write repeat without end, behind which all else waits; both Prometheus and
vmagent drop a payload that gets 400."""


_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class _IntakeRefusal:
    status: int
    text: str
    headers: dict[str, str]


def router(intake: "IntakeRoutes") -> APIRouter:
    """Return the routes of the intake. Who may use them is for the application to say."""
    routes = APIRouter(tags=["ingest"])
    routes.post("/v1/metrics", summary="Take OTLP metrics", openapi_extra=_OTLP_BODY)(
        intake.metrics
    )
    routes.post("/v1/logs", summary="Take OTLP logs", openapi_extra=_OTLP_BODY)(intake.logs)
    routes.post("/v1/traces", include_in_schema=False)(intake.traces)
    routes.post(
        "/api/v1/write",
        summary="Take Prometheus remote write 1.0 and 2.0",
        status_code=204,
        openapi_extra=_WRITE_BODY,
    )(intake.remote_write)
    routes.post(
        "/api/v1/alerts",
        summary="Take webhooks of an Alertmanager",
        openapi_extra=_ALERTS_BODY,
        responses={200: {"content": {"application/json": {"schema": _ALERTS_ANSWER}}}},
    )(intake.alerts)
    return routes


class IntakeRoutes:
    """Reads requests, hands payloads on, and answers in the sender's own encoding."""

    def __init__(
        self, sink: PayloadSink, *, health: CollectorHealth, settings: IntakeSettings
    ) -> None:
        self._sink = sink
        self._health = health
        self.limit = settings.body_limit_bytes
        self._alerts_limit = settings.alerts_limit_bytes
        self.room = ByteBudget(settings.buffer_bytes)
        self._heavy = asyncio.Semaphore(2)
        self._heavy_of: defaultdict[bytes, asyncio.Semaphore] = defaultdict(
            functools.partial(asyncio.Semaphore, 1)
        )
        """By sender, so that what one has unpacked does not keep the others waiting."""

    async def metrics(self, request: Request) -> Response:
        """Take an ExportMetricsServiceRequest."""
        return await self._otlp(request, "metrics")

    async def logs(self, request: Request) -> Response:
        """Take an ExportLogsServiceRequest."""
        return await self._otlp(request, "logs")

    async def traces(self, request: Request) -> Response:
        """Say that traces are not taken, in a way that senders do not retry."""
        with contextlib.suppress(ClientDisconnect):
            await self._discard(request)
        text = "traces are not taken here: send metrics and logs"
        return answers.failure(404, text, _encoding(request) or "json", headers={})

    async def remote_write(self, request: Request) -> Response:
        """Take a WriteRequest of Prometheus remote write 1.0, or a Request of 2.0.

        A sender of 2.0 gets in headers how many of its samples were taken, and without them would
        take it that none was.
        """
        media, parameters = _content_type(request)
        kind = _REMOTE_WRITE.get(parameters.get("proto", "prometheus.WriteRequest").lower())
        encoding = request.headers.get("content-encoding", "snappy").strip().lower()
        try:
            if media != answers.MEDIA["protobuf"] or kind is None:
                await self._discard(request)
                raise bodies.BodyError(
                    415,
                    "send remote write 1.0 or 2.0: application/x-protobuf, with proto="
                    "prometheus.WriteRequest or io.prometheus.write.v2.Request",
                )
            if encoding != "snappy":
                await self._discard(request)
                raise bodies.BodyError(415, "send remote write with Content-Encoding: snappy")
            outcome = await self._take(request, kind)
        except REFUSALS as error:
            return self._write_refused(kind, error)
        return self.answered(kind, outcome)

    async def alerts(self, request: Request) -> Response:
        """Take the webhook of an Alertmanager (payload version 4).

        Its alerts become events, kept as OTLP logs by the journal, so that a replay has them too.
        """
        try:
            body = await self._body(request, min(self.limit, self._alerts_limit))
            found, logs = await self._in_thread(functools.partial(_alerts, body), request)
            if found.groups:
                await self._submit(PayloadKind.LOGS_PROTOBUF, logs, request)
        except REFUSALS as error:
            refusal = self._refused(error)
            problem = {
                "type": "about:blank",
                "title": HTTPStatus(refusal.status).phrase,
                "status": refusal.status,
                "detail": refusal.text,
            }
            return JSONResponse(
                problem,
                status_code=refusal.status,
                headers=refusal.headers,
                media_type="application/problem+json",
            )
        return JSONResponse({"accepted": len(found.groups), "left_out": found.left_out})

    def submit(self, payload: Payload) -> "Future[PayloadOutcome]":
        """Queue a payload; see `PayloadSink`."""
        return self._sink.submit(payload)

    def disconnected(self) -> None:
        """Count a sender that went away before its body was whole."""
        self._health.disconnects.inc()

    def answered(self, kind: PayloadKind, outcome: PayloadOutcome) -> Response:
        """Return the answer to a payload of OTLP or remote write that is kept."""
        if kind not in _WRITES:
            return answers.success(outcome, *_SIGNALS[kind])
        written = _written(kind, outcome.written)
        if outcome.rejected:
            # Valid samples are kept; 400 is how remote write says that some were not, for good.
            text = f"{outcome.rejected} samples left out: {outcome.reason}\n"
            return Response(text, status_code=400, media_type="text/plain", headers=written)
        return Response(status_code=204, headers=written)

    def refused(self, kind: PayloadKind, error: Exception) -> Response:
        """Count one of REFUSALS; return the answer to a payload that met it."""
        if kind in _WRITES:
            return self._write_refused(kind, error)
        return self._otlp_refused(_SIGNALS[kind][1], error)

    def _write_refused(self, kind: PayloadKind | None, error: Exception) -> Response:
        refusal = self._refused(error)
        given_up = refusal.status == _REPEATED_FOR_EVER
        return Response(
            refusal.text + "\n",
            status_code=400 if given_up else refusal.status,
            media_type="text/plain",
            headers={**refusal.headers, **_written(kind, 0)},
        )

    def _otlp_refused(self, encoding: Encoding, error: Exception) -> Response:
        refusal = self._refused(error)
        return answers.failure(refusal.status, refusal.text, encoding, headers=refusal.headers)

    async def _otlp(self, request: Request, signal: Signal) -> Response:
        encoding = _encoding(request)
        try:
            if encoding is None:
                await self._discard(request)
                media = request.headers.get("content-type", "")
                raise bodies.BodyError(
                    415,
                    f"Content-Type {media!r} is not taken: send application/x-protobuf or "
                    "application/json",
                )
            outcome = await self._take(request, _KINDS[signal, encoding])
        except REFUSALS as error:
            return self._otlp_refused(encoding or "json", error)
        return self.answered(_KINDS[signal, encoding], outcome)

    async def _discard(self, request: Request) -> None:
        await bodies.discard(request.stream(), limit=self.limit)

    async def _take(self, request: Request, kind: PayloadKind) -> PayloadOutcome:
        body = await self._body(request, self.limit)
        if kind in _WRITES:
            body = await self._unpack(body, bodies.unsnap, request)
        elif encoding := request.headers.get("content-encoding", "").strip().lower():
            unpack = functools.partial(bodies.unpack, encoding=encoding)
            body = await self._unpack(body, unpack, request)
        return await self._submit(kind, body, request)

    async def _body(self, request: Request, limit: int) -> bytes:
        _, sender = _sent_by(request)
        return await bodies.read(request.stream(), limit=limit, room=self.room, sender=sender)

    async def _submit(self, kind: PayloadKind, body: bytes, request: Request) -> PayloadOutcome:
        payload = Payload(kind, body, *_sent_by(request), connection=request.client)
        return await asyncio.wrap_future(self.submit(payload))

    async def _unpack(self, body: bytes, unpack: Callable[..., bytes], request: Request) -> bytes:
        if len(body) <= _SMALL_BYTES:
            quick = min(self.limit, bodies.QUICK_BYTES)
            try:
                return unpack(body, limit=quick)
            except bodies.BodyError as error:
                if error.status != HTTPStatus.REQUEST_ENTITY_TOO_LARGE or quick == self.limit:
                    raise
        return await self._in_thread(functools.partial(unpack, body, limit=self.limit), request)

    async def _in_thread(self, work: Callable[[], _T], request: Request) -> _T:
        """Return what takes too long for the event loop: one thing of a sender at a time."""
        _, sender = _sent_by(request)
        async with self._heavy_of[sender], self._heavy:
            return await anyio.to_thread.run_sync(work)

    def _refused(self, error: Exception) -> _IntakeRefusal:
        """Count what went wrong and return how it is answered."""
        headers: dict[str, str] = {}
        match error:
            case bodies.BodyError(status=status):
                pass
            case UndecodableError():
                status = 400
            case NotPermittedError():
                status = 403
            case PayloadDefectError():
                status = 500
            case UnavailableError(retry_after_seconds=seconds):
                status = 503
                headers["Retry-After"] = str(seconds)
            case _:
                self.disconnected()
                return _IntakeRefusal(400, "", {})  # the sender is gone: nobody reads this
        if status == 503:
            headers.setdefault("Retry-After", str(RETRY_SECONDS))
        self._health.refused.labels(str(status)).inc()
        return _IntakeRefusal(status, str(error), headers)


def _alerts(body: bytes) -> tuple[alertmanager.AlertEvents, bytes]:
    """Return the alerts of a webhook, and the OTLP logs that are kept of them."""
    found = alertmanager.read(body)
    return found, encode.logs_request(found.groups)


def _sent_by(request: Request) -> tuple[tuple[str, ...], bytes]:
    """Return for which jobs a sender may speak, and who it is, as authentication found it."""
    principal = getattr(request.state, "principal", None)
    return ((), b"") if principal is None else (principal.jobs, principal.sender)


def _written(kind: PayloadKind | None, samples: int) -> dict[str, str]:
    """Return the headers that tell a sender of 2.0 what was taken; there are none for others."""
    if kind is not PayloadKind.REMOTE_WRITE_2:
        return {}
    counts = {"Samples": samples, "Histograms": 0, "Exemplars": 0}
    return {_WRITTEN.format(name): str(count) for name, count in counts.items()}


def _content_type(request: Request) -> tuple[str, dict[str, str]]:
    media, *rest = request.headers.get("content-type", "").split(";")
    parameters = {}
    for part in rest:
        name, _, value = part.partition("=")
        parameters[name.strip().lower()] = value.strip().strip('"')
    return media.strip().lower(), parameters


def _encoding(request: Request) -> Encoding | None:
    media, _ = _content_type(request)
    for encoding, known in answers.MEDIA.items():
        if media == known:
            return encoding
    return None
