#!/usr/bin/env bash
# transformers 5.24.0 with accelerate 1.15.0 on torch 2.13.0: a Trainer that is started again from an earlier
# checkpoint with one argument changed, as one does after a loss that went up: a tenth of the learning rate,
# another weight decay, another beta, a lower bound of the gradient's norm, twice the epochs, another schedule.
#
# Guess: what is given holds from the first new update on; where it cannot, there is a warning, as there is where
# steps between saves or the batch differ. Seen: learning_rate, weight_decay and the betas do nothing, to the last
# bit of every loss: they lie in the optimizer's and the schedule's state and are restored from there, without a
# warning, while the arguments that are saved and sent to trackers show the new ones. What is not in that state
# holds: the bound of the norm, and the schedule's shape, which is computed anew over the old rate, from the
# second update on, so that twice the epochs raise the rate at once. Who goes back, lowers the rate and sees the
# same spike again blames the data.
#
# Installs them in a temporary folder (PYTHON: which interpreter, python3 by default; INDEX: where pip finds a
# build of torch for CPUs); two minutes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check ${INDEX:+--extra-index-url "$INDEX"} \
  torch==2.13.0 transformers==5.24.0 accelerate==1.15.0 numpy 2>/dev/null
"$folder/venv/bin/python" - "$folder" 2>"$folder/log" <<'PYTHON' || { tail -3 "$folder/log"; exit 1; }
import contextlib
import io
import logging
import sys
import warnings

import torch
import transformers
from transformers import Trainer, TrainingArguments

FOLDER = sys.argv[1]
noted = []
warnings.showwarning = lambda message, *rest, **others: noted.append(str(message))
handler = logging.Handler(logging.WARNING)
handler.emit = lambda record: noted.append(record.getMessage())
transformers.logging.add_handler(handler)


class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return 96

    def __getitem__(self, number):
        return {"x": torch.tensor([float(number % 7)]), "labels": torch.tensor([1.0])}


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(1, 1)

    def forward(self, x, labels):
        return {"loss": (self.linear(x) - labels).square().mean()}


def train(start=None, **changed):
    given = {
        "per_device_train_batch_size": 8, "num_train_epochs": 1, "learning_rate": 1e-2, "warmup_steps": 4, "seed": 7,
        "save_steps": 6, "logging_steps": 1, "use_cpu": True, "report_to": [], "disable_tqdm": True,
    }
    torch.manual_seed(0)
    folder = f"{FOLDER}/{'resumed' if start else 'first'}"
    trainer = Trainer(Model(), TrainingArguments(folder, **given | changed), train_dataset=Numbers())
    with contextlib.redirect_stdout(io.StringIO()):
        trainer.train(resume_from_checkpoint=start)
    rows = [row for row in trainer.state.log_history if "loss" in row and row["step"] > 6][:6]
    return [row["loss"] for row in rows], [row["learning_rate"] for row in rows]


train()
start = f"{FOLDER}/first/checkpoint-6"
before = train(start)
noted.clear()
print(f"as before: rates {[round(rate, 5) for rate in before[1]]}", flush=True)
same = True
for name, value, holds in (
    ("learning_rate", 1e-3, False), ("weight_decay", 5.0, False), ("adam_beta2", 0.9, False),
    ("max_grad_norm", 1e-9, True), ("num_train_epochs", 2, True), ("lr_scheduler_type", "constant", True),
):
    now = train(start, **{name: value})
    print(f"{name}={value}: losses {'the same' if now[0] == before[0] else 'others'}, "
          f"rates {[round(rate, 5) for rate in now[1]]}", flush=True)
    same = same and (now != before) == holds
train(start, save_steps=5)
print("warned of:", sorted({text.strip().splitlines()[0] for text in noted}))
same = same and not any(name in text for text in noted for name in ("learning_rate", "weight_decay", "adam_beta2"))
sys.exit(0 if same else 1)
PYTHON
