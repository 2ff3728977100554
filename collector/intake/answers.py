"""Answers in OTLP's words: success, partial success, and google.rpc.Status for what went wrong.

Each is written in the encoding of the request, as the protocol asks.
"""

import json
from collections.abc import Mapping
from typing import Literal

from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceResponse,
)
from starlette.responses import Response

from .payloads import PayloadOutcome

Encoding = Literal["protobuf", "json"]
Signal = Literal["metrics", "logs"]

MEDIA: dict[Encoding, str] = {
    "protobuf": "application/x-protobuf",
    "json": "application/json",
}
_REJECTED_KEY: dict[Signal, str] = {"metrics": "rejectedDataPoints", "logs": "rejectedLogRecords"}
_CODES = {400: 3, 403: 7, 404: 12, 413: 8, 415: 3, 503: 14}
"""google.rpc.Code by HTTP status."""
_UNKNOWN, _INTERNAL = 2, 13


def success(outcome: PayloadOutcome, signal: Signal, encoding: Encoding) -> Response:
    """Return 200 with what was rejected, if anything: the sender must not send it again."""
    if not outcome.rejected and not outcome.reason:
        body = b"" if encoding == "protobuf" else b"{}"
    elif encoding == "json":
        partial = {
            # A 64-bit integer: text in OTLP's JSON.
            _REJECTED_KEY[signal]: str(outcome.rejected),
            "errorMessage": outcome.reason,
        }
        body = json.dumps({"partialSuccess": partial}).encode()
    elif signal == "metrics":
        answer = ExportMetricsServiceResponse()
        answer.partial_success.rejected_data_points = outcome.rejected
        answer.partial_success.error_message = outcome.reason
        body = answer.SerializeToString()
    else:
        logs_answer = ExportLogsServiceResponse()
        logs_answer.partial_success.rejected_log_records = outcome.rejected
        logs_answer.partial_success.error_message = outcome.reason
        body = logs_answer.SerializeToString()
    return Response(body, media_type=MEDIA[encoding])


def failure(status: int, text: str, encoding: Encoding, *, headers: Mapping[str, str]) -> Response:
    """Return an error with google.rpc.Status as its body."""
    code = _CODES.get(status, _INTERNAL if status >= 500 else _UNKNOWN)
    if encoding == "json":
        body = json.dumps({"code": code, "message": text}).encode()
    else:
        body = Status(code=code, message=text).SerializeToString()
    return Response(body, status_code=status, media_type=MEDIA[encoding], headers=headers)
