"""The wire of remote write 2.0 (2.0-rc.4), walked by hand.

    Request    { symbols = 4 string, timeseries = 5 }
    TimeSeries { labels_refs = 1 packed uint32, samples = 2, histograms = 3, exemplars = 4,
                 metadata = 5, created_timestamp = 6 }
    Sample     { value = 1 double, timestamp = 2 int64, milliseconds }

Labels are pairs of references into `symbols`, whose first entry is the empty text. Symbols differ
from request to request, so a set of labels is known by its texts.

Reference: https://prometheus.io/docs/specs/prw/remote_write_spec_2_0/
"""

from collections.abc import Mapping

from .. import wire
from .version1 import SAMPLE, Learn, SampleColumns, WalkedSamples, sample, text, usual

_SYMBOLS, _SERIES = 4, 5
_REFS, _SAMPLES, _HISTOGRAMS = 1, 2, 3


def walk(data: bytes, numbers: Mapping[int, int], learn: Learn) -> WalkedSamples:
    """Return the samples of a Request; raises wire.WireError. Arguments as in `version1`."""
    symbols: list[str] = []
    series: list[tuple[int, int]] = []
    for field, wire_type, first, last in wire.fields(data, 0, len(data)):
        if wire_type != wire.LENGTH:
            continue
        if field == _SYMBOLS:
            symbols.append(text(data[first:last]))
        elif field == _SERIES:
            series.append((first, last))
    if series and (not symbols or symbols[0]):
        raise wire.WireError('the first symbol is not ""')
    found = SampleColumns()
    sets: dict[bytes, int] = {}
    for first, last in series:
        _series(data, first, last, symbols, sets, found, numbers, learn)
    return found.walked(data)


def _series(
    data: bytes,
    at: int,
    end: int,
    symbols: list[str],
    sets: dict[bytes, int],
    found: SampleColumns,
    numbers: Mapping[int, int],
    learn: Learn,
) -> None:
    refs = b""
    ends: list[int] = []
    read: list[tuple[bytes, int]] = []
    for field, wire_type, first, last in wire.fields(data, at, end):
        if wire_type != wire.LENGTH:
            continue
        if field == _REFS:
            refs += data[first:last]
        elif field == _SAMPLES:
            # The sample without its tag and size, which stand before it.
            if last - first == SAMPLE - 2 and usual(data, last - SAMPLE, last):
                ends.append(last)
            else:
                read.append(sample(data, first, last))
        elif field == _HISTOGRAMS:
            found.histograms += 1
    number = sets.get(refs)
    if number is None:
        number = sets[refs] = _number(refs, symbols, numbers, learn)
    if not ends and not read:
        found.without.append(number)
    found.numbers.extend([number] * len(ends))
    found.ends.extend(ends)
    for value, at_ms in read:
        found.read(number, value, at_ms)


def _number(refs: bytes, symbols: list[str], numbers: Mapping[int, int], learn: Learn) -> int:
    texts: list[str] = []
    at = 0
    while at < len(refs):
        ref, at = wire.read_varint(refs, at, len(refs))
        if ref >= len(symbols):
            raise wire.WireError(f"label reference {ref} of {len(symbols)} symbols")
        texts.append(symbols[ref])
    if len(texts) % 2:
        raise wire.WireError("an odd number of label references")
    key = hash(tuple(texts))
    number = numbers.get(key)
    if number is None:
        number = learn(key, dict(zip(texts[::2], texts[1::2], strict=True)))
    return number
