#!/usr/bin/env bash
# transformers 5.24.0 with accelerate 1.15.0 on torch 2.13.0: a Trainer with enable_jit_checkpoint=True, for nodes
# that are taken away, gets the SIGTERM for which that is made: alone, and as two ranks over gloo of which the
# second gets it a quarter of a second later, as from another node.
#
# Guess: it saves and ends, with 143 or another code that says that it was ended; ranks agree on the step, as
# updates bind them. Seen: alone it saves, and train() returns as if all steps were made; what stands below it in
# the script (evaluation, the final save, the upload) runs on a model of a few steps, the exit code is 0, and a
# pod is "Succeeded", a job done. Of two ranks each has a timer of its own, three seconds from its own signal, and
# saves at the step at which that runs out, without asking the other: rank 0 leaves the loop to save while rank 1
# is in an all-reduce of the next step. Neither ends, and who started them kills them when the grace is over. What
# is left is a folder that holds "checkpoint-is-incomplete.txt" and no more; it is the newest one, and
# resume_from_checkpoint=True takes it, whatever that file says, and fails at each start, though an older one is
# whole.
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
import os
import pathlib
import sys
import time

import torch
from transformers import Trainer, TrainerCallback, TrainingArguments

folder = pathlib.Path(sys.argv[1])
resumed = sys.argv[2] == "resumed"


class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return 1_000_000

    def __getitem__(self, number):
        return {"x": torch.tensor([float(number % 7)]), "labels": torch.tensor([1.0])}


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(1, 1)

    def forward(self, x, labels):
        return {"loss": (self.linear(x) - labels).square().mean()}


class Steps(TrainerCallback):
    def on_step_end(self, args, state, control, **rest):
        time.sleep(0.02)
        if state.global_step == 60:
            (folder / f"up.{os.environ.get('RANK', '0')}").touch()


arguments = TrainingArguments(
    str(folder / "run"), use_cpu=True, max_steps=100_000, save_steps=50, report_to=[], disable_tqdm=True,
    logging_steps=100_000, enable_jit_checkpoint=True,
)
trainer = Trainer(Model(), arguments, train_dataset=Numbers(), callbacks=[Steps()])
trainer.train(resume_from_checkpoint=resumed)
print(f"after train(): step {trainer.state.global_step} of {arguments.max_steps}", flush=True)
PYTHON
cat >"$folder/watch.py" <<'PYTHON'
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import time

folder = pathlib.Path(sys.argv[1])


def run(place, ranks, *, resumed=False):
    """Exit codes of the ranks, None where one lives 20 s after it was told to end, and what they wrote."""
    place.mkdir(exist_ok=True)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    shared = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(ranks)} if ranks > 1 else {}
    started = []
    for rank in range(ranks):
        own = {**os.environ, **shared, "OMP_NUM_THREADS": "1"}
        if ranks > 1:
            own |= {"RANK": str(rank), "LOCAL_RANK": str(rank)}
        command = [sys.executable, str(folder / "train.py"), str(place), "resumed" if resumed else "new"]
        log = (place / f"log.{rank}").open("w")
        started.append(subprocess.Popen(command, env=own, stdout=log, stderr=log))
    try:
        if not resumed:
            until = time.monotonic() + 100
            while not all((place / f"up.{rank}").exists() for rank in range(ranks)) and time.monotonic() < until:
                time.sleep(0.1)
            for process in started:
                process.send_signal(signal.SIGTERM)
                time.sleep(0.25)
        until = time.monotonic() + (60 if resumed else 20)
        while any(process.poll() is None for process in started) and time.monotonic() < until:
            time.sleep(0.1)
        codes = [process.poll() for process in started]
    finally:
        for process in started:
            process.kill()
            process.wait()
    return codes, "".join((place / f"log.{rank}").read_text() for rank in range(ranks))


def newest(place):
    folders = sorted((place / "run").glob("checkpoint-*"), key=lambda one: int(one.name.rpartition("-")[2]))
    return folders[-1].name, sorted(file.name for file in folders[-1].iterdir()), [one.name for one in folders[:-1]]


alone = folder / "alone"
codes, text = run(alone, 1)
went_on = re.search(r"after train\(\): .*", text)
print(f"alone: exit code {codes[0]}; {went_on and went_on[0]}", flush=True)
same = codes == [0] and went_on is not None
two = folder / "two"
codes, text = run(two, 2)
name, files, older = newest(two)
print(f"two ranks, 20 s later: {['lives' if code is None else code for code in codes]}; {name} has {files}; "
      f"older: {older}", flush=True)
same = same and codes == [None, None] and older != []
codes, text = run(two, 1, resumed=True)
print(f"started again: exit code {codes[0]}: {text.strip().splitlines()[-1].replace(str(folder), '')}", flush=True)
same = same and codes == [1]
sys.exit(0 if same else "this has changed")
PYTHON
"$folder/venv/bin/python" "$folder/watch.py" "$folder"
