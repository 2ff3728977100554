#!/usr/bin/env bash
# lightning 2.6.6, accelerate 1.15.0 and transformers 5.24.0: the last update of an epoch whose batches
# are no multiple of the accumulation.
#
# Guess: the last update of five batches with accumulation over four, which is of one batch, has the
# gradient of that batch: same data, same weights, same norm. Seen: Lightning and Accelerate make that
# update, and divide its loss by four all the same: norm 44.7 and then 11.2, in every epoch again, with
# nothing wrong and nothing logged. The Trainer of transformers divides by what there is. So a gradient
# norm (and a loss that is summed as it enters the backward pass) dips once an epoch in two of the three,
# by as much as batches are missing, and rises again in the next step: no spike, no vanishing.
#
# Installs the three in a temporary folder (PYTHON: which interpreter, python3 by default; INDEX: where
# pip finds a build of torch for CPUs); two minutes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  --timeout 5 --retries 0 --extra-index-url "${INDEX:-https://download.pytorch.org/whl/cpu}" \
  torch==2.13.0 numpy 2>/dev/null
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  lightning==2.6.6 accelerate==1.15.0 transformers==5.24.0 2>/dev/null
cat >"$folder/norms.py" <<'PYTHON'
import sys

import torch
from accelerate import Accelerator
from lightning.pytorch import LightningModule, Trainer
from transformers import Trainer as HuggingFace
from transformers import TrainerCallback, TrainingArguments

BATCHES, OVER, EPOCHS = 5, 4, 2
ROWS = torch.ones(4 * BATCHES, 4)


def linear():
    model = torch.nn.Linear(4, 1)
    torch.nn.init.zeros_(model.weight)
    torch.nn.init.zeros_(model.bias)
    return model


def loss_of(model, rows):
    return (model(rows) - 10).square().mean()


def norm(model):
    return round(float(torch.cat([one.grad.flatten() for one in model.parameters()]).norm()), 1)


def with_lightning():
    norms = []

    class Module(LightningModule):
        def __init__(self):
            super().__init__()
            self.model = linear()

        def training_step(self, batch, _index):
            return loss_of(self.model, batch)

        def on_before_optimizer_step(self, _optimizer):
            norms.append(norm(self.model))

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.0)

    Trainer(
        accelerator="cpu", max_epochs=EPOCHS, accumulate_grad_batches=OVER, logger=False,
        enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
    ).fit(Module(), torch.utils.data.DataLoader(ROWS, batch_size=4))
    return norms


def with_accelerate():
    norms = []
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=OVER)
    model = linear()
    model, optimizer, loader = accelerator.prepare(
        model,
        torch.optim.SGD(model.parameters(), lr=0.0),
        torch.utils.data.DataLoader(ROWS, batch_size=4),
    )
    for _ in range(EPOCHS):
        for batch in loader:
            with accelerator.accumulate(model):
                accelerator.backward(loss_of(model, batch))
                if accelerator.sync_gradients:
                    norms.append(norm(model))
                optimizer.step()
                optimizer.zero_grad()
    return norms


def with_transformers():
    norms = []

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = linear()

        def forward(self, rows=None, labels=None):
            return {"loss": loss_of(self.model, rows)}

    class Norms(TrainerCallback):
        def on_pre_optimizer_step(self, args, state, control, model=None, **_):
            norms.append(norm(model))

    HuggingFace(
        model=Model(),
        args=TrainingArguments(
            sys.argv[1], per_device_train_batch_size=4, gradient_accumulation_steps=OVER,
            num_train_epochs=EPOCHS, learning_rate=0.0, max_grad_norm=0.0, report_to=[],
            use_cpu=True, save_strategy="no", disable_tqdm=True,
        ),
        train_dataset=[{"rows": row, "labels": 0.0} for row in ROWS],
        callbacks=[Norms()],
    ).train()
    return norms


seen = {each.__name__[5:]: each() for each in (with_lightning, with_accelerate, with_transformers)}
for name, norms in seen.items():
    print(f"FOUND {name:12} norms of the updates: {norms}")
small = [44.7, 11.2, 44.7, 11.2]
same = (
    seen["lightning"] == seen["accelerate"] == small
    and seen["transformers"] == [44.7, 44.7, 44.7, 44.7]
)
sys.exit(0 if same else "this has changed")
PYTHON
status=0
"$folder/venv/bin/python" "$folder/norms.py" "$folder/out" >"$folder/seen" 2>/dev/null || status=$?
sed -n 's/^FOUND //p' "$folder/seen"
exit "$status"
