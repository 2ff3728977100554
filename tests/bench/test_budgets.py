"""The bench's own parts: what it sends is what it says it sends."""

import numpy as np

from bench.budgets.pool import PreparedRequest
from bench.budgets.stream import SampleStream
from rankscope.formats.otlp.columns import SeriesTable
from rankscope.formats.otlp.decode import MetricsDecoder
from rankscope.vocabulary import metrics


def columns(*bodies):
    table = SeriesTable()
    decoder = MetricsDecoder(table)
    return table, [decoder.protobuf(body) for body in bodies]


def test_a_later_request_lies_alike_and_has_its_own_time_and_steps():
    (body,) = SampleStream(hosts=1, hosts_a_request=1).round(1_700_000_000.0)
    prepared = PreparedRequest.of(body)
    table, (first, later) = columns(body, prepared.later(10, 1_700_000_009.0))
    assert later.layout is not None
    assert set(later.columns.at.tolist()) == {1_700_000_009.0}
    grown = later.columns.value - first.columns.value
    moved = {table[int(series)].metric for series in first.columns.series[grown != 0]}
    assert moved == {
        "training.step",
        "collective.enqueued",
        "collective.started",
        "collective.completed",
        "hw.energy",
    }
    steps = [table[int(series)].metric == "training.step" for series in first.columns.series]
    assert np.unique(grown[np.array(steps)]).tolist() == [10.0]


def test_every_metric_it_sends_is_in_the_vocabulary():
    (body,) = SampleStream(hosts=2, hosts_a_request=2).round(1_700_000_000.0)
    table, _ = columns(body)
    sent = {table[series].metric for series in range(len(table))}
    assert sent <= metrics.catalogue().keys()
