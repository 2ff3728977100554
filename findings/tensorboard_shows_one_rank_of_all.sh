#!/usr/bin/env bash
# tensorboard 2.21.0 with tensorboard-data-server 0.7.2: which values of a scalar the server shows, in three
# folders as jobs leave them, written by the writer that torch's SummaryWriter has inside (and the same with torch 2.13.0).
#
# Guess: whatever was written, as a line that zigzags where ranks or lives overlap. Seen: with the data server, which is
# the default, a value whose step is not larger than the last one takes away all values of that tag from its step on,
# whoever wrote them. Of two ranks that write into one folder the one whose file sorts last is shown and the other
# is not there at all: rank 0 had NaN from step 5 on, the page shows ten sound values of rank 1. A validation loss of
# an earlier checkpoint that is computed later takes away those of all later checkpoints: of six one and
# the next are left. Of a run that went back to step 4 the life that was left has no steps from 4 on, so that the
# spike for which it was taken back is gone. Nothing says so. --load_fast=false shows all values of all three, and
# so does EventAccumulator in Python: two readers of the same files, and two answers.
#
# Installs both in a temporary folder (PYTHON: which interpreter, python3 by default); a minute.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  tensorboard==2.21.0 tensorboard-data-server==0.7.2 2>/dev/null
cat >"$folder/watch.py" <<'PYTHON'
import json
import math
import pathlib
import socket
import subprocess
import sys
import time
import urllib.parse
import urllib.request

from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.event_file_writer import EventFileWriter

folder = pathlib.Path(sys.argv[1])


def add(writer, loss, step):
    summary = Summary(value=[Summary.Value(tag="loss", simple_value=loss)])
    writer.add_event(Event(wall_time=time.time(), step=step, summary=summary))


def ranks():
    """Two ranks of one job, into one folder at the same time."""
    writers = [EventFileWriter(str(folder / "ranks"), filename_suffix=f".{rank}") for rank in (0, 1)]
    for step in range(10):
        add(writers[0], 1.0 if step < 5 else math.nan, step)
        add(writers[1], 2.0, step)
    for writer in writers:
        writer.close()


def checkpoints():
    """One evaluation after the other, of checkpoints in the order in which they came to be evaluated."""
    writer = EventFileWriter(str(folder / "checkpoints"))
    for step in (10, 20, 30, 15, 5, 40):
        add(writer, float(step), step)
    writer.close()


def back():
    """A run whose loss goes up from step 6 on, and that goes on from step 4."""
    for first, last, loss in ((0, 10, 1.0), (4, 8, 2.0)):
        writer = EventFileWriter(str(folder / "back"))
        for step in range(first, last):
            add(writer, 50.0 if loss == 1.0 and step > 5 else loss, step)
        writer.close()
        time.sleep(1.1)


def shown(fast):
    """Return steps and values of each run, as the page gets them."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "tensorboard.main", "--logdir", str(folder), "--host", "127.0.0.1",
               "--port", str(port), "--load_fast", fast]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    found = {}
    try:
        for _ in range(120):
            time.sleep(0.5)
            try:
                for run in ("ranks", "checkpoints", "back"):
                    query = urllib.parse.urlencode({"run": run, "tag": "loss"})
                    address = f"http://127.0.0.1:{port}/data/plugin/scalars/scalars?{query}"
                    with urllib.request.urlopen(address, timeout=5) as answer:
                        found[run] = [(step, value) for _, step, value in json.load(answer)]
                break
            except OSError:
                continue
    finally:
        server.terminate()
        server.wait()
    return found


ranks()
checkpoints()
back()
seen = {fast: shown(fast) for fast in ("true", "false")}
for fast, runs in seen.items():
    for run, values in runs.items():
        print(f"--load_fast={fast}: {run}: {' '.join(f'{step}:{value}' for step, value in values)}")
fast, whole = seen["true"], seen["false"]
same = (
    fast.get("ranks") == [(step, 2.0) for step in range(10)]
    and fast.get("checkpoints") == [(5, 5.0), (40, 40.0)]
    and fast.get("back") == [(step, 1.0 if step < 4 else 2.0) for step in range(8)]
    and {run: len(values) for run, values in whole.items()} == {"ranks": 20, "checkpoints": 6, "back": 14}
)
sys.exit(0 if same else "this has changed")
PYTHON
mkdir "$folder/logs"
"$folder/venv/bin/python" "$folder/watch.py" "$folder/logs"
