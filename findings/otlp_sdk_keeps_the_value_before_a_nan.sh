#!/usr/bin/env bash
# OpenTelemetry's SDK for Python, 1.45.2: what is exported of a gauge of the loss once the loss is NaN.
#
# Guess: NaN, as OTLP can carry it, and as a gauge of the Prometheus client shows it. Seen: a value that
# is not finite is left out before it is kept, with a warning of the SDK's logger, and the gauge goes on:
# every export repeats the last finite value with a new time. A run whose loss turns NaN at step 3 reports
# the loss of step 2 as long as it runs, which is a plateau and no failure. Histograms and counters leave
# it out as well. An observable gauge alone falls silent. So a value that stands still to the last bit
# while steps go on may be one that is NaN, and who wants to see NaN sends it in another way.
#
# Installs the SDK in a temporary folder (PYTHON: which interpreter, python3 by default); 15 s.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  opentelemetry-sdk==1.45.2 prometheus_client==0.26.0 2>/dev/null
"$folder/venv/bin/python" - 2>/dev/null <<'PYTHON'
import math
import sys

import prometheus_client
from opentelemetry.metrics import Observation
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

LOSSES = [2.5, 2.4, math.nan, math.nan, math.inf]

now = LOSSES[0]
reader = InMemoryMetricReader()
meter = MeterProvider([reader]).get_meter("finding")
gauge = meter.create_gauge("loss")
histogram = meter.create_histogram("losses")
meter.create_observable_gauge("loss_observed", [lambda _: [Observation(now)]])
other = prometheus_client.Gauge("loss", "the same, by the Prometheus client")


def exported():
    """Return value and time of the points of each metric."""
    data = reader.get_metrics_data()
    return {
        metric.name: [
            (getattr(point, "value", None), getattr(point, "count", None), point.time_unix_nano)
            for point in metric.data.data_points
        ]
        for metric in data.resource_metrics[0].scope_metrics[0].metrics
    }


rows = []
for step, now in enumerate(LOSSES, 1):
    gauge.set(now)
    histogram.record(now)
    other.set(now)
    points = exported()
    value, _, at = points["loss"][0]
    observed = [one[0] for one in points.get("loss_observed", [])]
    count = points["losses"][0][1]
    rows.append((value, at, observed, count))
    shown = prometheus_client.REGISTRY.get_sample_value("loss")
    print(f"step {step}: loss {now}: gauge {value}, observable gauge {observed}, "
          f"histogram of {count} values, Prometheus client {shown}")
same = (
    [row[0] for row in rows] == [2.5, 2.4, 2.4, 2.4, 2.4]
    and all(before[1] < after[1] for before, after in zip(rows, rows[1:]))
    and [row[2] for row in rows] == [[2.5], [2.4], [], [], []]
    and [row[3] for row in rows] == [1, 2, 2, 2, 2]
)
sys.exit(0 if same else "this has changed")
PYTHON
