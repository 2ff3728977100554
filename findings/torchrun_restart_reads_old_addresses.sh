#!/usr/bin/env bash
# torch 2.13.0, torchrun with --max-restarts: how many ranks of a gloo job come up after a restart.
#
# Guess: the launcher gives every attempt a store of its own, so that the second attempt of a job whose
# rank ended starts as the first did. Seen: on one node the store is the launcher's and stays, and since
# that version no key carries the attempt: ranks of the second attempt read where their predecessors
# listened. Some join nobody, some give up ("failed to connect" to ports that are gone, which costs one
# more restart), some wait in init_process_group for its whole time-out of 30 minutes; the job looks as
# if it started slowly. With TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1 all ranks are up again at once.
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
import pathlib
import sys
import time

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank, attempt = dist.get_rank(), os.environ["TORCHELASTIC_RESTART_COUNT"]
dist.all_reduce(torch.ones(1))
pathlib.Path(sys.argv[1], f"attempt_{attempt}_rank_{rank}").touch()
time.sleep(1)
sys.exit(1 if rank == 2 else 0)
PYTHON
for name in as_it_comes stores_apart; do
  mkdir "$folder/$name"
  share=0
  [ "$name" = stores_apart ] && share=1
  TORCH_DISABLE_SHARE_RDZV_TCP_STORE=$share timeout --kill-after 5 30 \
    "$folder/venv/bin/torchrun" --standalone --nproc-per-node 3 --max-restarts 1 \
    "$folder/ranks.py" "$folder/$name" >/dev/null 2>&1 || true
  pkill -9 -f "$folder/ranks.py" || true
  for attempt in 0 1; do
    up=$(find "$folder/$name" -name "attempt_${attempt}_*" | wc -l)
    echo "$name: attempt $attempt: $up of 3 ranks trained"
    echo "$up" >>"$folder/seen"
  done
done
[ "$(paste -sd' ' "$folder/seen" | sed 's/^3 [0-2] 3 3$/same/')" = same ] || { echo "this has changed"; exit 1; }
