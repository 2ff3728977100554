#!/usr/bin/env bash
# Prometheus 2.42.0 and Alertmanager 0.25.0 (Debian 12): Prometheus is stopped and started again in the same second,
# while alerts fire whose condition goes on being true: one without `for`, one with `for` of 5 minutes, one of 15.
#
# Guess: since the store has ALERTS_FOR_STATE, all fire on, or those wait anew whose `for` is long; keep_firing_for holds
# as well. Seen: it is the short ones. A `for` below --rules.alert.for-grace-period (10 minutes) is not restored
# at all: the alert waits its whole `for` again, while Alertmanager takes for ended what was not sent for 4 minutes
# (four times --rules.alert.resend-delay). So each alert with a `for` of 5 to 9 minutes is reported as resolved four minutes
# after a restart, while the device is as hot as before, and comes again soon after as a new one: who watches
# training is told that it is well and is paged a second time. The one of 15 minutes fires on, since it had
# fired before. What keep_firing_for held is forgotten. With --rules.alert.for-grace-period=1m all fire on that should.
#
# Unpacks Debian's packages in a temporary folder (apt-get, dpkg) and starts them on ports of 127.0.0.1; a minute is 4 s
# here, by those two settings, so that it takes two minutes.
set -euo pipefail
folder=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; wait 2>/dev/null; rm -rf "$folder"' EXIT
(
  cd "$folder"
  apt-get download -qq prometheus=2.42.0+ds-5+deb12u1 prometheus-alertmanager=0.25.0-1+b4 >/dev/null 2>&1
  for package in *.deb; do dpkg -x "$package" root; done
)
port=$((20000 + $$ % 10000))
cat >"$folder/rank.py" <<'PYTHON'
"""A page of a hot device, and what takes Alertmanager's word of it."""

import http.server
import json
import sys
import time

BEGAN = time.time()


class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self, body=b""):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.answer(b"hot 1\nflaps %d\n" % (time.time() - BEGAN < 20))

    def do_POST(self):
        content = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        for alert in content["alerts"]:
            labels = alert["labels"]
            words = labels["grace"], labels["alertname"], alert["status"]
            sys.stdout.write(f"{time.time()} {' '.join(words)}\n")
            sys.stdout.flush()
        self.answer()

    def log_message(self, *_):
        pass


http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
PYTHON
cat >"$folder/rules.yml" <<'YAML'
groups:
  - name: device
    rules:
      - {alert: at_once, expr: hot == 1}
      - {alert: five_minutes, expr: hot == 1, for: 20s}
      - {alert: fifteen_minutes, expr: hot == 1, for: 60s}
      - {alert: kept, expr: flaps == 1, keep_firing_for: 1h}
YAML
cat >"$folder/alertmanager.yml" <<YAML
route: {receiver: watcher, group_by: [...], group_wait: 0s, group_interval: 1s, repeat_interval: 1h}
receivers: [{name: watcher, webhook_configs: [{url: "http://127.0.0.1:$port/"}]}]
YAML
"${PYTHON:-python3}" "$folder/rank.py" $port >"$folder/told" &
"$folder/root/usr/bin/prometheus-alertmanager" --config.file="$folder/alertmanager.yml" \
  --storage.path="$folder/alertmanager" --web.listen-address=127.0.0.1:$((port + 1)) --cluster.listen-address= \
  >"$folder/log" 2>&1 &
started() { # whether the grace is the usual or a short one, its seconds, a port
  cat >"$folder/$1.yml" <<YAML
global: {scrape_interval: 1s, evaluation_interval: 1s, external_labels: {grace: $1}}
rule_files: ["$folder/rules.yml"]
alerting: {alertmanagers: [{static_configs: [{targets: ["127.0.0.1:$((port + 1))"]}]}]}
scrape_configs: [{job_name: node, static_configs: [{targets: ["127.0.0.1:$port"]}]}]
YAML
  "$folder/root/usr/bin/prometheus" --config.file="$folder/$1.yml" --storage.tsdb.path="$folder/$1" \
    --web.listen-address=127.0.0.1:"$3" --rules.alert.resend-delay=4s --rules.alert.for-grace-period="$2"s \
    >>"$folder/log" 2>&1 &
}
started usual 40 $((port + 2))
first=$!
started short 4 $((port + 3))
second=$!
sleep 72
restarted=$(date +%s.%N)
kill $first $second
wait $first $second || true
started usual 40 $((port + 2))
started short 4 $((port + 3))
sleep 52
"${PYTHON:-python3}" - "$folder/told" "$restarted" <<'PYTHON'
import pathlib
import sys

restarted = float(sys.argv[2])
seen, before = {}, set()
for line in pathlib.Path(sys.argv[1]).read_text().splitlines():
    at, *alert, status = line.split()
    if float(at) < restarted:
        before |= {tuple(alert)}
    else:
        seen.setdefault(tuple(alert), []).append((status, (float(at) - restarted) / 4))
for alert in sorted(before):
    later = ", ".join(f"{status} after {minutes:.1f}" for status, minutes in seen.get(alert, ()))
    print(f"{alert[0]} grace, {alert[1]}: fired; minutes after the restart: {later or 'fires on'}")
words = {alert: [status for status, _ in later] for alert, later in seen.items()}
expected = {
    ("usual", "five_minutes"): ["resolved", "firing"],
    ("usual", "kept"): ["resolved"],
    ("short", "kept"): ["resolved"],
}
sys.exit(0 if words == expected and len(before) == 8 else f"this has changed: {words}")
PYTHON
