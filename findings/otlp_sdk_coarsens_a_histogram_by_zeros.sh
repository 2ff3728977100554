#!/usr/bin/env bash
# OpenTelemetry's SDK for Python, 1.45.2: an exponential histogram of seconds per step, and one of the wait for data, in
# which a step that waited for nothing records 0.
#
# Guess: a zero is counted apart (zero_count) and has no part in the scale, which follows from the largest and the
# smallest other value. Seen: that holds of a zero among others. Where an interval between two exports had zeros
# alone, its scale is 0, and the histogram of the whole run, being merged with it, has scale 0 for good: buckets that were
# 0.07 % wide are as wide as powers of two. A median of 0.104 s is then anything from 0.0625 to 0.125 s, and a slowdown
# by 15 % is not to be seen any more, in a run whose values have not changed. One idle interval, as an
# evaluation or a pause, is enough. With delta temporality, which starts anew each time, it is
# that interval alone. There another thing differs from what one expects of a gauge: it is exported only after it
# was set, so that a value that stands is silent, where the cumulative one is repeated.
#
# Installs the SDK in a temporary folder (PYTHON: which interpreter, python3 by default); 15 s.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check opentelemetry-sdk==1.45.2 2>/dev/null
"$folder/venv/bin/python" - <<'PYTHON'
import sys

from opentelemetry.sdk.metrics import Histogram, MeterProvider
from opentelemetry.sdk.metrics import _Gauge as Gauge
from opentelemetry.sdk.metrics.export import AggregationTemporality, InMemoryMetricReader
from opentelemetry.sdk.metrics.view import ExponentialBucketHistogramAggregation

STEPS = [0.1 + n % 10 / 1000 for n in range(100)]
RUNS = {
    "steps only": [STEPS, STEPS, STEPS],
    "a zero among others": [STEPS, [*STEPS, 0.0], STEPS],
    "an interval of zeros": [STEPS, [0.0], STEPS],
    "a zero at first": [[0.0], STEPS, STEPS],
}


def middle(point):
    """Return the bounds of the bucket in which the median of all but the zeros is."""
    base, left = 2 ** (2**-point.scale), sum(point.positive.bucket_counts) / 2
    for number, count in enumerate(point.positive.bucket_counts, point.positive.offset):
        left -= count
        if count and left <= 0:
            return round(base**number, 4), round(base ** (number + 1), 4)
    return None


def exported(intervals, temporality):
    reader = InMemoryMetricReader(
        preferred_temporality={Histogram: temporality, Gauge: temporality},
        preferred_aggregation={Histogram: ExponentialBucketHistogramAggregation()},
    )
    meter = MeterProvider([reader]).get_meter("finding")
    histogram, gauge = meter.create_histogram("seconds"), meter.create_gauge("loss")
    gauge.set(2.5)
    rows = []
    for values in intervals:
        for value in values:
            histogram.record(value)
        metrics = reader.get_metrics_data().resource_metrics[0].scope_metrics[0].metrics
        points = {metric.name: metric.data.data_points[0] for metric in metrics}
        point = points["seconds"]
        rows.append((point.scale, point.zero_count, middle(point), "loss" in points))
    return rows


seen = {}
for temporality in (AggregationTemporality.CUMULATIVE, AggregationTemporality.DELTA):
    for name, intervals in RUNS.items():
        rows = seen[temporality.name, name] = exported(intervals, temporality)
        said = "; ".join(f"scale {scale}, {zeros} zeros, median in {bounds}" for scale, zeros, bounds, _ in rows)
        print(f"{temporality.name.lower()}, {name}: {said}; loss exported: {[row[3] for row in rows]}")
fine = (0.104, 0.1041)
same = (
    [row[2] for row in seen["CUMULATIVE", "a zero among others"]] == [fine, fine, fine]
    and [row[2] for row in seen["CUMULATIVE", "an interval of zeros"]] == [fine, (0.0625, 0.125), (0.0625, 0.125)]
    and [row[2] for row in seen["CUMULATIVE", "a zero at first"]] == [None, (0.0625, 0.125), (0.0625, 0.125)]
    and [row[2] for row in seen["DELTA", "an interval of zeros"]] == [fine, None, fine]
    and [row[3] for row in seen["CUMULATIVE", "steps only"]] == [True, True, True]
    and [row[3] for row in seen["DELTA", "steps only"]] == [True, False, False]
)
sys.exit(0 if same else "this has changed")
PYTHON
