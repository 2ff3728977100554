"""Remote write requests by the job and host of their series: whole series, samples unread."""

from collections.abc import Callable, Mapping

from ...vocabulary.samples import TelemetryResource
from .. import wire
from ..otlp.errors import UndecodableError
from . import labels as naming
from .exported import ExporterMeanings, HostlessError

_NOWHERE = TelemetryResource(host="")
_LABELS, _SERIES_1 = 1, 1
_SYMBOLS, _SERIES_2, _REFS = 4, 5, 1
_MOST = 1_000_000
"""Sets of labels remembered."""

Target = Callable[[TelemetryResource], frozenset[int]]


class WriteSplitter:
    """Divides requests among targets; for one thread. It remembers the resource of label sets."""

    def __init__(self) -> None:
        self._known: dict[bytes, TelemetryResource] = {}
        self._exported = ExporterMeanings()

    def version1(self, body: bytes, target: Target) -> dict[int, bytes]:
        """Return a WriteRequest for each target of its series. Raises UndecodableError."""
        found: dict[int, list[bytes]] = {}
        try:
            for field, wire_type, first, last in wire.fields(body, 0, len(body)):
                if field != _SERIES_1 or wire_type != wire.LENGTH:
                    continue
                whole = wire.block(_SERIES_1, body[first:last])
                for one in target(self._of_labels(body, first, last)):
                    found.setdefault(one, []).append(whole)
        except (wire.WireError, IndexError, UnicodeDecodeError) as error:
            raise UndecodableError(f"not a WriteRequest: {error}") from None
        return {one: b"".join(parts) for one, parts in found.items()}

    def version2(self, body: bytes, target: Target) -> dict[int, bytes]:
        """Return the same for a Request of 2.0; each gets all symbols."""
        symbols: list[str] = []
        heads: list[bytes] = []
        found: dict[int, list[bytes]] = {}
        try:
            listed = [row for row in wire.fields(body, 0, len(body)) if row[1] == wire.LENGTH]
            for field, _, first, last in listed:
                if field == _SYMBOLS:
                    symbols.append(body[first:last].decode())
                    heads.append(wire.block(_SYMBOLS, body[first:last]))
            resources: dict[bytes, frozenset[int]] = {}
            for field, _, first, last in listed:
                if field != _SERIES_2:
                    continue
                refs = b"".join(
                    body[begin:end]
                    for inner, kind, begin, end in wire.fields(body, first, last)
                    if inner == _REFS and kind == wire.LENGTH
                )
                if refs not in resources:
                    resources[refs] = target(self._resource(_labels(refs, symbols)))
                whole = wire.block(_SERIES_2, body[first:last])
                for one in resources[refs]:
                    found.setdefault(one, []).append(whole)
        except (wire.WireError, IndexError, UnicodeDecodeError) as error:
            raise UndecodableError(f"not a Request of remote write 2.0: {error}") from None
        head = b"".join(heads)
        return {one: head + b"".join(parts) for one, parts in found.items()}

    def _of_labels(self, body: bytes, first: int, last: int) -> TelemetryResource:
        end = first
        pairs: list[tuple[int, int]] = []
        for field, wire_type, begin, after in wire.fields(body, first, last):
            if field != _LABELS or wire_type != wire.LENGTH:
                break
            pairs.append((begin, after))
            end = after
        raw = body[first:end]
        known = self._known.get(raw)
        if known is None:
            labels: dict[str, str] = {}
            for begin, after in pairs:
                texts = {
                    field: body[one:other].decode()
                    for field, _, one, other in wire.fields(body, begin, after)
                }
                labels[texts.get(1, "")] = texts.get(2, "")
            if len(self._known) >= _MOST:
                self._known.clear()
            known = self._known[raw] = self._resource(labels)
        return known

    def _resource(self, labels: Mapping[str, str]) -> TelemetryResource:
        left = {label: text for label, text in labels.items() if text}
        name = left.pop("__name__", "")
        own = naming.own_series(name, left)
        if own is not None:
            return own[0]
        try:
            meaning = self._exported.meaning(name, left)
        except HostlessError:
            return _NOWHERE
        return _NOWHERE if meaning is None else meaning.resource


def _labels(refs: bytes, symbols: list[str]) -> dict[str, str]:
    texts: list[str] = []
    at = 0
    while at < len(refs):
        ref, at = wire.read_varint(refs, at, len(refs))
        texts.append(symbols[ref])
    return dict(zip(texts[::2], texts[1::2], strict=False))
