#!/usr/bin/env bash
# torch 2.13.0, two ranks over gloo, torch.distributed.checkpoint.async_save with AsyncCheckpointerType.PROCESS:
# rank 1's process that writes checkpoints beside the training is gone after the first save, as where the
# kernel's OOM killer took it.
#
# Guess: the next async_save of rank 1 raises, or starts that process again; rank 0's writes what is its
# own. Seen: every later async_save returns a future in no time, on both ranks, for as long as the job trains, and
# no save is ever made again: each future holds an error (BrokenPipeError on rank 1, a connection that was
# lost on rank 0), the folders are there and empty, and nothing starts the process anew, nor would it help on
# one rank alone. The rank that lost its process logs nothing. On the other one that process, not the
# trainer, writes "Checkpoint save failed for checkpoint_id=", and of a remote worker that crashed, while all
# ranks live. Who does not call result() on each future trains on for hours with one checkpoint.
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
cat >"$folder/ranks.py" <<'PYTHON'
import multiprocessing
import os
import pathlib
import sys
import time
from datetime import timedelta

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict_saver import AsyncCheckpointerType

LATER = 3


def main(out):
    dist.init_process_group("cpu:gloo", timeout=timedelta(seconds=60))
    rank = dist.get_rank()
    model = torch.nn.Linear(64, 64)

    def save(number):
        began = time.monotonic()
        future = dcp.async_save(
            {"model": model.state_dict(), f"own {rank}": torch.full((4,), float(rank))},
            checkpoint_id=str(out / f"save_{number}"),
            async_checkpointer_type=AsyncCheckpointerType.PROCESS,
        )
        return future, time.monotonic() - began

    save(0)[0].result(timeout=60)
    dist.barrier()
    if rank == 1:
        (writer,) = multiprocessing.active_children()
        writer.kill()
        writer.join()
    dist.barrier()
    told = []
    for number in range(1, LATER + 1):
        future, took = save(number)
        at_once = "at once" if took < 1 else "late"
        told.append(f"{at_once}, {type(future.exception(timeout=40)).__name__}")
    alive = len(multiprocessing.active_children())
    lines = "; ".join(sorted(set(told)))
    (out / f"rank_{rank}").write_text(f"{LATER} saves: {lines}; {alive} writing process(es)\n")
    dist.barrier()
    os._exit(0)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
PYTHON
mkdir "$folder/out"
OMP_NUM_THREADS=1 timeout --kill-after 5 120 "$folder/venv/bin/torchrun" --standalone --nproc-per-node 2 \
  "$folder/ranks.py" "$folder/out" >"$folder/log" 2>&1 || true
logged=$(grep -c 'Checkpoint save failed for checkpoint_id=' "$folder/log" || true)
seen=$(
  for rank in 0 1; do echo "rank $rank: $(cat "$folder/out/rank_$rank")"; done
  for save in "$folder"/out/save_*; do echo "$(basename "$save"): $(find "$save" -type f | wc -l) files"; done
  echo "lines that say so: $logged, of rank $(sed -n 's/^\[\([01]\)\].*Checkpoint save failed.*/\1/p' "$folder/log" | sort -u | paste -sd' ')"
)
echo "$seen"
expected='rank 0: 3 saves: at once, RuntimeError; 1 writing process(es)
rank 1: 3 saves: at once, BrokenPipeError; 0 writing process(es)
save_0: 3 files
save_1: 0 files
save_2: 0 files
save_3: 0 files
lines that say so: 3, of rank 0'
[ "$seen" = "$expected" ] || { echo "this has changed"; exit 1; }
