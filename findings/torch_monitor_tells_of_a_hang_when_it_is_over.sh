#!/usr/bin/env bash
# torch 2.13.0, torch.monitor: a Stat of seconds a step with a window of two seconds, in a rank that hangs for six, and
# a handler that takes its events.
#
# Guess: each window makes an event when it is over, with its time, an empty one or none while nothing is
# added, so that a monitor sees from the silence, or from count 0, that the rank stands still; VALUE is the latest
# value. Seen: no clock of its own ends a window, only the next value that is added. The steps before the hang are told when
# the hang is over, in one event that bears the time of its end: to whoever reads the events those steps
# were made just then, and the rank seems to have fallen silent some steps before it did. get() shows the window before
# them as long. Where the rank is killed meanwhile, as a watchdog does with one that hangs, they are never told, and they
# are those that one wants to see. VALUE is accepted and in no event: with it alone each event is empty. Of more than
# max_samples in a window the first ones count, and a step of nine seconds that comes after them is not in the maximum.
#
# Installs torch in a temporary folder (PYTHON: which interpreter, python3 by default; INDEX: where
# pip finds a build for CPUs); a minute or two.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  --timeout 5 --retries 0 --extra-index-url "${INDEX:-https://download.pytorch.org/whl/cpu}" \
  torch==2.13.0 numpy 2>/dev/null
cat >"$folder/rank.py" <<'PYTHON'
import os
import signal
import sys
import time
from datetime import timedelta

from torch import monitor
from torch.monitor import Aggregation

WINDOW, HANG = 2.0, 6.0
events = []


def took(event):
    events.append((event.timestamp.timestamp(), dict(event.data)))
    print(f"  event: {event.data}", flush=True)


def begun():
    """Wait for the beginning of a window, which is a multiple of it since the epoch."""
    time.sleep(WINDOW - time.time() % WINDOW + 0.05)


handler = monitor.register_event_handler(took)
kinds = (Aggregation.COUNT, Aggregation.MAX, Aggregation.VALUE)
steps = monitor.Stat("seconds", kinds, timedelta(seconds=WINDOW))
begun()
for _ in range(4):
    steps.add(0.25)
    time.sleep(0.25)
last_step = time.time()
print("hangs", flush=True)
time.sleep(HANG)
during = len(events)
if sys.argv[1:] == ["killed"]:
    os.kill(os.getpid(), signal.SIGKILL)
steps.add(HANG)
before_the_hang = events[-1]
late = before_the_hang[0] - last_step
print(f"{during} events in the hang; that of the steps before it bears a time {late:.1f} s after them", flush=True)

capped = monitor.Stat("seconds", (Aggregation.COUNT, Aggregation.MAX), timedelta(seconds=WINDOW), 5)
alone = monitor.Stat("seconds", (Aggregation.VALUE,), timedelta(seconds=WINDOW))
begun()
for one in (0.2, 0.2, 0.2, 0.2, 0.2, 9.0, 0.2):
    capped.add(one)
first_five = events[-1][1]
alone.add(3.0)
begun()
events.clear()
alone.add(3.0)
empty = events[-1][1]
begun()
events.clear()
capped.add(0.1)
maxima = [data["seconds.max"] for _, data in events if "seconds.max" in data]
print(f"with max_samples of five: {first_five}, and of nine seconds nothing: {maxima}; VALUE alone: {empty}")
monitor.unregister_event_handler(handler)
same = (
    during == 0
    and before_the_hang[1] == {"seconds.count": 4.0, "seconds.max": 0.25}
    and late > HANG - 1
    and first_five == {"seconds.count": 5.0, "seconds.max": 0.2}
    and 9.0 not in maxima
    and empty == {}
)
sys.stdout.flush()
os._exit(0 if same else 1)
PYTHON
"$folder/venv/bin/python" "$folder/rank.py" || { echo "this has changed" >&2; exit 1; }
echo "and killed as it hangs:"
"$folder/venv/bin/python" "$folder/rank.py" killed >"$folder/told" 2>&1 || true
cat "$folder/told"
[ "$(grep -c event "$folder/told" || true)" = 0 ] || { echo "this has changed" >&2; exit 1; }
