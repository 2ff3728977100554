"""The points of a few metrics of one job, out of the journal: no request is put together again.

A record of columns is read field by field, only those of the series that are wanted. Together with
the choice by template this takes a third of the time of decoding everything.
"""

import json
from collections.abc import Collection, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...formats.otlp.columns import SKIP, MetricsBatch, PointColumns, SeriesTable
from ...formats.otlp.errors import UndecodableError
from ...formats.otlp.general import seconds
from ...formats.otlp.payload_layout import PayloadLayout
from ...formats.otlp.series import IdTranslation
from ...vocabulary import metrics
from ..intake.decoding import PayloadDecoder
from ..intake.payloads import Payload
from ..journal import journal
from ..journal.columns import BodyTemplate, ColumnsError
from ..journal.kinds import PayloadKind
from ..journal.stored import Chosen, StoredEntry

TOGETHER_NS = 1_000_000_000
"""What was received within so much is taken as one batch: a batch costs more than its points."""

PLACING = ("training.rank.info", "training.step")
"""What windows need besides: where ranks run, and which steps values are of."""

_JOB_ATTRIBUTE = b"rankscope.job.id"
_REMOTE_WRITE = frozenset((PayloadKind.REMOTE_WRITE, PayloadKind.REMOTE_WRITE_2))
"""Their jobs may stand in labels of many names: they are read whatever they hold."""
_METRICS = frozenset((PayloadKind.METRICS_PROTOBUF, PayloadKind.METRICS_JSON)) | _REMOTE_WRITE

Batches = Iterator[tuple[MetricsBatch, float]]


def of_job(job: str, kinds: Collection[PayloadKind]) -> Chosen:
    """Return what chooses entries of these kinds that say something of a job, or of nodes only."""
    names = {job.encode(), json.dumps(job)[1:-1].encode()}

    def chosen(kind: PayloadKind, body: bytes) -> bool:
        if kind not in kinds:
            return False
        others = kind not in _REMOTE_WRITE and _JOB_ATTRIBUTE in body
        return not others or any(name in body for name in names)

    return chosen


def table_of(wanted: Collection[str], *, capacity: int) -> SeriesTable:
    """Return a table that keeps the series of these metrics and of `PLACING` only."""
    kept = {*PLACING, *wanted}
    return SeriesTable(
        capacity, unkept=frozenset(name for name in metrics.catalogue() if name not in kept)
    )


def batches(folder: Path, job: str, start: float, end: float, table: SeriesTable) -> Batches:
    """Yield points of a job and of nodes, with the time at which they were received (s).

    start, end: receive times (s). Whatever cannot be decoded is left out, as it was when received.
    """
    points = _StoredPoints(table)
    held: list[PointColumns] = []
    first_ns, at_ns = 0, 0
    between = int(start * 1e9), int(end * 1e9)
    for entry in journal.stored_between(folder, *between, chosen=of_job(job, _METRICS)):
        if held and entry.at_ns - first_ns > TOGETHER_NS:
            yield _joined(held), at_ns / 1e9
            held = []
        found = points.of(entry)
        if found is None or not len(found):
            continue
        first_ns, at_ns = (first_ns if held else entry.at_ns), entry.at_ns
        held.append(found)
    if held:
        yield _joined(held), at_ns / 1e9


class _TemplateFields:
    """Where the wanted points of a template's requests stand among its columns."""

    def __init__(
        self, template: BodyTemplate, layout: PayloadLayout, series: NDArray[np.int32]
    ) -> None:
        """Series: [points of the layout], negative for those that are not wanted."""
        self._template = template
        wanted = np.flatnonzero(series >= 0)
        self._series = series[wanted]
        self._integers = layout.shape.integers[wanted]
        # The slots of a layout are all times, then all values.
        self._which = np.concatenate((wanted, wanted + len(series)))

    def points(self, payload: bytes) -> PointColumns:
        words = self._template.words(payload, self._which)
        count = len(self._series)
        at, bits = words[:count], words[count:]
        value: NDArray[np.float64] = bits.view(np.float64)
        if self._integers.any():
            value = np.where(self._integers, bits.view(np.int64).astype(np.float64), value)
        timed = at != 0
        if timed.all():
            return PointColumns(self._series, seconds(at), value)
        return PointColumns(self._series[timed], seconds(at[timed]), value[timed])


class _StoredPoints:
    """Reads stored entries into the series of one table.

    Templates are decoded into a table that keeps every series: a layout without some of the points
    would be that of one request alone.
    """

    def __init__(self, table: SeriesTable) -> None:
        self._table = table
        self._decoder = PayloadDecoder(table)
        self._everything = PayloadDecoder(SeriesTable(table.capacity))
        self._translation = IdTranslation(self._everything.table, table)
        # By identity, with the template itself: else that could be given to another.
        self._fields: dict[int, tuple[BodyTemplate, _TemplateFields | None]] = {}

    def of(self, stored: StoredEntry) -> PointColumns | None:
        """Return the points of an entry that the table keeps, None without any."""
        try:
            if stored.template is not None:
                fields = self._of_template(stored.template)
                if fields is not None:
                    return fields.points(stored.payload)
            entry = stored.entry()
            decoded = self._decoder.decode(Payload(entry.kind, entry.body))
        except (UndecodableError, ColumnsError):
            return None  # counted when it was received
        return None if decoded.metrics is None else decoded.metrics.columns

    def _of_template(self, template: BodyTemplate) -> _TemplateFields | None:
        """Return where its points stand, None where its requests have to be decoded whole."""
        if id(template) not in self._fields:
            self._fields[id(template)] = template, self._learnt(template)
        return self._fields[id(template)][1]

    def _learnt(self, template: BodyTemplate) -> _TemplateFields | None:
        body = Payload(PayloadKind.METRICS_PROTOBUF, template.body)
        self._everything.decode(body)
        again = self._everything.decode(body).metrics  # a layout is known the second time
        layout = None if again is None else again.layout
        if not isinstance(layout, PayloadLayout) or not np.array_equal(
            layout.slots(), template.slots
        ):
            return None
        return _TemplateFields(template, layout, self._wanted(layout.series))

    def _wanted(self, series: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the table's ids of series of the other, SKIP where it does not keep them."""
        source = self._everything.table
        kept = [self._table.kept(self._table.metric(name)) for name in source.metrics]
        wanted = (series >= 0) & np.array(kept)[source.metric_of[series]]
        found = np.full(len(series), SKIP, np.int32)
        found[wanted] = self._translation.ids(series[wanted])
        return found


def _joined(parts: list[PointColumns]) -> MetricsBatch:
    return MetricsBatch(
        PointColumns(
            np.concatenate([one.series for one in parts]),
            np.concatenate([one.at for one in parts]),
            np.concatenate([one.value for one in parts]),
        )
    )
