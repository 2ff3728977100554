#!/usr/bin/env bash
# lightning 2.6.6 on torch 2.13.0: Trainer(max_time=..), as one gives it to end before the time limit of a batch job,
# with a checkpoint every few steps, in jobs of which each goes on from the last checkpoint of the one before.
#
# Guess: max_time is how long this call of fit() may take, as the limit of the batch job is, so that a job which
# is requeued trains as long as the first one did. Seen: the time that has passed is a part of the checkpoint, and
# is put back from it: the times of all lives are added up, each until its last checkpoint. The second job trains
# again what lay behind the checkpoint, and no more; the third ends before a step, or after a few. Each has exit
# code 0, status "finished", as after the last epoch, and writes "Time limit reached. Elapsed time is 0:00:03" of
# a life of half a second or none. After a kill the next job has what is left. Who gives the sum of all jobs goes
# on. To who watches, a chain of jobs completes in minutes, one after the other, each well, with as many steps as
# the first one had, and nothing says that training has stopped for good.
#
# Installs both in a temporary folder (PYTHON: which interpreter, python3 by default; INDEX: where pip finds a
# build of torch for CPUs); two minutes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check ${INDEX:+--extra-index-url "$INDEX"} \
  torch==2.13.0 lightning==2.6.6 numpy 2>/dev/null
cat >"$folder/job.py" <<'PYTHON'
import json
import logging
import os
import pathlib
import signal
import sys
import time
import warnings

import lightning
import torch
from lightning.pytorch.callbacks import ModelCheckpoint

folder, seconds, killed_at = pathlib.Path(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
warnings.simplefilter("ignore")
logs = logging.getLogger("lightning.pytorch")
logs.addHandler(logging.FileHandler(folder / "log"))


class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(1, 1)
        self.steps = 0

    def training_step(self, batch, number):
        time.sleep(0.1)
        self.steps += 1
        if self.steps == killed_at:
            os.kill(os.getpid(), signal.SIGKILL)
        return self.linear(batch).mean()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=1e-6)


model = Model()
trainer = lightning.Trainer(
    accelerator="cpu", devices=1, max_epochs=1000, max_time={"seconds": seconds}, logger=False,
    enable_progress_bar=False, enable_model_summary=False,
    callbacks=[ModelCheckpoint(folder, every_n_train_steps=5, filename="{step}", save_last=True)],
)
last = folder / "last.ckpt"
began = time.monotonic()
trainer.fit(
    model, torch.utils.data.DataLoader(torch.ones(5, 1)), ckpt_path=last if last.exists() else None,
    weights_only=False,
)
took = time.monotonic() - began
print(json.dumps({"steps": model.steps, "took": took, "at": trainer.global_step, "status": trainer.state.status}))
PYTHON
cat >"$folder/watch.py" <<'PYTHON'
import json
import pathlib
import subprocess
import sys

folder = pathlib.Path(sys.argv[1])


def start(place, seconds, killed_at=0):
    command = [sys.executable, str(folder / "job.py"), str(place), str(seconds), str(killed_at)]
    (place / "log").unlink(missing_ok=True)
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    row = json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else {}
    said = [line for line in (place / "log").read_text().splitlines() if "Time limit" in line]
    row = {"status": "killed", "steps": killed_at, "took": 0.0, "code": done.returncode, "said": said, **row}
    print(f"{place.name}, max_time {seconds} s: exit code {row['code']}, {row['status']}, {row['steps']} steps of "
          f"its own in {row['took']:.1f} s, {said}", flush=True)
    return row


requeued, killed = folder / "requeued", folder / "killed"
requeued.mkdir()
killed.mkdir()
first, second, third = (start(requeued, 3) for _ in range(3))
larger = start(requeued, 6)
lost = start(killed, 3, killed_at=22)
rest = start(killed, 3)
same = first["took"] > 2.5 and larger["took"] > 2
for again in (second, third):
    same = same and (again["code"], again["status"], again["took"] < 1.5) == (0, "finished", True)
    same = same and len(again["said"]) == 1 and "time is 0:00:00" not in again["said"][0]
same = same and third["steps"] <= 5 and lost["code"] == -9 and rest["took"] < 2
sys.exit(0 if same else "this has changed")
PYTHON
"$folder/venv/bin/python" "$folder/watch.py" "$folder"
