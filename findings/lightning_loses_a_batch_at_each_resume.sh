#!/usr/bin/env bash
# lightning 2.6.6 with torchdata 0.11.0 on torch 2.13.0: a stream of data that can be set back to where it was, in
# a StatefulDataLoader, with a ModelCheckpoint every three steps; started again from one of them.
#
# Guess: the Trainer saves the loader's state and gives it back, so that the resumed run goes on with the batch
# after the last one that was trained. Seen: that is so for data with a length. Without one the Trainer takes one
# batch ahead, to know which is the last, and saves the state of a loader that has handed out one batch more than
# was trained. That batch is never trained, at each restart one on each rank, without a warning, and the numbers
# of steps and batches go on as if it had been. Workers make no difference.
#
# Installs them in a temporary folder (PYTHON: which interpreter, python3 by default; INDEX: where pip finds a
# build of torch for CPUs); two minutes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check ${INDEX:+--extra-index-url "$INDEX"} \
  torch==2.13.0 lightning==2.6.6 torchdata==0.11.0 numpy 2>/dev/null
"$folder/venv/bin/python" - "$folder" <<'PYTHON'
import logging
import pathlib
import sys
import warnings

import lightning
import torch
from lightning.pytorch.callbacks import ModelCheckpoint
from torchdata.stateful_dataloader import StatefulDataLoader

FOLDER = pathlib.Path(sys.argv[1])
for name in ("lightning.pytorch", "lightning.fabric"):
    logging.getLogger(name).setLevel(logging.WARNING)
noted = []
warnings.showwarning = lambda message, *rest, **others: noted.append(str(message))


class Stream(torch.utils.data.IterableDataset):
    def __init__(self):
        self.next = 0

    def __iter__(self):
        while self.next < 28:
            self.next += 1
            yield self.next - 1
        self.next = 0

    def state_dict(self):
        return {"next": self.next}

    def load_state_dict(self, state):
        self.next = state["next"]


class Table(torch.utils.data.Dataset):
    def __len__(self):
        return 28

    def __getitem__(self, number):
        return number


class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(1, 1)
        self.trained = []

    def training_step(self, batch, number):
        self.trained.append((self.current_epoch, number, batch.tolist()))
        return self.linear(batch.float()[:, None]).mean()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=1e-6)


def train(data, workers, start=None):
    model = Model()
    place = FOLDER / f"{data.__name__}{workers}"
    saves = ModelCheckpoint(place, every_n_train_steps=3, save_top_k=-1, filename="{step}")
    trainer = lightning.Trainer(
        accelerator="cpu", devices=1, max_epochs=2, logger=False, enable_progress_bar=False,
        enable_model_summary=False, callbacks=[saves],
    )
    loader = StatefulDataLoader(data(), batch_size=4, num_workers=workers)
    trainer.fit(model, loader, ckpt_path=start and f"{saves.dirpath}/step={start}.ckpt", weights_only=False)
    return model.trained


same = True
for data, workers in ((Table, 0), (Stream, 0), (Stream, 1)):
    whole = train(data, workers)
    for start in (3, 6):
        resumed = train(data, workers, start)
        of_epoch = [batch for epoch, _, batch in whole[start:] if epoch == 0]
        left = [batch for epoch, _, batch in resumed if epoch == 0]
        lost = [batch for batch in of_epoch if batch not in left]
        later = sum(1 for row in resumed if row[0] == 1)
        print(f"{data.__name__}, {workers} workers, from step {start}: of {len(of_epoch)} batches left of the "
              f"epoch {len(left)} are trained, never {lost}; the next epoch has {later} of 7", flush=True)
        if data is Table:
            same = same and lost == [] and resumed == whole[start:]
        else:
            same = same and lost == of_epoch[:1] and (left == [] or resumed[0][1] == start)
print("warned of it:", [text for text in noted if "resum" in text or "mid-epoch" in text or "state" in text])
sys.exit(0 if same else "this has changed")
PYTHON
