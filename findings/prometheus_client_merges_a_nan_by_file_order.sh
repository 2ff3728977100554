#!/usr/bin/env bash
# prometheus_client 0.26.0, multiprocess mode: three ranks of a job set a gauge of their loss, one of them to NaN.
#
# Guess: a NaN is seen in max and min, or in neither, whichever rank it is of. Seen: values are compared one
# file after the other, and no comparison with NaN holds: max and min are NaN where the file of the rank that
# failed comes first, else they are its peers' as if nothing were wrong. The order is the directory's, which nobody
# chooses, and max and livemax of the same values may differ in one scrape, as they have files of their own.
# sum is always NaN, mostrecent the last rank's. A histogram adds a NaN to its sum and to no bucket, not even
# +Inf, with one process too: its count is 2 after three observations, where a summary has 3. So an alert
# on the largest loss sees one rank's NaN or not by chance; only the mode all shows it.
#
# Installs the package in a temporary folder (PYTHON: which interpreter, python3 by default); 15 s.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check prometheus_client==0.26.0 2>/dev/null
mkdir "$folder/files"
cat >"$folder/rank.py" <<'PYTHON'
import sys

import prometheus_client

loss = float(sys.argv[1])
for mode in ("max", "min", "sum", "mostrecent"):
    prometheus_client.Gauge(f"loss_{mode}", "Loss.", multiprocess_mode=mode).set(loss)
PYTHON
for loss in 2.5 nan 2.0; do
  mkdir "$folder/files/$loss"
  PROMETHEUS_MULTIPROC_DIR=$folder/files/$loss "$folder/venv/bin/python" "$folder/rank.py" "$loss"
done
"$folder/venv/bin/python" - "$folder/files" <<'PYTHON'
import itertools
import math
import pathlib
import sys

import prometheus_client
from prometheus_client.multiprocess import MultiProcessCollector

changed = False
for order in itertools.permutations(("2.5", "nan", "2.0")):
    files = [str(file) for loss in order for file in pathlib.Path(sys.argv[1], loss).glob("*.db")]
    merged = MultiProcessCollector.merge(files)
    seen = {sample.name: sample.value for metric in merged for sample in metric.samples}
    print(f"files of {', '.join(order)}: {seen}")
    first = order[0] == "nan"
    changed |= not math.isnan(seen["loss_sum"]) or seen["loss_mostrecent"] != 2.0
    changed |= str(seen["loss_max"]) != ("nan" if first else "2.5")
    changed |= str(seen["loss_min"]) != ("nan" if first else "2.0")
histogram = prometheus_client.Histogram("histogram", "Loss.", buckets=(1, 5))
summary = prometheus_client.Summary("summary", "Loss.")
for loss in (2.5, math.nan, 2.0):
    histogram.observe(loss)
    summary.observe(loss)
page = dict(line.rsplit(" ", 1) for line in prometheus_client.generate_latest().decode().splitlines())
counts = [page[name] for name in ('histogram_bucket{le="+Inf"}', "histogram_count", "summary_count")]
print("after three observations +Inf, count, and the summary's count:", *counts)
if changed or counts != ["2.0", "2.0", "3.0"]:
    sys.exit("this has changed")
PYTHON
