"""Log records to events, from protobuf."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

from ...vocabulary.samples import Event, Scalar, TelemetryResource
from . import resources, values
from .columns import LogsBatch, PointRejections
from .errors import UndecodableError
from .times import seconds

NAME = "event.name"
"""The attribute that carried the name before OTLP 1.5 gave it a field of its own."""


@dataclass(slots=True)
class LogEvents:
    """Events on their way into a batch."""

    events: list[Event] = field(default_factory=list)
    rejections: PointRejections = field(default_factory=PointRejections)

    def add(
        self, name: str, ns: int, found: Mapping[str, Scalar], resource: TelemetryResource
    ) -> None:
        """Keep one record, or count why not."""
        if not name and NAME in found:
            name = str(found[NAME])
            found = {key: value for key, value in found.items() if key != NAME}
        if not name:
            self.rejections.add("without an event name")
        elif not 0 < ns < 1 << 64:
            self.rejections.add("without a time")
        else:
            self.events.append(Event(name, seconds(ns), found, resource))

    def batch(self) -> LogsBatch:
        return LogsBatch(self.events, self.rejections.total, self.rejections.text("records"))


def decode(body: bytes) -> LogsBatch:
    """Return the events of an ExportLogsServiceRequest; raises UndecodableError."""
    try:
        request = ExportLogsServiceRequest.FromString(body)
    except DecodeError:  # whose text holds no place, only the message's name
        raise UndecodableError("not an ExportLogsServiceRequest in protobuf") from None
    events = LogEvents()
    for of_resource in request.resource_logs:
        resource = resources.resource(values.pairs(of_resource.resource.attributes))
        for scope in of_resource.scope_logs:
            for record in scope.log_records:
                ns = record.time_unix_nano or record.observed_time_unix_nano
                events.add(record.event_name, ns, values.pairs(record.attributes), resource)
    return events.batch()
