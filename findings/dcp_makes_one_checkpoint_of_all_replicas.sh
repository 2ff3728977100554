#!/usr/bin/env bash
# torch 2.13.0, three replicas under DDP over gloo, torch.distributed.checkpoint.save of the model, its optimizer
# and what each rank keeps for itself: the weights of rank 2 are no longer those of the others.
#
# Guess: of what is the same on all ranks rank 0's is written, so that the replica that went wrong is gone after a
# restart; what is no part of the model, such as the position in the data and the state of the random numbers,
# comes back to each rank as its own. Seen: a key that several ranks have is written by one of them, by whichever
# has the fewest bytes so far. So the checkpoint is made of all replicas: here two of eight tensors are rank 2's,
# momentum is taken from other ranks than its weight, and after the restart all ranks have that mixture, which is
# the state of none before, and agree, so that nothing that compares replicas sees it. A NaN or a flipped bit of
# one rank is in it or not by the sizes of the tensors. Of the ranks' own values one rank's is kept and all ranks
# get it: all draw the same random numbers and go on at the same place in the data. No warning, neither while it
# saves nor while it loads. A key with the rank's number in its name is kept for each.
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
import json
import sys

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import get_state_dict
from torch.nn.parallel import DistributedDataParallel

checkpoint, out = sys.argv[1:]
dist.init_process_group("gloo")
rank = dist.get_rank()


def state(seed):
    torch.manual_seed(seed)
    layers = [torch.nn.Linear(64, 64) for _ in range(4)]
    model = DistributedDataParallel(torch.nn.Sequential(*layers))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    model(torch.ones(2, 64)).sum().backward()
    optimizer.step()
    weights, momenta = get_state_dict(model, optimizer)
    return model, optimizer, {
        "model": weights,
        "optimizer": momenta,
        "own": {"batch": 100 + rank, "random": torch.tensor([1000 + rank])},
        f"own of rank {rank}": {"batch": 100 + rank},
    }


def owners(values, replicas):
    """The ranks that have this very tensor, for each key."""
    return {
        key: [owner for owner, one in enumerate(replicas) if torch.equal(one[key], value)]
        for key, value in values.items()
    }


model, optimizer, saved = state(seed=1)
with torch.no_grad():
    for value in [*model.parameters(), *(row["momentum_buffer"] for row in optimizer.state.values())]:
        value.add_(0.25 * (rank == 2))
replicas = [None] * 3
dist.all_gather_object(replicas, (saved["model"], {
    key: row["momentum_buffer"] for key, row in saved["optimizer"]["state"].items()
}))
dcp.save(saved, checkpoint_id=checkpoint)

loaded = state(seed=2)[2]
loaded["own"] = {"batch": 0, "random": torch.tensor([0])}
dcp.load(loaded, checkpoint_id=checkpoint)
row = {
    "weights": owners(loaded["model"], [weights for weights, _ in replicas]),
    "momenta": owners(
        {key: value["momentum_buffer"] for key, value in loaded["optimizer"]["state"].items()},
        [momenta for _, momenta in replicas],
    ),
    "own": [loaded["own"]["batch"], loaded["own"]["random"].item()],
    "named": loaded[f"own of rank {rank}"]["batch"],
}
rows = [None] * 3
dist.all_gather_object(rows, row)
if rank == 0:
    with open(out, "w") as file:
        json.dump(rows, file)
dist.destroy_process_group()
PYTHON
"$folder/venv/bin/torchrun" --standalone --nproc-per-node 3 "$folder/ranks.py" \
  "$folder/checkpoint" "$folder/rows.json" >"$folder/log" 2>&1 || { tail -20 "$folder/log"; exit 1; }
grep -i "warn" "$folder/log" || true
"$folder/venv/bin/python" - "$folder/rows.json" <<'PYTHON'
import json
import sys

with open(sys.argv[1]) as file:
    rows = json.load(file)
first = rows[0]
mixed = True
for what in ("weights", "momenta"):
    print(f"{what} after the restart, and whose they were:")
    for key, owners in first[what].items():
        print(f"  {key}: ranks {owners}")
    whose = [tuple(owners) for owners in first[what].values()]
    mixed = mixed and set(whose) == {(0, 1), (2,)}
same = all(row["weights"] == first["weights"] and row["momenta"] == first["momenta"] for row in rows)
print(f"all ranks have this: {same}")
for rank, row in enumerate(rows):
    print(f"rank {rank}: saved batch {100 + rank} and random {1000 + rank}, has batch {row['own'][0]} and random "
          f"{row['own'][1]}; under a name of its own: batch {row['named']}")
one = len({row["own"][0] for row in rows}) == 1 and len({row["own"][1] for row in rows}) == 1
named = all(row["named"] == 100 + rank for rank, row in enumerate(rows))
sys.exit(0 if mixed and same and one and named else "this has changed")
PYTHON
