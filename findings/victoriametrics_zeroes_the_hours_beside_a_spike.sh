#!/usr/bin/env bash
# VictoriaMetrics 1.79.5 (Debian 12): what is left of a gradient norm in which there was one huge value.
#
# Guess: a store of floats gives back what it took, to some fifteen digits. Seen: values of a series are kept
# in blocks with one exponent for all of them and eighteen digits, so that one value of 6.1e22 turns each value of
# around 1 in its block into 0. First that are those which came within the same seconds; what came before is still
# right. When parts are merged, as the store does on its own, hours of a series go into one block, up to 8,192
# values, and those become 0 too: a dashboard that showed the past rightly shows a flat zero the next day, before
# and after the spike, and an average over it as well. 1e17 and below leaves them alone, and so does +Inf, which
# has a mark of its own. NaN is acknowledged (204) and dropped, and a query answers with the value before it.
# Prometheus 2.42 gives all of these back as they were.
#
# Unpacks Debian's package in a temporary folder (apt-get, dpkg) and starts it on a port of 127.0.0.1; 30 s.
set -euo pipefail
folder=$(mktemp -d)
trap 'kill "$store" 2>/dev/null || true; wait 2>/dev/null; rm -rf "$folder"' EXIT
store=
(
  cd "$folder"
  apt-get download -qq victoria-metrics=1.79.5+ds1-2+b5 >/dev/null 2>&1
  dpkg -x victoria-metrics_*.deb root
)
port=$((20000 + $$ % 10000))
"$folder/root/usr/bin/victoria-metrics" -storageDataPath="$folder/data" -httpListenAddr=127.0.0.1:$port \
  -retentionPeriod=1y >"$folder/log" 2>&1 &
store=$!
cat >"$folder/watch.py" <<'PYTHON'
import json
import sys
import time
import urllib.parse
import urllib.request

base = f"http://127.0.0.1:{sys.argv[1]}"
BEGAN, HOUR = int(time.time()) - 7200, 360
SPIKES = {"norm_spike": "6.1e22", "norm_smaller": "6.1e16", "norm_infinite": "+Inf", "norm_nan": "NaN"}


def asked(path, body=None, **arguments):
    query = f"?{urllib.parse.urlencode(arguments)}" if arguments else ""
    with urllib.request.urlopen(f"{base}{path}{query}", body, timeout=30) as answer:
        return answer.status, answer.read()


def sent(name, values, first):
    lines = (f"{name} {value} {(BEGAN + 10 * (first + n)) * 1000}" for n, value in enumerate(values))
    status, _ = asked("/api/v1/import/prometheus", "\n".join(lines).encode())
    asked("/internal/force_flush")
    return status


def zeros(name, expected):
    """Return how many values there are, and how many of them are 0, once all have come."""
    for _ in range(100):
        _, answer = asked("/api/v1/query", query=f"{name}[3h]", time=BEGAN + 7200)
        values = [float(value) for row in json.loads(answer)["data"]["result"] for _, value in row["values"]]
        if len(values) >= expected:
            break
        time.sleep(0.1)
    return len(values), values.count(0)


for _ in range(200):
    try:
        asked("/health")
        break
    except OSError:
        time.sleep(0.1)
usual = [str(1.5 + n % 7 / 10) for n in range(HOUR)]
seen = {}
for name, spike in SPIKES.items():
    sent(name, usual, 0)
    zeros(name, HOUR)
    time.sleep(2)
    status = sent(name, [spike, *usual[:30]], HOUR)
    count = HOUR + 30 + (spike != "NaN")
    before = zeros(name, count)
    asked("/internal/force_merge")
    time.sleep(3)
    seen[name] = (status, *before, zeros(name, count)[1])
    print(f"an hour of 1.5 to 2.1, {spike}, five minutes more: answer {status}; {before[0]} values, of which "
          f"{before[1]} are 0 at first and {seen[name][3]} once merged", flush=True)
_, answer = asked("/api/v1/query", query="norm_nan", time=BEGAN + 10 * HOUR + 5)
last = json.loads(answer)["data"]["result"]
print(f"a query of the series with NaN, five seconds after it: {last[0]['value'][1] if last else 'nothing'}")
same = (
    seen["norm_spike"] == (204, 391, 30, 390)
    and seen["norm_smaller"] == (204, 391, 0, 0)
    and seen["norm_infinite"] == (204, 391, 0, 0)
    and seen["norm_nan"] == (204, 390, 0, 0)
)
sys.exit(0 if same else "this has changed")
PYTHON
"${PYTHON:-python3}" "$folder/watch.py" $port
