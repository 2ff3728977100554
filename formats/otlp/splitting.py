"""OTLP requests by the resource that reports: whole parts of them, without reading what they hold.

ExportMetricsServiceRequest and ExportLogsServiceRequest are alike here: a list of parts (field 1),
each with its resource (field 1) in front.
"""

import json
from collections.abc import Sequence
from typing import Any

from google.protobuf.message import DecodeError
from opentelemetry.proto.resource.v1.resource_pb2 import Resource as Message

from ...vocabulary.samples import TelemetryResource
from .. import wire
from . import resources, values
from .errors import UndecodableError

Part = tuple[TelemetryResource, bytes]
"""A resource and a request with what it reports."""

_PART = _RESOURCE = 1
_MOST = 100_000
"""Resources remembered by their bytes."""


class RequestSplitter:
    """Takes requests apart; for one thread."""

    def __init__(self) -> None:
        self._known: dict[bytes, TelemetryResource] = {}

    def protobuf(self, body: bytes) -> list[Part]:
        """Return the parts of a request, in order. Raises UndecodableError."""
        try:
            return [
                (self._resource(body, first, last), wire.block(_PART, body[first:last]))
                for field, wire_type, first, last in wire.fields(body, 0, len(body))
                if field == _PART and wire_type == wire.LENGTH
            ]
        except (wire.WireError, IndexError) as error:
            raise UndecodableError(f"not an OTLP request: {error}") from None

    def _resource(self, body: bytes, first: int, last: int) -> TelemetryResource:
        raw = b""
        for field, wire_type, begin, end in wire.fields(body, first, last):
            if field == _RESOURCE and wire_type == wire.LENGTH:
                raw = body[begin:end]
                break
        known = self._known.get(raw)
        if known is None:
            try:
                message = Message.FromString(raw)
            except DecodeError:
                raise UndecodableError("a resource that is not a protobuf message") from None
            known = resources.resource(values.pairs(message.attributes))
            if len(self._known) >= _MOST:
                self._known.clear()
            self._known[raw] = known
        return known


def of_json(body: bytes, key: str) -> list[Part]:
    """Return the parts of a request in JSON, by its list: `resourceMetrics` or `resourceLogs`."""
    try:
        parsed: Any = json.loads(body)
        listed: Sequence[Any] = parsed.get(key) or ()
        return [(_of_json(one), json.dumps({key: [one]}).encode()) for one in listed]
    except (ValueError, AttributeError, TypeError, RecursionError) as error:
        raise UndecodableError(f"not an OTLP request in JSON: {error}") from None


def joined_json(parts: Sequence[bytes], key: str) -> bytes:
    """Return one request with what several hold."""
    return json.dumps({key: [one for part in parts for one in json.loads(part)[key]]}).encode()


def _of_json(one: dict[str, Any]) -> TelemetryResource:
    found = (one.get("resource") or {}).get("attributes")
    return resources.resource(values.json_pairs(found))
