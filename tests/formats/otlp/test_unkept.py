"""Metrics whose attributes count up are accepted and take no row of the table."""

import pytest

from rankscope.formats.otlp import encode
from rankscope.formats.otlp.columns import SeriesTable
from rankscope.formats.otlp.decode import MetricsDecoder
from rankscope.vocabulary.samples import Sample, TelemetryResource, attributes


def _request(first: int) -> list[tuple[TelemetryResource, list[Sample]]]:
    samples = [
        Sample("collective.op.duration", 0.1, 1000.0 + seq, attributes({"rank": 0, "seq": seq}))
        for seq in range(first, first + 5)
    ]
    loss = Sample("training.loss", 2.5, 1000.0 + first, attributes({"rank": 0}))
    return [(TelemetryResource("a", job="j"), [*samples, loss])]


@pytest.mark.parametrize("encoding", ["protobuf", "json"])
def test_sequence_numbers_do_not_fill_the_table(encoding: str) -> None:
    table = SeriesTable(unkept=frozenset({"collective.op.duration"}))
    decoder = MetricsDecoder(table)
    for first in (0, 5, 10):
        if encoding == "protobuf":
            batch = decoder.protobuf(encode.metrics_request(_request(first)))
        else:
            batch = decoder.json(encode.metrics_json(_request(first)))
        assert batch.rejected == 0
        assert batch.columns.value.tolist() == [2.5]
        assert len(table) == 1
