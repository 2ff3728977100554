#!/usr/bin/env bash
# torch 2.13.0, two ranks over gloo, sharded weights: torch.distributed.checkpoint.save twice into one folder, as
# a job does that keeps "latest", and rank 1 is killed in the second save before it wrote its part.
#
# Guess: .metadata is what makes a folder a checkpoint and is written last, so that a save that was cut short
# leaves none, and load refuses; or parts of both lives are kept until the second one is whole. Seen: the
# .metadata of the first save stays, the parts have the same names and sizes, and each is written over the old one
# in its place. load() takes the folder without a word: half of each weight is of update 2 and half of update 1,
# and the number of the update, which one rank writes for all, says one of the two. The loss after the restart is
# that of weights which never were. A warning that a checkpoint is overwritten comes with each such save, also
# where all goes well. In a folder of its own the half save has no .metadata, and is refused.
#
# Installs torch in a temporary folder (PYTHON: which interpreter, python3 by default; INDEX: where pip finds a
# build for CPUs); a minute or two.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check ${INDEX:+--extra-index-url "$INDEX"} \
  torch==2.13.0 numpy 2>/dev/null
cat >"$folder/ranks.py" <<'PYTHON'
import os
import signal
import sys
import time

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Shard, distribute_tensor

what, first, second = sys.argv[1:]
dist.init_process_group("gloo")
rank = dist.get_rank()
mesh = init_device_mesh("cpu", (2,))


class KilledWriter(dcp.FileSystemWriter):
    """As where the node of rank 1 goes down once the others have written."""

    def write_data(self, *arguments):
        if rank == 1:
            time.sleep(3)
            os.kill(os.getpid(), signal.SIGKILL)
        return super().write_data(*arguments)


def state(update):
    whole = torch.full((4096,), float(update))
    return {"weight": distribute_tensor(whole, mesh, [Shard(0)]), "update": torch.tensor(update)}


if what == "save":
    dcp.save(state(1), checkpoint_id=first)
    dcp.save(state(2), storage_writer=KilledWriter(second))
else:
    loaded = state(-1)
    dcp.load(loaded, checkpoint_id=second)
    halves = loaded["weight"].full_tensor().reshape(2, -1)
    if rank == 0:
        assert all((half == half[0]).all() for half in halves)
        updates = [int(half[0]) for half in halves]
        print(f"loaded: weight is of updates {updates}, update {loaded['update'].item()}", flush=True)
PYTHON
ranks() { "$folder/venv/bin/torchrun" --standalone --nproc-per-node 2 "$folder/ranks.py" "$@" 2>&1 || true; }
for second in step_2 latest; do
  rm -rf "$folder/latest"
  ranks save "$folder/latest" "$folder/$second" >"$folder/log"
  echo "killed in the save into $second, which has: $(find "$folder/$second" -type f -printf '%f ')"
done
ranks load "$folder/latest" "$folder/latest" >"$folder/log"
grep "^loaded" "$folder/log" || true
if ! grep -qE "^loaded: weight is of updates \[2, 1\], update [12]$" "$folder/log" ||
  [ -e "$folder/step_2/.metadata" ]; then
  echo "this has changed"
  exit 1
fi
