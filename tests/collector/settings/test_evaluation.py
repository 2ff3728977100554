"""What evaluation can be set to: limits that reach the windows, and mistakes that are named."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankscope.collector.pipeline.pipeline import DetectionPipeline
from rankscope.collector.settings.collector import CollectorSettings
from rankscope.collector.settings.evaluation import EvaluationSettings
from rankscope.formats.otlp.columns import MetricsBatch, PointColumns
from rankscope.settings import SettingsError, load
from rankscope.vocabulary.samples import TelemetryResource, attributes


def window(pipeline):
    """Return the window of a job of one rank."""
    table = pipeline.table
    series = table.intern(
        TelemetryResource("a", job="j"), "training.step.duration", attributes({"rank": 0})
    )
    columns = PointColumns(
        np.array([series], np.int32), np.array([1.79e9]), np.array([0.5], np.float64)
    )
    pipeline.metrics(MetricsBatch(columns), 1.79e9)
    attempt = pipeline.windows.attempt("j")
    return pipeline.windows.window(attempt, 1.79e9)


def test_the_collective_timeout_reaches_the_detectors():
    settings = EvaluationSettings(collective_timeout_seconds=1800)
    assert window(DetectionPipeline(settings=settings)).collective_timeout_seconds == 1800
    assert window(DetectionPipeline()).collective_timeout_seconds == 600


def test_a_pipeline_of_an_earlier_process_takes_the_settings_of_this_one():
    pipeline = pickle.loads(pickle.dumps(DetectionPipeline()))  # noqa: S301  our own
    settings = EvaluationSettings(collective_timeout_seconds=60, max_series=1000)
    pipeline.resume(DetectionPipeline(settings=settings))
    assert window(pipeline).collective_timeout_seconds == 60
    assert pipeline.table.capacity == 1000


def test_the_environment_sets_them():
    environ = {"RANKSCOPE_EVALUATION__COLLECTIVE_TIMEOUT_SECONDS": "1800"}
    found = load(CollectorSettings, path=None, environ=environ)
    assert found.evaluation == EvaluationSettings(collective_timeout_seconds=1800)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("COLLECTIVE_TIMEOUT_SECONDS", "0"),
        ("COLLECTIVE_TIMEOUT_SECONDS", "nan"),
        ("COLLECTIVE_TIMEOUT_SECONDS", "10 minutes"),
        ("MAX_SERIES", "10"),
        ("MAX_TEXT_BYTES", "10"),
        ("MAX_JOBS", "0"),
    ],
)
def test_a_bad_value_is_named_by_its_key(key, value):
    with pytest.raises(SettingsError, match=f"(?i)evaluation.{key}"):
        load(CollectorSettings, path=None, environ={f"RANKSCOPE_EVALUATION__{key}": value})


@given(capacity=st.integers(0, 5), count=st.integers(0, 8))
def test_a_lower_limit_keeps_the_series_that_are_held(capacity, count):
    pipeline = DetectionPipeline()
    resource = TelemetryResource("a", job="j")
    for rank in range(count):
        pipeline.table.intern(resource, "training.loss", attributes({"rank": rank}))
    pipeline.table.capacity = capacity
    assert pipeline.table.live == count
    new = pipeline.table.intern(resource, "training.loss", attributes({"rank": 99}))
    assert (new < 0) == (count >= capacity)
    known = [
        pipeline.table.intern(resource, "training.loss", attributes({"rank": rank}))
        for rank in range(count)
    ]
    assert known == list(range(count))
