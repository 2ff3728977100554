"""What a record of the journal's files holds: an entry, whole or as the columns of a template.

A reader of many hours needs some series of some jobs only: it chooses by template, and takes of the
columns what it needs (`Template.words`), without the request being put together again.
"""

from collections.abc import Callable
from dataclasses import dataclass

from ...formats import segments
from . import columns
from .entries import JournalEntry
from .kinds import METRICS_COLUMNS, METRICS_TEMPLATE, PayloadKind

CONTEXT = frozenset((METRICS_TEMPLATE,))
"""Kinds of records that a reader needs from before its offset."""

Chosen = Callable[[PayloadKind, bytes], bool]
"""Whether an entry with this body, or with the body of this template, is wanted."""

_KINDS = frozenset(PayloadKind)


def every(_kind: PayloadKind, _body: bytes) -> bool:
    """Choose every entry."""
    return True


@dataclass(frozen=True, slots=True)
class StoredEntry:
    """An entry as its file holds it: `payload` is its body, or with `template` its columns."""

    kind: PayloadKind
    at_ns: int
    payload: bytes
    template: columns.BodyTemplate | None = None

    def entry(self) -> JournalEntry:
        """Return the entry. Raises ColumnsError."""
        known = self.template
        body = self.payload if known is None else known.restored(self.payload)
        return JournalEntry(self.kind, self.at_ns, body)


def of(
    record: segments.SegmentRecord,
    templates: dict[int, columns.BodyTemplate | None],
    chosen: Chosen,
) -> StoredEntry | None:
    """Return what a record holds, None where it is not chosen; `templates` are those before it."""
    kind, body, at_ns = record.kind, record.payload, record.at_ns
    if kind == METRICS_TEMPLATE:
        template = columns.BodyTemplate.unpack(body)
        wanted = chosen(PayloadKind.METRICS_PROTOBUF, template.body)
        templates[template.number] = template if wanted else None
        return StoredEntry(PayloadKind.METRICS_PROTOBUF, at_ns, template.body) if wanted else None
    if kind == METRICS_COLUMNS:
        number = columns.number_of(body)
        if number not in templates:
            raise columns.ColumnsError("columns without their template")
        known = templates[number]
        return (
            None if known is None else StoredEntry(PayloadKind.METRICS_PROTOBUF, at_ns, body, known)
        )
    if kind not in _KINDS:
        raise segments.SegmentError(
            f"{record.segment} at {record.offset}: a record of kind {kind}, "
            "which this version does not know"
        )
    return StoredEntry(PayloadKind(kind), at_ns, body) if chosen(PayloadKind(kind), body) else None
