#!/usr/bin/env bash
# accelerate 1.15.0 on torch 2.13.0: save_state with automatic_checkpoint_naming and total_limit=2, and load_state()
# without a folder after each of three restarts, every life in a process of its own.
#
# Guess: the number of the next checkpoint goes on where it was, the limit takes away the oldest, and load_state()
# takes the newest. Seen: load_state() puts back everything but that number, which begins at 0 in each life, while
# "oldest" and "newest" go by the number. So the first save after a restart removes the last but one checkpoint of
# the life before, each later save the one that this life just made, and the one with the highest number, of the
# first life, stays: every restart goes back to it, with no warning, and no life counts until one makes more
# checkpoints than the first did. Without a limit the first save after a restart raises ValueError, as its folder
# is there. Setting project_configuration.iteration to the number that follows helps.
# To who watches, each save succeeds and each restart falls back to the same step: lost work that grows with
# every life, on a job whose checkpoints are minutes old.
#
# Installs both in a temporary folder (PYTHON: which interpreter, python3 by default; INDEX: where pip finds a
# build of torch for CPUs); a minute or two.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check ${INDEX:+--extra-index-url "$INDEX"} \
  torch==2.13.0 accelerate==1.15.0 numpy 2>/dev/null
cat >"$folder/life.py" <<'PYTHON'
import json
import pathlib
import sys

import torch
from accelerate import Accelerator
from accelerate.utils import ProjectConfiguration

folder, limit, saves, resumed, mended = pathlib.Path(sys.argv[1]), *map(int, sys.argv[2:])
project = ProjectConfiguration(str(folder), automatic_checkpoint_naming=True, total_limit=limit or None)
checkpoints = folder / "checkpoints"
numbers = sorted(int(path.name.split("_")[1]) for path in checkpoints.glob("*"))
if mended and numbers:
    project.iteration = numbers[-1] + 1
accelerator = Accelerator(cpu=True, project_config=project)
model = torch.nn.Linear(1, 1, bias=False)
torch.nn.init.zeros_(model.weight)
model, optimizer = accelerator.prepare(model, torch.optim.SGD(model.parameters(), lr=1.0))
if resumed:
    accelerator.load_state()
row = {"from": model.weight.item(), "error": ""}
try:
    for _ in range(saves):  # the weight counts the updates
        accelerator.backward(-model(torch.ones(1, 1)).sum())
        optimizer.step()
        optimizer.zero_grad()
        accelerator.save_state()
except ValueError as error:
    row["error"] = type(error).__name__
row |= {"to": model.weight.item(), "left": sorted(path.name for path in checkpoints.glob("*"))}
print(json.dumps(row))
PYTHON
cat >"$folder/watch.py" <<'PYTHON'
import json
import pathlib
import subprocess
import sys

folder = pathlib.Path(sys.argv[1])


def lives(name, limit, saves, mended=0):
    rows = []
    for life, number in enumerate(saves):
        place = folder / name
        command = [sys.executable, str(folder / "life.py"), str(place), str(limit), str(number), str(int(life > 0)),
                   str(mended)]
        done = subprocess.run(command, capture_output=True, check=True, text=True, timeout=120)
        rows.append(row := json.loads(done.stdout.splitlines()[-1]))
        print(f"{name}, life {life}: from update {row['from']:.0f} to {row['to']:.0f}, then there are "
              f"{row['left']} {row['error']}", flush=True)
    return rows


limited = lives("limit of two", 2, (5, 3, 3, 3))
unlimited = lives("no limit", 0, (3, 1))
mended = lives("limit of two, number set", 2, (5, 3, 3), mended=1)
left = ["checkpoint_2", "checkpoint_4"]
same = all((row["from"], row["to"], row["left"]) == (5, 8, left) for row in limited[1:])
same = same and unlimited[1]["error"] == "ValueError" and [row["from"] for row in mended] == [0, 5, 8]
sys.exit(0 if same else "this has changed")
PYTHON
"$folder/venv/bin/python" "$folder/watch.py" "$folder"
