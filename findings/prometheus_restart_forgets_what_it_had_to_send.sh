#!/usr/bin/env bash
# Prometheus 2.42.0 with remote write to VictoriaMetrics 1.79.5 (Debian 12): the receiver is away for half a minute, and
# one of two senders is started again meanwhile.
#
# Guess: what could not be sent waits in the write-ahead log, for two hours, and is sent when the receiver
# is back; that is on disk, and holds over a restart. Seen: that is so for the sender that runs on. The other one begins
# at the time of its own start: all that it scraped in the outage before that is never sent, though it has it and
# answers queries with it; its count of failed samples is 0, and the receiver sees a silence of every target at
# once, from the outage to the restart. Beside that it takes a minute to stop (--storage.remote.flush-deadline, 1 s
# here), for the sake of what it then drops, and scrapes nothing meanwhile. A rolling upgrade that takes receiver
# and senders one after the other makes such a hole each time: who watches training by remote write sees all
# hosts fall silent and come back, where none did.
#
# Unpacks Debian's packages in a temporary folder (apt-get, dpkg) and starts them on ports of 127.0.0.1; a minute.
set -euo pipefail
folder=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; wait 2>/dev/null; rm -rf "$folder"' EXIT
(
  cd "$folder"
  apt-get download -qq prometheus=2.42.0+ds-5+deb12u1 victoria-metrics=1.79.5+ds1-2+b5 >/dev/null 2>&1
  for package in *.deb; do dpkg -x "$package" root; done
)
port=$((20000 + $$ % 10000))
receiver() {
  "$folder/root/usr/bin/victoria-metrics" -storageDataPath="$folder/data" -httpListenAddr=127.0.0.1:$port \
    -search.latencyOffset=1s >>"$folder/log" 2>&1 &
  received=$!
}
sender() { # a name, a port; it scrapes itself
  cat >"$folder/$1.yml" <<YAML
global: {scrape_interval: 1s, external_labels: {sender: $1}}
scrape_configs: [{job_name: host, static_configs: [{targets: ["127.0.0.1:$2"]}]}]
remote_write:
  - url: http://127.0.0.1:$port/api/v1/write
    write_relabel_configs: [{source_labels: [__name__], regex: up, action: keep}]
YAML
  "$folder/root/usr/bin/prometheus" --config.file="$folder/$1.yml" --storage.tsdb.path="$folder/$1" \
    --web.listen-address=127.0.0.1:"$2" --storage.remote.flush-deadline=1s >>"$folder/log" 2>&1 &
}
receiver
sender runs_on $((port + 1))
sender restarted $((port + 2))
restarting=$!
sleep 15
kill $received
wait $received || true
sleep 15
kill $restarting
wait $restarting || true
sender restarted $((port + 2))
sleep 10
receiver
sleep 20
cat >"$folder/watch.py" <<'PYTHON'
import json
import sys
import time
import urllib.parse
import urllib.request

port, now = int(sys.argv[1]), time.time()


def asked(at, query):
    query = urllib.parse.urlencode({"query": query, "time": now, "nocache": 1})
    with urllib.request.urlopen(f"http://127.0.0.1:{at}/api/v1/query?{query}", timeout=30) as answer:
        return json.load(answer)["data"]["result"]


def longest(at, selector):
    """Return how many seconds at most lie between two samples."""
    (row,) = asked(at, f"{selector}[2m]")
    times = [float(at) for at, _ in row["values"]]
    return max(after - before for before, after in zip(times, times[1:]))


seen = {}
for number, name in enumerate(("runs_on", "restarted"), start=1):
    itself = longest(port + number, "up")
    sent = longest(port, f'up{{sender="{name}"}}')
    (failed,) = asked(port + number, "prometheus_remote_storage_samples_failed_total")
    failed = int(failed["value"][1])
    print(f"{name}: longest gap in its own store {itself:.0f} s, at the receiver {sent:.0f} s; {failed} samples failed")
    seen[name] = sent > itself + 10, failed
same = seen == {"runs_on": (False, 0), "restarted": (True, 0)}
sys.exit(0 if same else f"this has changed: {seen}")
PYTHON
"${PYTHON:-python3}" "$folder/watch.py" $port
