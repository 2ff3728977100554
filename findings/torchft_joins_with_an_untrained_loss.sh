#!/usr/bin/env bash
# torchft 0.2.0 on torch 2.13.0, two replica groups over gloo with the default asynchronous quorum: group 1
# ends after ten steps of its own and is started again while group 0 trains on.
#
# Guess: a group that joins gets the weights of the others before it computes anything, so that its first
# loss fits the step at which it joins; and the step in which a peer was lost is thrown away. Seen: the
# quorum and the copy of the weights run beside the forward pass, and the weights are put in before the
# update. So the first loss of a group that joins is that of its own first weights, here the very value with
# which its first life began, many steps and two orders of magnitude later: a spike that is none, since that
# gradient counts for nothing (num_participants is 1, participating_rank None). From its second step on
# it is level. A peer that is gone between two steps costs its group time, and no step: each is committed.
#
# Installs both in a temporary folder (PYTHON: which interpreter, python3 by default; INDEX: where pip
# finds a build of torch for CPUs); a minute.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  --timeout 5 --retries 0 --extra-index-url "${INDEX:-https://download.pytorch.org/whl/cpu}" \
  torch==2.13.0 numpy 2>/dev/null
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check torchft==0.2.0 2>/dev/null
cat >"$folder/group.py" <<'PYTHON'
import json
import os
import pathlib
import sys
import time
from datetime import timedelta

import torch
from torch.distributed import TCPStore
from torchft import DistributedDataParallel, Manager, Optimizer, ProcessGroupGloo

group, lighthouse, out, steps = int(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])
store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
torch.manual_seed(group)
model = torch.nn.Linear(4, 1)
plain = torch.optim.SGD(model.parameters(), lr=0.005)


def load(state):
    model.load_state_dict(state)


manager = Manager(
    pg=ProcessGroupGloo(timeout=timedelta(seconds=10)),
    load_state_dict=load,
    state_dict=model.state_dict,
    min_replica_size=1,
    replica_id=f"group{group}_",
    rank=0,
    world_size=1,
    lighthouse_addr=lighthouse,
    store_addr="127.0.0.1",
    store_port=store.port,
)
wrapped, optimizer = DistributedDataParallel(manager, model), Optimizer(manager, plain)
with open(out, "w") as rows:
    for own in range(1, steps + 1):
        optimizer.zero_grad()
        loss = (wrapped(torch.ones(2, 4)) - 5).square().mean()
        loss.backward()
        before = manager.current_step()
        optimizer.step()
        row = {
            "own": own,
            "step": before,
            "committed": manager.current_step() == before + 1,
            "counts": manager.participating_rank() is not None,
            "loss": float(loss.detach()),
        }
        rows.write(json.dumps(row) + "\n")
        rows.flush()
        if pathlib.Path(out).with_suffix(".stop").exists():
            break
        time.sleep(0.2)
os._exit(0)
PYTHON
cat >"$folder/watch.py" <<'PYTHON'
import json
import pathlib
import socket
import subprocess
import sys
import time

FOLDER = pathlib.Path(sys.argv[1])
LIFE, ALONE = 10, 3.0

with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    address = f"127.0.0.1:{free.getsockname()[1]}"
lighthouse = subprocess.Popen(
    [FOLDER / "venv/bin/torchft_lighthouse", "--min_replicas", "1", "--bind", address,
     "--join_timeout_ms", "1000"],
    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
)


def started(group, name, steps):
    command = [sys.executable, FOLDER / "group.py", group, f"http://{address}", FOLDER / name, steps]
    return subprocess.Popen(
        list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


def rows(name):
    path = FOLDER / name
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


stays = started(0, "stays", 400)
while len(rows("stays")) < 5:
    time.sleep(0.1)
started(1, "first", LIFE).wait()
time.sleep(ALONE)
started(1, "second", LIFE).wait()
(FOLDER / "stays.stop").touch()
stays.wait()
lighthouse.kill()
others, first, second = rows("stays"), rows("first"), rows("second")
begun, joined, after = first[0], second[0], second[1]
level = {row["step"]: row["loss"] for row in others}
print(f"group 1 began at step {begun['step']} with loss {begun['loss']:.3f}")
print(f"it joined again at step {joined['step']} with loss {joined['loss']:.3f}, "
      f"where group 0 had {level[joined['step']]:.2g}; does it count: {joined['counts']}")
print(f"at step {after['step']} it had {after['loss']:.2g}, group 0 {level[after['step']]:.2g}")
lost = sum(not row["committed"] for row in others)
print(f"steps of group 0 that were not committed: {lost} of {len(others)}")
same = (
    joined["loss"] == begun["loss"]
    and joined["loss"] > 5 * level[joined["step"]]
    and not joined["counts"]
    and after["counts"]
    and abs(after["loss"] - level[after["step"]]) <= max(1e-5, 0.01 * level[after["step"]])
    and lost == 0
)
sys.exit(0 if same else "this has changed")
PYTHON
"$folder/venv/bin/python" "$folder/watch.py" "$folder"
