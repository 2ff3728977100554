#!/usr/bin/env bash
# ray 2.60.0, ray.util.metrics on the page for Prometheus: four actors, as ranks, set a gauge of their loss and count
# their steps. Then rank 0 trains on, rank 1 waits, the loss of rank 2 is NaN, and rank 3 is killed and replaced.
#
# Guess: a gauge stands on the page with its latest value until its actor is gone, NaN as NaN; the series of an actor
# that is gone go with it, or within minutes. Seen: a gauge that is not set for some twenty seconds is taken off the
# page, though its actor lives, and comes back with the next value: a rank with long steps, in a validation, or one that
# hangs, is missing, count() of ranks falls, and a loss that is set once an epoch is there for half a minute of it.
# A gauge that is set to NaN is never shown, so that the rank which fails is silent while its peers go
# on, as one that hangs. Counters never go: those of the actor that was killed stay beside those of the one in its
# place, and a sum of steps, or a number of ranks by them, counts the dead. So gauges say that ranks
# are dead which live, and counters that those live which are dead.
#
# Installs ray in a temporary folder (PYTHON: which interpreter, python3 by default); two minutes or three.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check "ray[default]==2.60.0" 2>/dev/null
cat >"$folder/ranks.py" <<'PYTHON'
import math
import re
import sys
import time
import urllib.request

import ray
from ray.util.metrics import Counter, Gauge

PORT = int(sys.argv[1])
ROW = re.compile(r'^ray_(loss|steps_total){.*rank="(\d)".*} \S+$', re.MULTILINE)


@ray.remote(num_cpus=0)
class Rank:
    def __init__(self, rank):
        tags = {"tag_keys": ("rank",)}
        self.loss, self.steps = Gauge("loss", **tags), Counter("steps", **tags)
        for metric in (self.loss, self.steps):
            metric.set_default_tags({"rank": str(rank)})

    def train(self, seconds, loss):
        until = time.time() + seconds
        while time.time() < until:
            self.loss.set(loss)
            self.steps.inc()
            time.sleep(0.25)

    def alive(self):
        return True


def page():
    """Return the ranks whose loss and whose steps the page has, once for each series."""
    with urllib.request.urlopen(f"http://127.0.0.1:{PORT}/metrics", timeout=20) as answer:
        rows = ROW.findall(answer.read().decode())
    return [sorted(int(rank) for name, rank in rows if name == asked) for asked in ("loss", "steps_total")]


ray.init(num_cpus=2, include_dashboard=False, _metrics_export_port=PORT, log_to_driver=False)
ranks = [Rank.remote(rank) for rank in range(4)]
ray.get([one.train.remote(14, math.nan if rank == 2 else 2.0) for rank, one in enumerate(ranks)])
first = page()
print(f"all train, rank 2 with NaN: the page has the loss of {first[0]}, the steps of {first[1]}", flush=True)
ray.kill(ranks[3])
ranks[3] = Rank.remote(3)
ray.get([ranks[rank].train.remote(32, math.nan if rank == 2 else 2.0) for rank in (0, 2, 3)])
second = page()
print(
    f"half a minute later rank 1 waits, alive: {ray.get(ranks[1].alive.remote())}; rank 3 was killed and replaced: "
    f"the page has the loss of {second[0]}, the steps of {second[1]}"
)
same = (first, second) == ([[0, 1, 3], [0, 1, 2, 3]], [[0, 3], [0, 1, 2, 3, 3]])
sys.stdout.flush()
ray.shutdown()
sys.exit(0 if same else "this has changed")
PYTHON
RAY_ADDRESS="" HOME=$folder "$folder/venv/bin/python" "$folder/ranks.py" $((20000 + $$ % 10000)) 2>"$folder/log" || {
  tail -n 3 "$folder/log" >&2
  exit 1
}
