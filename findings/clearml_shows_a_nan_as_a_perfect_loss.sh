#!/usr/bin/env bash
# clearml 2.1.12, offline: what is kept of a loss that goes to infinity and then is NaN.
#
# Guess: NaN, as a gap in the plot, or a string, as trackers that store JSON have it; at the least the value is left
# out. Seen: both are stored as 0.0, as scalar and as single value, and the curve goes on at 0: a loss that is as
# good as can be, from the step at which the run broke. The lowest loss of all runs is then that of the broken one, so that
# a search that takes the smallest picks it, and an alert on a large or a missing value sees nothing. A line of level
# INFO says so once in a process, of the first one. In a histogram and a plot NaN stays a word. Of three
# values of one step all are kept, in the order in which they were reported. set_reporting_nan_value and
# set_reporting_inf_value choose another number, and NaN is none of those that can be seen to be wrong: take one
# that a loss cannot be.
#
# Installs the package in a temporary folder (PYTHON: which interpreter, python3 by default); a minute or two.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check clearml==2.1.12 2>/dev/null
cat >"$folder/run.py" <<'PYTHON'
import json
import math
import os
import sys

from clearml import Logger, Task

Task.set_offline(True)
task = Task.init(
    "project", "run", auto_connect_frameworks=False, auto_connect_streams=False,
    auto_connect_arg_parser=False, auto_resource_monitoring=False,
)
LOSS = (2.5, 2.0, math.inf, math.nan, math.nan)
for step, loss in enumerate(LOSS):
    task.logger.report_scalar("loss", "rank 0", loss, step)
for loss in (7.0, 6.0, 8.0):
    task.logger.report_scalar("loss", "three ranks", loss, 0)
task.logger.report_single_value("final", math.nan)
Logger.set_reporting_nan_value(1e9)
task.logger.report_scalar("loss", "chosen", math.nan, 0)
task.flush(wait_for_uploads=True)
kept = {}
with open(f"{task.get_offline_mode_folder()}/metrics.jsonl") as file:
    for line in file:
        for row in json.loads(line):
            kept.setdefault(row["variant"], []).append(row["value"])
for name, values in kept.items():
    print(f"{name}: {values}")
print(f"reported: {LOSS}; the lowest that is kept: {min(kept['rank 0'])}", flush=True)
same = kept == {
    "rank 0": [2.5, 2.0, 0.0, 0.0, 0.0],
    "three ranks": [7.0, 6.0, 8.0],
    "final": [0.0],
    "chosen": [1e9],
}
# Ending in order would look for what the script imports, for minutes.
os._exit(0 if same else print("this has changed", file=sys.stderr) or 1)
PYTHON
CLEARML_CACHE_DIR="$folder/cache" "$folder/venv/bin/python" "$folder/run.py" 2>&1 | tee "$folder/told"
[ "$(grep -c "value encountered" "$folder/told")" = 2 ] || { echo "this has changed" >&2; exit 1; }
