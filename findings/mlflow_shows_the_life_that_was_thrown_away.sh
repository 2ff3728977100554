#!/usr/bin/env bash
# mlflow-skinny 3.17.2 with its store in SQLite: what a run's metric is after it went back to an earlier
# checkpoint, and after values that are not finite.
#
# Guess: the value of a metric is the one that was logged last. Seen: it is the one of the largest step. A run
# that had a loss of 130 at step 30 and goes on from step 10 in the same run shows 130 until step 30 is passed
# again, in the list of runs, to search_runs and to whatever asks for the latest value, while each new loss is
# good; only the history has it. Of one step and one millisecond it is the largest value, not the last, so
# that 3.0, 2.5 of two ranks is 3.0; NaN does not displace it, though a NaN of a later step is shown. Infinity
# is stored as 1.797e308, with its sign: a filter on it finds a number, and an average over runs is one that
# nobody computed. In the older store in files it stays infinite. NaN is in no comparison but !=, and last in
# both orders.
#
# Installs the packages in a temporary folder (PYTHON: which interpreter, python3 by default); a minute.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  mlflow-skinny==3.17.2 sqlalchemy==2.1.9 alembic==1.20.1 pandas==3.1.1 2>/dev/null
cd "$folder"
"$folder/venv/bin/python" - 2>/dev/null <<'PYTHON'
import math
import sys

from mlflow.tracking import MlflowClient

client = MlflowClient("sqlite:///runs.db")
experiment = client.create_experiment("finding")


def shown(rows):
    """Log rows of step, value and milliseconds to a new run; return what it shows after each."""
    run = client.create_run(experiment).info.run_id
    found = []
    for step, value, at in rows:
        client.log_metric(run, "loss", value, timestamp=at, step=step)
        found.append(client.get_run(run).data.metrics["loss"])
    return found


back = shown([(10, 110.0, 1), (20, 120.0, 2), (30, 130.0, 3), (11, 2.0, 4), (12, 1.9, 5), (30, 1.8, 6)])
low = [run.data.metrics["loss"] for run in client.search_runs([experiment], "metrics.loss < 100")]
odd = shown([(0, math.inf, 1), (1, -math.inf, 2), (2, math.nan, 3)])
ranks = shown([(0, 3.0, 1), (0, 2.5, 1), (0, math.nan, 1)])
print(f"110, 120, 130 at steps 10, 20, 30, then 2.0, 1.9 at 11, 12 and 1.8 at 30: shown {back}")
print(f"found as below 100 once step 30 was passed: {low}")
print(f"inf, -inf, nan: shown {odd}")
print(f"3.0, 2.5, nan of one step and millisecond: shown {ranks}")
order = [
    [run.data.metrics["loss"] for run in client.search_runs([experiment], order_by=[f"metrics.loss {way}"])]
    for way in ("ASC", "DESC")
]
print(f"in order: {order[0]}, {order[1]}")
same = (
    back == [110.0, 120.0, 130.0, 130.0, 130.0, 1.8]
    and odd[:2] == [sys.float_info.max, -sys.float_info.max]
    and math.isnan(odd[2])
    and ranks == [3.0, 3.0, 3.0]
    and all(math.isnan(values[-1]) for values in order)
)
sys.exit(0 if same else "this has changed")
PYTHON
