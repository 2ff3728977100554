#!/usr/bin/env bash
# VictoriaMetrics 1.79.5 and, beside it, promtool 2.42.0 (Debian 12): what increase(), changes() and delta() say of
# counters that stand still, where their series begin within the time range, as after an agent got another label,
# on a new node, or in a new store.
#
# Guess: a counter of memory errors that has stood at 3 for weeks has increased by 0, in both, since both speak
# one language; only the numbers between two samples differ, as Prometheus extrapolates. Seen: VictoriaMetrics takes
# the value before the first sample for 0 where that sample is small (below 10, and more where the next ones
# grow), so that increase() and delta() are 3, a counter that has stood at 30 gives 0, and changes() is 1 for every
# series, whatever its value. rate() is 0 in both. So `increase(errors[10m]) > 0` pages for
# each device with one to nine old errors, ten minutes long, when its series begins, and changes() takes each beginning
# for a restart. Prometheus says 0 to all, also of a counter that first appears with its first error, which
# VictoriaMetrics finds. `x - min_over_time(x[10m])` is 0 in both.
#
# Unpacks Debian's packages in a temporary folder (apt-get, dpkg) and starts one on a port of 127.0.0.1; 20 s.
set -euo pipefail
folder=$(mktemp -d)
trap 'kill "$store" 2>/dev/null || true; wait 2>/dev/null; rm -rf "$folder"' EXIT
store=
(
  cd "$folder"
  apt-get download -qq victoria-metrics=1.79.5+ds1-2+b5 prometheus=2.42.0+ds-5+deb12u1 >/dev/null 2>&1
  for package in *.deb; do dpkg -x "$package" root; done
)
port=$((20000 + $$ % 10000))
"$folder/root/usr/bin/victoria-metrics" -storageDataPath="$folder/data" -httpListenAddr=127.0.0.1:$port \
  >"$folder/log" 2>&1 &
store=$!
cat >"$folder/watch.py" <<'PYTHON'
import json
import subprocess
import sys
import time
import urllib.parse
import urllib.request

base, folder = f"http://127.0.0.1:{sys.argv[1]}", sys.argv[2]
NOW, EVERY, SAMPLES = int(time.time()) - 60, 10, 120
SERIES = {"began_before": (3, 0), "old_3": (3, 90), "old_30": (30, 90), "first_error": (1, 108)}
ASKED = ("increase(errors[10m])", "delta(errors[10m])", "changes(errors[10m])", "rate(errors[10m])",
         "errors - min_over_time(errors[10m])")


def asked(path, body=None, **arguments):
    query = f"?{urllib.parse.urlencode(arguments)}" if arguments else ""
    with urllib.request.urlopen(f"{base}{path}{query}", body, timeout=30) as answer:
        return answer.read()


def of_victoriametrics(query):
    found = json.loads(asked("/api/v1/query", query=query, time=NOW, nocache=1))["data"]["result"]
    return {row["metric"]["gpu"]: float(row["value"][1]) for row in found}


def of_prometheus():
    """Return whether promtool agrees that each of them is 0 for every series."""
    series = [
        {"series": f'errors{{gpu="{name}"}}', "values": f"{f'_x{first - 1} ' if first else ''}{value}x{SAMPLES - first}"}
        for name, (value, first) in SERIES.items()
    ]
    zeros = [{"labels": f'{{gpu="{name}"}}', "value": 0} for name in SERIES]
    at = f"{(SAMPLES - 1) * EVERY}s"
    tests = [{"expr": query, "eval_time": at, "exp_samples": zeros} for query in ASKED]
    rows = [{"interval": f"{EVERY}s", "input_series": series, "promql_expr_test": tests}]
    with open(f"{folder}/tests.yml", "w") as file:
        json.dump({"evaluation_interval": "10s", "tests": rows}, file)
    command = (f"{folder}/root/usr/bin/promtool", "test", "rules", f"{folder}/tests.yml")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode == 0 or print(done.stdout, done.stderr)


for _ in range(200):
    try:
        asked("/health")
        break
    except OSError:
        time.sleep(0.1)
for name, (value, first) in SERIES.items():
    times = (NOW - EVERY * (SAMPLES - 1 - number) for number in range(first, SAMPLES))
    lines = (f'errors{{gpu="{name}"}} {value} {at * 1000}' for at in times)
    asked("/api/v1/import/prometheus", "\n".join(lines).encode())
asked("/internal/force_flush")
for _ in range(100):
    if len(of_victoriametrics("errors")) == len(SERIES):
        break
    time.sleep(0.1)
seen = {query: of_victoriametrics(query) for query in ASKED}
for query, values in seen.items():
    print(f"VictoriaMetrics, {query}: {values}")
same = of_prometheus()
print(f"promtool: 0 for all of them: {bool(same)}")
none = dict.fromkeys(SERIES, 0.0)
grown = none | {"old_3": 3.0, "first_error": 1.0}
changed = none | {"old_3": 1.0, "old_30": 1.0, "first_error": 1.0}
expected = dict(zip(ASKED, (grown, grown, changed, none, none), strict=True))
sys.exit(0 if same and seen == expected else "this has changed")
PYTHON
"${PYTHON:-python3}" "$folder/watch.py" $port "$folder"
