#!/usr/bin/env bash
# torch 2.13.0, torchrun over gloo: whom the table names as "Root Cause (first observed failure)" after
# a rank was killed.
#
# Guess: the rank that was killed, since its peers fail for its sake, and torchrun waits for nobody to
# say so. Seen: the earliest time wins, and times are of two kinds. A rank whose function is marked by
# `@record` writes down when it raised, cut to a whole second; one that is killed writes nothing and gets
# the second in which the launcher next looked. Where a second turns between the two, the killed rank is
# listed among "Failures" and a peer that lost its connection is the root cause: with the default look
# every 0.1 s now and then, most often with the exit code -15 of the signal that torchrun sent it; with
# --monitor-interval 3 each time. The code tells: a SIGTERM in that table was sent after another had
# ended, and a signal that nobody sends in order goes before an exception about a peer.
#
# Installs torch in a temporary folder (PYTHON: which interpreter, python3 by default; INDEX: where
# pip finds a build for CPUs); two minutes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  --timeout 5 --retries 0 --extra-index-url "${INDEX:-https://download.pytorch.org/whl/cpu}" \
  torch==2.13.0 numpy 2>/dev/null
cat >"$folder/ranks.py" <<'PYTHON'
import os
import signal
import time

import torch
import torch.distributed as dist
from torch.distributed.elastic.multiprocessing.errors import record

KILLED = 2


@record
def main():
    dist.init_process_group("gloo")
    begun = time.time()
    while time.time() < begun + 30:
        dist.all_reduce(torch.ones(1))
        time.sleep(0.002)
        if dist.get_rank() == KILLED and time.time() > begun + 1 and 0.2 < time.time() % 1 < 0.3:
            os.kill(os.getpid(), signal.SIGKILL)


main()
PYTHON
named() { # between two looks at the ranks, in seconds: print rank and exit code of the root cause
  "$folder/venv/bin/torchrun" --standalone --nproc-per-node 4 --log-dir "$folder/logs" \
    --monitor-interval "$1" "$folder/ranks.py" >"$folder/out" 2>&1 || true
  sed -n '/Root Cause/,$p' "$folder/out" | sed -nE \
    's/^ +rank +: ([0-9]+) .*/\1/p; s/^ +exitcode +: (-?[0-9]+) .*/\1/p' | paste -sd' '
}
for interval in 0.1 3; do
  for _ in 1 2; do
    root=$(named "$interval")
    echo "rank 2 is killed, a look every $interval s: root cause: rank and exit code $root"
    echo "$interval $root" >>"$folder/seen"
  done
done
# How long a look and an exception take depends on the machine: one of two is enough.
if ! grep -q '^0.1 2 -9$' "$folder/seen" || ! grep -qE '^3 [013] ' "$folder/seen"; then
  echo "this has changed"
  exit 1
fi
