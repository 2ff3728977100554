#!/usr/bin/env bash
# OpenTelemetry's OTLP/HTTP exporter for Python, 1.45.0, and a server that answers 503 with Retry-After.
#
# Guess: a batch is tried again until the exporter's time-out of 10 s is over, later where it is asked
# to wait longer. Seen: where Retry-After is longer than what is left of the 10 s, the batch is given up
# at once. An answer of 10 s therefore gets one try and none after it, while one of 3 s keeps the batch
# for nine seconds, and no Retry-After at all for seven. A server that asks for patience loses what it
# asked to be patient with.
#
# Installs the exporter in a temporary folder (PYTHON: which interpreter, python3 by default); 20 s.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  opentelemetry-exporter-otlp-proto-http==1.45.0 opentelemetry-sdk==1.45.2 2>/dev/null
"$folder/venv/bin/python" - 2>/dev/null <<'PYTHON'
import http.server
import sys
import threading
import time

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

# Retry-After in seconds (0: none), tries, seconds between the first and the last.
EXPECTED = {0: (4, 7), 1: (6, 5), 2: (5, 8), 3: (4, 9), 5: (2, 5), 10: (1, 0)}

reader = InMemoryMetricReader()
MeterProvider([reader]).get_meter("finding").create_counter("steps").add(1)
batch = reader.get_metrics_data()
seen = {}


def export(after):
    times = []

    class Refusing(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            times.append(time.monotonic())
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(503)
            if after:
                self.send_header("Retry-After", str(after))
            self.end_headers()

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Refusing)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    OTLPMetricExporter(endpoint=f"http://127.0.0.1:{server.server_port}/v1/metrics").export(batch)
    seen[after] = len(times), times[-1] - times[0]


threads = [threading.Thread(target=export, args=(after,)) for after in EXPECTED]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
for after, (tries, seconds) in sorted(seen.items()):
    print(f"Retry-After {after or 'none':>4}: {tries} tries, the last after {seconds:.1f} s")
same = all(
    seen[after][0] == tries and abs(seen[after][1] - seconds) < 1.0
    for after, (tries, seconds) in EXPECTED.items()
)
sys.exit(0 if same else "this has changed")
PYTHON
