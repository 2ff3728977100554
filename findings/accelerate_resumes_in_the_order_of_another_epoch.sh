#!/usr/bin/env bash
# accelerate 1.15.0 on torch 2.13.0, two ranks over gloo: save_state in the middle of the second epoch of
# shuffled data, and in new processes load_state and skip_first_batches, as its guide to checkpoints has it,
# with the seed as before.
#
# Guess: the two batches that were trained are skipped, and the rest of that epoch follows, since save_state
# keeps the random numbers and both lives have one seed. Seen: that is so in the first epoch alone. The order
# of an epoch is drawn by a generator of the sampler's, which load_state does not set back: the new processes
# draw first what was the order of the first epoch and skip two batches of that one. So samples of the second
# epoch are trained twice in it and others never, the next epoch has the order that the second one had, and so
# on, each one late, with no warning; loss and learning rate go on as if all were well.
# use_seedable_sampler=True, which is off by default, with set_epoch gives the samples that were left.
#
# Installs both in a temporary folder (PYTHON: which interpreter, python3 by default; INDEX: where pip finds a
# build of torch for CPUs); two minutes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check ${INDEX:+--extra-index-url "$INDEX"} \
  torch==2.13.0 accelerate==1.15.0 numpy 2>/dev/null
cat >"$folder/train.py" <<'PYTHON'
import json
import sys

import torch
from accelerate import Accelerator
from accelerate.utils import DataLoaderConfiguration, set_seed

folder, resumed = sys.argv[1], sys.argv[2] == "resumed"
seedable = sys.argv[3] == "seedable"
configuration = DataLoaderConfiguration(use_seedable_sampler=True) if seedable else None
accelerator = Accelerator(cpu=True, dataloader_config=configuration)
set_seed(7)
model = torch.nn.Linear(1, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
samples = torch.utils.data.TensorDataset(torch.arange(32))
loader = torch.utils.data.DataLoader(samples, batch_size=4, shuffle=True)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
if resumed:
    accelerator.load_state(f"{folder}/start")
orders = []
for epoch in (1, 2) if resumed else (0, 1, 2):
    batches = accelerator.skip_first_batches(loader, 2) if resumed and epoch == 1 else loader
    batches.set_epoch(epoch)
    order = []
    for done, (numbers,) in enumerate(batches, 1):
        accelerator.backward(model(numbers.float()[:, None]).sum())
        optimizer.step()
        optimizer.zero_grad()
        order += accelerator.gather(numbers).tolist()
        if not resumed and epoch == 1 and done == 2:
            accelerator.save_state(f"{folder}/start")
    orders.append(order)
if accelerator.is_main_process:
    with open(f"{folder}/result.json", "w") as file:
        json.dump(orders, file)
PYTHON
cat >"$folder/watch.py" <<'PYTHON'
import json
import pathlib
import subprocess
import sys

folder = pathlib.Path(sys.argv[1])
torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]


def run(place, *how):
    command = [*torchrun, str(folder / "train.py"), str(place), *how]
    subprocess.run(command, capture_output=True, check=True, timeout=300)
    return json.loads((place / "result.json").read_text())


same = True
for sampler in ("default", "seedable"):
    place = folder / sampler
    place.mkdir()
    first, second, third = run(place, "new", sampler)
    rest, after = run(place, "resumed", sampler)
    twice = sorted(set(second[:16]) & set(rest))
    never = sorted(set(range(32)) - set(second[:16]) - set(rest))
    print(f"{sampler} sampler: left of the second epoch {second[16:]}, trained {rest}\n"
          f"  twice in it: {twice}; never: {never}; they are the end of the first epoch: {rest == first[16:]}; "
          f"the next epoch has the order of the second: {after == second}, of the third: {after == third}", flush=True)
    if sampler == "default":
        same = same and rest == first[16:] != second[16:] and after == second and bool(twice) and bool(never)
    else:
        same = same and rest == second[16:] and after == third
sys.exit(0 if same else "this has changed")
PYTHON
"$folder/venv/bin/python" "$folder/watch.py" "$folder"
