"""Bytes of a journal record to samples or events: the same code for intake, restart and replay."""

import threading
import time
from collections.abc import Callable
from typing import Protocol

from ...alerts.shared import messages
from ...formats.otlp import decode
from ...formats.otlp.columns import SeriesTable
from ...formats.otlp.errors import UndecodableError
from ...formats.remote_write import PassedOnDecoder, RemoteWriteDecoder
from ..journal import actions
from ..journal.kinds import PayloadKind
from . import permits
from .payloads import DecodedPayload, Payload


class PayloadDecoder:
    """Decodes payloads into series of one table. For one thread."""

    def __init__(self, table: SeriesTable) -> None:
        self.table = table
        self._remote_write = RemoteWriteDecoder(table)
        self._metrics = PassedOnDecoder(decode.MetricsDecoder(table), self._remote_write)

    def decode(self, payload: Payload) -> DecodedPayload:
        """Return what the payload holds. Raises UndecodableError for what its kind is not."""
        shortened = self.table.shortened
        match payload.kind:
            case PayloadKind.METRICS_PROTOBUF:
                batch = self._metrics.protobuf(payload.body)
            case PayloadKind.METRICS_JSON:
                batch = self._metrics.json(payload.body)
            case PayloadKind.REMOTE_WRITE:
                batch = self._remote_write.plain(payload.body)
            case PayloadKind.REMOTE_WRITE_2:
                batch = self._remote_write.plain2(payload.body)
            case PayloadKind.LOGS_PROTOBUF | PayloadKind.LOGS_JSON:
                read = (
                    decode.logs_protobuf
                    if payload.kind is PayloadKind.LOGS_PROTOBUF
                    else decode.logs_json
                )
                logs = read(payload.body, self.table.bounds)
                return DecodedPayload(
                    events=logs.events,
                    resources=logs.resources,
                    rejected=logs.rejected,
                    reason=logs.reason,
                    cut=logs.cut,
                    text_bytes=len(payload.body),
                )
            case PayloadKind.ACTION:
                return DecodedPayload(action=actions.unpack(payload.body))
            case PayloadKind.SHARED:
                try:
                    return DecodedPayload(shared=messages.unpack(payload.body))
                except messages.MessageError as error:
                    raise UndecodableError(str(error)) from None
            case PayloadKind.STOP | PayloadKind.SKIPPED | PayloadKind.TIME:
                return DecodedPayload()
        return DecodedPayload(
            metrics=batch,
            table=self.table,
            rejected=batch.rejected,
            reason=batch.reason,
            cut=self.table.shortened - shortened,
        )


_IDLE_SECONDS = 120.0
"""How long a decoder is kept of whom nothing comes: longer than reports are apart."""


class DecodeFunction(Protocol):
    """Decodes payloads, from any thread."""

    def decode(self, payload: Payload) -> DecodedPayload:
        """Return what the payload holds. Raises UndecodableError."""
        ...


class DecoderPool:
    """The decoders of a process, one for each set of jobs that tokens are limited to.

    Each has a table of its own; evaluation translates their series to the pipeline's. So a payload
    that is refused never reaches a table that others share, and what it left behind is dropped with
    its decoder, as is that of senders that fell silent. Safe to call from any thread; one payload
    is decoded at a time.
    """

    def __init__(
        self,
        new_table: Callable[[], SeriesTable],
        *,
        room: Callable[[], bool] = lambda: True,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """`room` returns whether the pipeline's table takes new series."""
        self._new_table = new_table
        self._room = room
        self._now = now
        self._decoders: dict[tuple[str, ...], PayloadDecoder] = {}
        self._used: dict[tuple[str, ...], float] = {}
        self._lock = threading.Lock()

    def apart(self) -> "DecoderPool":
        """Return one with tables of its own, which decodes while this one does."""
        return DecoderPool(self._new_table, room=self._room, now=self._now)

    def forget_silent(self) -> None:
        """Let go of decoders that nothing came for lately; not while one decodes."""
        if not self._lock.acquire(blocking=False):
            return
        try:
            silent = self._now() - _IDLE_SECONDS
            for jobs in [one for one in self._decoders if self._used[one] < silent]:
                del self._decoders[jobs], self._used[jobs]
        finally:
            self._lock.release()

    def decode(self, payload: Payload) -> DecodedPayload:
        """Return what the payload holds.

        Raises UndecodableError, and NotPermittedError where the sender may not send it.
        """
        with self._lock:
            decoder = self._of(payload.jobs)
            decoded = decoder.decode(payload)
            if payload.jobs:
                try:
                    self._check(payload, decoded, decoder.table)
                except permits.NotPermittedError:
                    del self._decoders[payload.jobs]
                    raise
            if decoder.table.full and self._room():
                # Full of series that have ended meanwhile: the pipeline's has let go of them.
                del self._decoders[payload.jobs]
                if decoded.rejected:
                    decoded = self._of(payload.jobs).decode(payload)
            return decoded

    def _check(self, payload: Payload, decoded: DecodedPayload, table: SeriesTable) -> None:
        """Raise NotPermittedError for what its sender may not send."""
        if table.full:  # it has no numbers for those who are new
            decoder = PayloadDecoder(self._new_table())
            decoded, table = decoder.decode(payload), decoder.table
        permits.check(decoded, payload.jobs, table)

    def _of(self, jobs: tuple[str, ...]) -> PayloadDecoder:
        self._used[jobs] = self._now()
        found = self._decoders.get(jobs)
        if found is None:
            found = self._decoders[jobs] = PayloadDecoder(self._new_table())
        return found
