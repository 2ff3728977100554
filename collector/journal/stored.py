"""What a record of the journal's files holds: an entry, whole or as the columns of a template.

A reader of many hours needs some series of some jobs only: it chooses by template, and takes of the
columns what it needs (`Template.words`), without the request being put together again.
"""

from collections.abc import Callable
from dataclasses import dataclass

from ...formats import segments
from . import columns
from .entries import Entry
from .kinds import METRICS_COLUMNS, METRICS_TEMPLATE, Kind

CONTEXT = frozenset((METRICS_TEMPLATE,))
"""Kinds of records that a reader needs from before its offset."""

Chosen = Callable[[Kind, bytes], bool]
"""Whether an entry with this body, or with the body of this template, is wanted."""

_KINDS = frozenset(Kind)


def every(_kind: Kind, _body: bytes) -> bool:
    """Choose every entry."""
    return True


@dataclass(frozen=True, slots=True)
class Stored:
    """An entry as its file holds it: `payload` is its body, or with `template` its columns."""

    kind: Kind
    at_ns: int
    payload: bytes
    template: columns.Template | None = None

    def entry(self) -> Entry:
        """Return the entry. Raises ColumnsError."""
        known = self.template
        body = self.payload if known is None else known.restored(self.payload)
        return Entry(self.kind, self.at_ns, body)


def of(
    record: segments.Record,
    templates: dict[int, columns.Template | None],
    chosen: Chosen,
) -> Stored | None:
    """Return what a record holds, None where it is not chosen; `templates` are those before it."""
    kind, body, at_ns = record.kind, record.payload, record.at_ns
    if kind == METRICS_TEMPLATE:
        template = columns.Template.unpack(body)
        wanted = chosen(Kind.METRICS_PROTOBUF, template.body)
        templates[template.number] = template if wanted else None
        return Stored(Kind.METRICS_PROTOBUF, at_ns, template.body) if wanted else None
    if kind == METRICS_COLUMNS:
        number = columns.number_of(body)
        if number not in templates:
            raise columns.ColumnsError("columns without their template")
        known = templates[number]
        return None if known is None else Stored(Kind.METRICS_PROTOBUF, at_ns, body, known)
    if kind not in _KINDS:
        raise segments.SegmentError(
            f"{record.segment} at {record.offset}: a record of kind {kind}, "
            "which this version does not know"
        )
    return Stored(Kind(kind), at_ns, body) if chosen(Kind(kind), body) else None
