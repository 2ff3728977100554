#!/usr/bin/env bash
# OpenTelemetry's SDK for Python, 1.45.2, in a job whose torch 2.13.0 DataLoader forks workers.
#
# Guess: the thread that exports lives in the process that trains, so that its workers send nothing; if
# one did, it would be as that process, with the same resource. Seen: the SDK starts its thread again in
# each child and gives the child an instance id of its own. Each worker goes on exporting the metrics of
# the training process, as they stood when the worker was made: a counter of 10 steps and a loss of 9.0
# with fresh times and the start time of the real one, beside the real 44 and 2.0, until the epoch is
# over. Where the loader makes its workers again each epoch there are new ones each time. Sums over
# instances are wrong by a multiple, and a rank has several losses, of which most never change.
#
# Installs torch and the SDK in a temporary folder (PYTHON: which interpreter, python3 by default;
# INDEX: where pip finds a build for CPUs); a minute.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  --timeout 5 --retries 0 --extra-index-url "${INDEX:-https://download.pytorch.org/whl/cpu}" \
  torch==2.13.0 numpy 2>/dev/null
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  opentelemetry-exporter-otlp-proto-http==1.45.0 opentelemetry-sdk==1.45.2 2>/dev/null
cat >"$folder/job.py" <<'PYTHON'
import gzip
import http.server
import os
import threading
import time

import torch
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource

received = {}


class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        if self.headers.get("content-encoding") == "gzip":
            body = gzip.decompress(body)
        for each in ExportMetricsServiceRequest.FromString(body).resource_metrics:
            names = {one.key: one.value.string_value for one in each.resource.attributes}
            points = {}
            for metric in each.scope_metrics[0].metrics:
                point = (metric.sum.data_points or metric.gauge.data_points)[0]
                points[metric.name] = point.as_int or point.as_double
                if metric.name == "steps":
                    points["start"] = point.start_time_unix_nano
            received.setdefault(names["service.instance.id"], []).append(points)
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 60

    def __getitem__(self, index):
        time.sleep(0.05)
        return torch.ones(1)


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
threading.Thread(target=server.serve_forever, daemon=True).start()
exporter = OTLPMetricExporter(endpoint=f"http://127.0.0.1:{server.server_port}/v1/metrics")
provider = MeterProvider(
    [PeriodicExportingMetricReader(exporter, export_interval_millis=400)],
    resource=Resource.create({"service.name": "train"}),
)
meter = provider.get_meter("finding")
steps, loss = meter.create_counter("steps"), meter.create_gauge("loss")
steps.add(10)
loss.set(9.0)
for _ in torch.utils.data.DataLoader(Rows(), num_workers=2, multiprocessing_context="fork"):
    steps.add(1)
    loss.set(2.0)
provider.shutdown()
rows = sorted(received.values(), key=lambda one: -one[-1]["steps"])
for name, points in zip(("training process", "worker", "worker"), rows):
    print(f"{name}: {len(points)} exports, steps {[one['steps'] for one in points]}, "
          f"loss {sorted({one['loss'] for one in points})}")
same = (
    len(rows) == 3
    and rows[0][-1]["steps"] == 70
    and all({one["steps"] for one in row} == {10} for row in rows[1:])
    and all({one["loss"] for one in row} == {9.0} for row in rows[1:])
    and all(len(row) > 1 for row in rows[1:])
    and len({one["start"] for row in rows for one in row}) == 1
)
os._exit(0 if same else print("this has changed") or 1)
PYTHON
"$folder/venv/bin/python" "$folder/job.py" 2>/dev/null
