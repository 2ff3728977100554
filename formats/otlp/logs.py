"""Log records to events, from protobuf."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

from ...vocabulary.samples import Event, Scalar, TelemetryResource
from . import resources, values
from .columns import LogsBatch, PointRejections
from .errors import UndecodableError
from .text_bounds import MOST_ATTRIBUTES, TextBounds
from .times import seconds

NAME = "event.name"
"""The attribute that carried the name before OTLP 1.5 gave it a field of its own."""


@dataclass(slots=True)
class LogEvents:
    """Events on their way into a batch, which holds the beginning of what is too long."""

    bounds: TextBounds
    events: list[Event] = field(default_factory=list)
    rejections: PointRejections = field(default_factory=PointRejections)
    cut: int = 0
    resources: list[TelemetryResource] = field(default_factory=list)
    _resource: tuple[TelemetryResource, TelemetryResource] | None = None

    def add(
        self, name: str, ns: int, found: Mapping[str, Scalar], resource: TelemetryResource
    ) -> None:
        """Keep one record, or count why not."""
        if not self.resources or self.resources[-1] is not resource:
            self.resources.append(resource)
        if not name and NAME in found:
            name = str(found[NAME])
            found = {key: value for key, value in found.items() if key != NAME}
        if not name:
            self.rejections.add("without an event name")
        elif not 0 < ns < 1 << 64:
            self.rejections.add("without a time")
        else:
            pairs, event = self._within(found, name), self.bounds.name(name)
            self.events.append(Event(event, seconds(ns), pairs, self._of(resource)))

    def batch(self) -> LogsBatch:
        reason = self.rejections.text("records")
        if self.cut:
            texts = f"texts cut to {self.bounds.text_bytes} bytes: {self.cut}"
            reason = f"{reason}; {texts}" if reason else texts
        return LogsBatch(self.events, self.rejections.total, reason, self.cut, self.resources)

    def _within(self, found: Mapping[str, Scalar], event: str) -> Mapping[str, Scalar]:
        bounds = self.bounds
        if len(found) <= MOST_ATTRIBUTES and not bounds.may_pass(found):
            return found
        pairs = {
            bounds.name(key): bounds.text(value, event)
            for key, value in islice(found.items(), MOST_ATTRIBUTES)
        }
        self.cut += pairs != found
        return pairs

    def _of(self, resource: TelemetryResource) -> TelemetryResource:
        """Return a resource within the bounds; that of the record before is mostly the same."""
        if self._resource is None or self._resource[0] is not resource:
            self._resource = (resource, self.bounds.resource(resource))
        return self._resource[1]


def decode(body: bytes, bounds: TextBounds) -> LogsBatch:
    """Return the events of an ExportLogsServiceRequest; raises UndecodableError."""
    try:
        request = ExportLogsServiceRequest.FromString(body)
    except DecodeError:  # whose text holds no place, only the message's name
        raise UndecodableError("not an ExportLogsServiceRequest in protobuf") from None
    events = LogEvents(bounds)
    for of_resource in request.resource_logs:
        resource = resources.resource(values.pairs(of_resource.resource.attributes))
        for scope in of_resource.scope_logs:
            for record in scope.log_records:
                ns = record.time_unix_nano or record.observed_time_unix_nano
                events.add(record.event_name, ns, values.pairs(record.attributes), resource)
    return events.batch()
