#!/usr/bin/env bash
# wandb 0.31.0, offline, as on nodes without a way out: what of a run is in its file once the training process
# was ended.
#
# Guess: wandb-core is a process of its own, gets each value as it is logged and outlives a training process
# that is killed, so that all but perhaps the last value are in the file. Seen: it writes to the file every 15
# s, or where 32 KiB are full, and ends without writing when its client is gone. A run of ten seconds that is
# killed leaves 7 bytes, the head of the file, and no value at all; a longer one lacks up to 15 s, which are
# those before the death. SIGTERM, as from a scheduler at the time limit, and os._exit lose the same; an
# exception that ends Python loses nothing. So the steps in which the loss went up are missing in just those
# runs of which one wants to see them, and a file that ends early does not say when the run did.
#
# Installs the package in a temporary folder (PYTHON: which interpreter, python3 by default); a minute or two.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check wandb==0.31.0 2>/dev/null
cat >"$folder/train.py" <<'PYTHON'
import os
import signal
import sys
import time

import wandb

how, seconds = sys.argv[1], float(sys.argv[2])
settings = wandb.Settings(console="off", mode="offline", silent=True)
run = wandb.init(project="finding", dir=".", settings=settings)
ends, step = time.monotonic() + seconds, 0
while time.monotonic() < ends:
    run.log({"loss": 2.0 - step / 100}, step=step)
    step += 1
    time.sleep(0.1)
print(f"logged {step}", flush=True)
if how in ("SIGKILL", "SIGTERM"):
    os.kill(os.getpid(), getattr(signal, how))
if how == "_exit":
    os._exit(1)
raise ValueError("bad batch")
PYTHON
cat >"$folder/watch.py" <<'PYTHON'
import concurrent.futures
import pathlib
import struct
import subprocess
import sys
import time

from wandb.proto import wandb_internal_pb2

folder = pathlib.Path(sys.argv[1])
BLOCK = 32768


def records(data):
    """Yield the records of a file: a head of 7 bytes, blocks of 32 KiB, records in parts, as LevelDB's log has them."""
    at, parts = 7, b""
    while at + 7 <= len(data):
        left = BLOCK - at % BLOCK
        if left < 7:
            at += left
            continue
        _, length, kind = struct.unpack_from("<IHB", data, at)
        part = data[at + 7 : at + 7 + length]
        if len(part) < length:
            return
        at += 7 + length
        parts = part if kind in (1, 2) else parts + part
        if kind in (1, 4):
            yield parts


def left_by(case):
    """Return how many steps a run logged, the size of the file that it leaves, and how many steps are in it."""
    how, seconds = case
    place = folder / f"{how}_{seconds}"
    place.mkdir()
    command = [sys.executable, str(folder / "train.py"), how, str(seconds)]
    said = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False).stdout
    time.sleep(5)  # for what outlives it
    data = next(place.glob("wandb/offline-run-*/*.wandb")).read_bytes()
    kinds = [wandb_internal_pb2.Record.FromString(one).WhichOneof("record_type") for one in records(data)]
    return int(said.split("logged ")[1].split()[0]), len(data), kinds.count("history")


cases = [("SIGKILL", 6), ("SIGTERM", 6), ("_exit", 6), ("exception", 6), ("SIGKILL", 22)]
with concurrent.futures.ThreadPoolExecutor(len(cases)) as pool:
    runs = list(pool.map(left_by, cases))
for (how, seconds), (logged, size, kept) in zip(cases, runs):
    print(f"{logged} steps in {seconds} s, then {how}: a file of {size} bytes with {kept} steps")
killed, asked, ended, raised, longer = runs
same = (
    all(run[0] > 0 and run[1:] == (7, 0) for run in (killed, asked, ended))
    and raised[2] == raised[0]
    and 0 < longer[2] < longer[0]
)
sys.exit(0 if same else "this has changed")
PYTHON
"$folder/venv/bin/python" "$folder/watch.py" "$folder"
