#!/usr/bin/env bash
# lightning 2.6.6 on torch 2.13.0: Trainer.fit gets a SIGTERM, as from Kubernetes when a node is drained or from a
# scheduler that takes the node back: alone, and as one of two ranks of DDP over gloo whose other rank gets none,
# as where one node of two is drained.
#
# Guess: the process ends with 143, the code of the signal, or with 1 as after Ctrl-C; of two ranks both end after
# the step, since the rank that was told tells the others. Seen: alone it leaves fit() by an exception of the kind
# of SystemExit without a code, so that the process ends with 0: a pod is "Succeeded", a job complete, and nobody
# starts it again, with an epoch that has a long way to go and no checkpoint, which it does not make by itself.
# Ctrl-C ends with 1. Of two ranks the one that was told waits in its own message to the other while that one
# waits for a gradient: both live on without a step until gloo's time-out of half an hour, and another SIGTERM
# does nothing.
#
# Installs both in a temporary folder (PYTHON: which interpreter, python3 by default; INDEX: where pip finds a
# build of torch for CPUs); two minutes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check ${INDEX:+--extra-index-url "$INDEX"} \
  torch==2.13.0 lightning==2.6.6 numpy 2>/dev/null
cat >"$folder/train.py" <<'PYTHON'
import pathlib
import sys
import time

import lightning
import torch

folder, ranks = pathlib.Path(sys.argv[1]), int(sys.argv[2])


class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(1, 1)

    def training_step(self, batch, number):
        time.sleep(0.02)
        (folder / f"step.{self.global_rank}").write_text(str(number))
        return self.linear(batch.float()[:, None]).mean()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=1e-6)


trainer = lightning.Trainer(
    accelerator="cpu", devices=ranks, strategy="ddp" if ranks > 1 else "auto", max_epochs=1, logger=False,
    enable_progress_bar=False, enable_model_summary=False, default_root_dir=folder,
)
trainer.fit(Model(), torch.utils.data.DataLoader(range(400_000), batch_size=4))
PYTHON
cat >"$folder/watch.py" <<'PYTHON'
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time

folder = pathlib.Path(sys.argv[1])


def steps(place, ranks):
    files = [place / f"step.{rank}" for rank in range(ranks)]
    return [int(file.read_text() or 0) if file.exists() else 0 for file in files]


def run(place, ranks, told, what):
    """Exit codes, None where a rank lives 15 s later, and the steps at 5 s and at 15 s."""
    place.mkdir()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    shared = {**os.environ, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "OMP_NUM_THREADS": "1"}
    started = []
    for rank in range(ranks):
        own = shared | ({"WORLD_SIZE": str(ranks), "RANK": str(rank), "LOCAL_RANK": str(rank),
                         "TORCHELASTIC_RUN_ID": "finding"} if ranks > 1 else {})
        command = [sys.executable, str(folder / "train.py"), str(place), str(ranks)]
        log = (place / f"log.{rank}").open("w")
        started.append(subprocess.Popen(command, env=own, stdout=log, stderr=log))
    try:
        until = time.monotonic() + 100
        while min(steps(place, ranks)) < 10 and time.monotonic() < until:
            time.sleep(0.1)
        started[told].send_signal(what)
        if ranks == 1:
            return [started[0].wait(timeout=60)], steps(place, 1), []
        time.sleep(5)
        early = steps(place, ranks)
        started[told].send_signal(what)
        time.sleep(10)
        return [process.poll() for process in started], early, steps(place, ranks)
    finally:
        for process in started:
            process.kill()
            process.wait()


ended, at, _ = run(folder / "alone", 1, 0, signal.SIGTERM)
saved = list((folder / "alone").rglob("*.ckpt"))
print(f"alone, SIGTERM: exit code {ended[0]} at batch {at[0]} of 100000; checkpoints: {saved}", flush=True)
interrupted, at, _ = run(folder / "interrupted", 1, 0, signal.SIGINT)
print(f"alone, SIGINT: exit code {interrupted[0]} at batch {at[0]} of 100000", flush=True)
same = ended == [0] and not saved and interrupted == [1]
codes, early, late = run(folder / "two", 2, 1, signal.SIGTERM)
print(f"two ranks, SIGTERM to rank 1: 15 s later {['lives' if code is None else code for code in codes]}; "
      f"batches after 5 s {early}, after 15 s {late}", flush=True)
same = same and codes == [None, None] and early == late
sys.exit(0 if same else "this has changed")
PYTHON
"$folder/venv/bin/python" "$folder/watch.py" "$folder"
