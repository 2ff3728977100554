"""Bytes of a journal record to samples or events: the same code for intake, restart and replay."""

from ...formats.otlp import decode
from ...formats.otlp.columns import SeriesTable
from ...formats.remote_write import RemoteWriteDecoder
from ..journal.kinds import Kind
from .payloads import Decoded, Payload


class Decoder:
    """Decodes payloads in the order of the journal. Not thread-safe: the table is shared."""

    def __init__(self, table: SeriesTable) -> None:
        self._metrics = decode.MetricsDecoder(table)
        self._remote_write = RemoteWriteDecoder(table)

    def decode(self, payload: Payload) -> Decoded:
        """Return what the payload says. Raises UndecodableError for what its kind is not."""
        match payload.kind:
            case Kind.METRICS_PROTOBUF:
                batch = self._metrics.protobuf(payload.body)
            case Kind.METRICS_JSON:
                batch = self._metrics.json(payload.body)
            case Kind.REMOTE_WRITE:
                batch = self._remote_write.plain(payload.body)
            case Kind.LOGS_PROTOBUF | Kind.LOGS_JSON:
                read = (
                    decode.logs_protobuf if payload.kind is Kind.LOGS_PROTOBUF else decode.logs_json
                )
                logs = read(payload.body)
                return Decoded(events=logs.events, rejected=logs.rejected, reason=logs.reason)
            case Kind.STOP:
                return Decoded()
        return Decoded(metrics=batch, rejected=batch.rejected, reason=batch.reason)
