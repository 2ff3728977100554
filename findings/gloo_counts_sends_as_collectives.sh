#!/usr/bin/env bash
# torch 2.13.0, torch.distributed over gloo: what the flight recorder says of three healthy ranks.
#
# Guess: "last_enqueued_collective" counts the collectives of a group, so that it is the same on all
# ranks of a job that is well, and a lower number is the rank that is behind; "pg_config" names each
# group with its members. Seen: sends and receives count too, and so do the messages that
# monitored_barrier sends inside, for which the recorder has no entry: after the same two all-reduces,
# ranks 0, 1 and 2 stand at 11, 9 and 4, and the difference never closes. Both groups are written under
# the name "", so that the one made last hides the other: a rank outside it sees its own list of
# members, a rank inside it an empty one.
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
import json
import pickle
import sys

import torch
import torch.distributed as dist

SENDS = 5


def main():
    dist.init_process_group("gloo")
    rank, values = dist.get_rank(), torch.ones(2)
    dist.all_reduce(values)
    for _ in range(SENDS):
        if rank == 0:
            dist.send(values, 1)
        elif rank == 1:
            dist.recv(values, 0)
    dist.monitored_barrier()
    dist.new_group([0, 1])
    dist.all_reduce(values)
    dump = pickle.loads(torch._C._distributed_c10d._dump_fr_trace())
    (status,) = dump["pg_status"].values()
    seen = {
        "rank": rank,
        "last": status["last_enqueued_collective"],
        "entries": len(dump["entries"]),
        "groups": {name: group["ranks"] for name, group in dump["pg_config"].items()},
    }
    with open(sys.argv[1] + str(rank), "w") as out:
        json.dump(seen, out)
    dist.barrier()
    dist.destroy_process_group()


main()
PYTHON
TORCH_FR_BUFFER_SIZE=100 "$folder/venv/bin/torchrun" --standalone --nproc-per-node 3 \
  "$folder/ranks.py" "$folder/rank_" 2>/dev/null
"$folder/venv/bin/python" - "$folder" <<'PYTHON'
import json
import pathlib
import sys

rows = [json.loads((pathlib.Path(sys.argv[1]) / f"rank_{rank}").read_text()) for rank in range(3)]
for row in rows:
    print("rank {rank}: last collective {last}, {entries} entries, groups {groups}".format(**row))
same = (
    [row["last"] for row in rows] == [11, 9, 4]
    and all(row["entries"] == 2 for row in rows)
    and [row["groups"] for row in rows] == [{"": "[]"}, {"": "[]"}, {"": "[0, 1, 2]"}]
)
sys.exit(0 if same else "this has changed")
PYTHON
