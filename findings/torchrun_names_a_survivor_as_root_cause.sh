#!/usr/bin/env bash
# torch 2.13.0, torchrun over gloo: whom the table names as "Root Cause (first observed failure)" after
# a rank was killed.
#
# Guess: the rank that was killed, since its peers fail for its sake, and torchrun waits for nobody to
# say so. Seen: the earliest time wins, and times are of two kinds. A rank whose function is marked by
# `@record` writes down when it raised, cut to a whole second; one that is killed writes nothing and gets
# the second in which the launcher next looked. Where a second turns between the two, the killed rank is
# listed among "Failures" and a peer that lost its connection is the root cause, with exit code -15: the
# signal that torchrun itself sent it. With the default look every 0.1 s that is one death in several;
# with --monitor-interval 3 nearly each. The code tells: a SIGTERM in that table was sent after another
# had ended.
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
import sys
import time

import torch
import torch.distributed as dist
from torch.distributed.elastic.multiprocessing.errors import record

KILLED, WHEN = 2, float(sys.argv[1])


@record
def main():
    dist.init_process_group("gloo")
    begun = time.time()
    while time.time() < begun + 30:
        dist.all_reduce(torch.ones(1))
        time.sleep(0.002)
        if dist.get_rank() == KILLED and time.time() > begun + 1 and WHEN < time.time() % 1 < WHEN + 0.05:
            os.kill(os.getpid(), signal.SIGKILL)


main()
PYTHON
named() { # where in its second rank 2 is killed: print rank and exit code of the root cause
  "$folder/venv/bin/torchrun" --standalone --nproc-per-node 4 --log-dir "$folder/logs" \
    "$folder/ranks.py" "$1" >"$folder/out" 2>&1 || true
  sed -n '/Root Cause/,$p' "$folder/out" | sed -nE \
    's/^ +rank +: ([0-9]+) .*/\1/p; s/^ +exitcode +: (-?[0-9]+) .*/\1/p' | paste -sd' '
}
early=() late=()
for _ in 1 2 3; do
  early+=("$(named 0.3)")
  late+=("$(named 0.94)")
done
echo "rank 2 killed early in a second: root cause (rank, exit code): $(printf '%s; ' "${early[@]}")"
echo "rank 2 killed late in a second:  root cause (rank, exit code): $(printf '%s; ' "${late[@]}")"
for one in "${early[@]}"; do
  [ "$one" = "2 -9" ] || { echo "this has changed"; exit 1; }
done
printf '%s\n' "${late[@]}" | grep -qE '^[013] -15$' || { echo "this has changed"; exit 1; }
