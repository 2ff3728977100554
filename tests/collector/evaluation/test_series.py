"""Series of the intake's tables in the pipeline's: each table for as long as the intake has it."""

import weakref

import numpy as np

from rankscope.collector.evaluation.series import SeriesTranslations
from rankscope.formats.otlp.columns import MetricsBatch, PointColumns, SeriesTable
from rankscope.vocabulary.samples import TelemetryResource

HOST = TelemetryResource("gpu-1", "run-1")


def batch(table: SeriesTable, *ranks: int) -> MetricsBatch:
    """Return a loss of each of these ranks."""
    series = [table.intern(HOST, "training.loss", (("rank", rank),)) for rank in ranks]
    values = np.ones(len(series))
    return MetricsBatch(PointColumns(np.array(series, np.int32), values, values))


def test_a_table_that_the_intake_let_go_of_is_kept_by_nobody() -> None:
    translations = SeriesTranslations(SeriesTable())
    source = SeriesTable()
    first = translations.translated(batch(source, 0, 1), source).columns.series.tolist()
    gone = weakref.ref(source)
    del source
    assert gone() is None
    another = SeriesTable()
    again = translations.translated(batch(another, 1, 0), another).columns.series.tolist()
    assert again == first[::-1]
