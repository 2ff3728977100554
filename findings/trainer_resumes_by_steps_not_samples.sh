#!/usr/bin/env bash
# transformers 5.24.0 with accelerate 1.15.0 on torch 2.13.0: a Trainer that is to train three epochs of 32
# samples, and is started again from the checkpoint in the middle of the second one, with as much hardware as
# before, with half, and with twice.
#
# Guess: it goes on with the samples that are left, since samples are what an epoch is made of; or it refuses,
# as the batch differs. Seen: only the number of updates is restored, without a warning. With half as many
# samples an update the epoch falls from 1.5 to 0.75 and half of what was trained is trained again. With a
# second process of the same batch size, three epochs are six updates, and six were made: it ends at once,
# with exit code 0, at epoch 1.5, its summary says a loss of 0, and to a scheduler the job is done. So an
# elastic job that comes back with more ranks may end well, trained by half, and one that comes back with
# fewer repeats data in order, which looks like a loss that got better. With the same hardware it is exact, to
# the sample.
#
# Installs them in a temporary folder (PYTHON: which interpreter, python3 by default; INDEX: where pip finds a
# build of torch for CPUs); two minutes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check ${INDEX:+--extra-index-url "$INDEX"} \
  torch==2.13.0 transformers==5.24.0 accelerate==1.15.0 numpy 2>/dev/null
cat >"$folder/train.py" <<'PYTHON'
import json
import os
import sys

import torch
from transformers import Trainer, TrainingArguments

folder, batch, resumed = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "resumed"
trained = []


class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return 32

    def __getitem__(self, number):
        return {"x": torch.tensor([float(number)]), "labels": torch.tensor([0.0])}


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(1, 1)

    def forward(self, x, labels):
        trained.extend(int(value) for value in x[:, 0])
        return {"loss": (self.linear(x) * 1e-3).square().mean()}


arguments = TrainingArguments(
    f"{folder}/run", use_cpu=True, per_device_train_batch_size=batch, num_train_epochs=3, save_steps=6,
    report_to=[], disable_tqdm=True, logging_steps=1000, seed=7, learning_rate=1e-6,
)
trainer = Trainer(Model(), arguments, train_dataset=Numbers())
trainer.train(resume_from_checkpoint=f"{folder}/start" if resumed else None)
if os.environ.get("RANK", "0") == "0":
    row = {"steps": trainer.state.global_step, "epoch": trainer.state.epoch, "trained": trained}
    with open(f"{folder}/result.json", "w") as file:
        json.dump(row, file)
PYTHON
cat >"$folder/watch.py" <<'PYTHON'
import json
import pathlib
import shutil
import subprocess
import sys

folder = pathlib.Path(sys.argv[1])
torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]


def run(how, batch, *, resumed, ranks=1):
    launcher = [sys.executable] if ranks == 1 else torchrun
    command = [*launcher, str(folder / "train.py"), str(folder), str(batch), "resumed" if resumed else "new"]
    code = subprocess.run(command, capture_output=True, check=False, timeout=300).returncode
    row = json.loads((folder / "result.json").read_text())
    print(f"{how}: exit code {code}, at update {row['steps']} and epoch {row['epoch']}; "
          f"trained {len(row['trained'])} samples on rank 0 in this life", flush=True)
    return code, row["steps"], row["epoch"], row["trained"]


whole = run("three epochs at once", 8, resumed=False)
shutil.copytree(folder / "run" / "checkpoint-6", folder / "start")
same_size = run("from update 6, the same", 8, resumed=True)
half = run("from update 6, four samples an update", 4, resumed=True)
twice = run("from update 6, two ranks", 8, resumed=True, ranks=2)
before = whole[3][:48]
print(f"of the 16 samples that were left in the second epoch, the same run trains first: {same_size[3][:16] == whole[3][48:64]}; "
      f"with half, the first {len(half[3]) - 48} are ones it had trained: {half[3][:24] == before[24:48]}")
same = (
    same_size[:3] == (0, 12, 3.0)
    and same_size[3] == whole[3][48:]
    and half[:3] == (0, 24, 3.0)
    and half[3] == whole[3][24:]
    and twice == (0, 6, 1.5, [])
)
sys.exit(0 if same else "this has changed")
PYTHON
"$folder/venv/bin/python" "$folder/watch.py" "$folder"
