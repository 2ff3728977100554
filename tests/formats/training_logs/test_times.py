"""Times as lines write them."""

from datetime import UTC, datetime

import pytest

from rankscope.formats.training_logs import times

AT = datetime(2026, 5, 13, 12, 0, 1, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    "text",
    [
        "2026-05-13 12:00:01 INFO ready",
        "05/13/2026 12:00:01 - INFO - ready",
        "26/05/13 12:00:01 WARN TaskSetManager: Lost task 3.0 in stage 7.0",
        "26/05/13 12:00:01 INFO o.a.spark.SparkContext: ready",
        "Wed May 13 12:00:01 2026 ready",
        '{"namespace": "", "time_ms": 1778673601000, "key": "run_start"}',
    ],
)
def test_a_date_of_any_order_is_read_where_it_is_certain(text):
    assert AT == times.read(text, UTC)


@pytest.mark.parametrize("text", ["26/05/13 12:00:01 ready", "99/99/99 12:00:01 INFO Main: ready"])
def test_one_whose_order_nothing_tells_or_that_is_none_is_not(text):
    assert times.read(text, UTC) is None
