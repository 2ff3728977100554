#!/usr/bin/env bash
# ray 2.60.0, Ray Train (its second version, the default), two workers without accelerators: a step of 50 ms that
# ends with ray.train.report of a loss, as examples have it; and rank 1 is killed a second after all ranks have
# reported a checkpoint.
#
# Guess: report() of plain numbers hands them over and returns, at a few milliseconds a step; a restart goes on
# from the last checkpoint that all ranks reported. Seen: the first call returns at once, each later one when the
# controller has taken the one before, which looks every 2 s: a step of 50 ms takes 2 s, on all ranks alike, so
# that nobody is the slow one, and devices that would be busy are idle for 97 % of the time.
# RAY_TRAIN_HEALTH_CHECK_INTERVAL_S, whose name speaks of health, sets the pace: at 0.1 a step takes a fifth of a
# second or less. A checkpoint that was reported since the last look does not count: the restart goes on from the
# one before, though the last one lies in the folder, whole, and stays there for good, beyond num_to_keep. The
# numbers are nowhere afterwards: metrics of a result without a checkpoint are None.
#
# Installs Ray in a temporary folder (PYTHON: which interpreter, python3 by default), starts it for itself; two
# minutes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  "ray[train]==2.60.0" numpy 2>/dev/null
cat >"$folder/train.py" <<'PYTHON'
import json
import os
import pathlib
import signal
import sys
import tempfile
import time

import ray
import ray.train
from ray.train import Checkpoint, CheckpointConfig, FailureConfig, RunConfig, ScalingConfig
from ray.train.v2.api.data_parallel_trainer import DataParallelTrainer

folder = pathlib.Path(sys.argv[1])


def steps(config):
    rank = ray.train.get_context().get_world_rank()
    took, last = [], time.monotonic()
    for step in range(1, 7):
        time.sleep(0.05)
        ray.train.report({"loss": 1 / step})
        took.append(time.monotonic() - last)
        last = time.monotonic()
    pathlib.Path(config["folder"], f"took.{rank}").write_text(json.dumps(took))


def killed(config):
    place = pathlib.Path(config["folder"])
    rank = ray.train.get_context().get_world_rank()
    given = ray.train.get_checkpoint()
    if given:
        with given.as_directory() as saved:
            begun = int(pathlib.Path(saved, "step").read_text())
        (place / "begun").write_text(str(begun))
        return
    for step in (1, 2, 3):
        with tempfile.TemporaryDirectory() as saved:
            pathlib.Path(saved, "step").write_text(str(step))
            given = Checkpoint.from_directory(saved) if rank == 0 else None
            ray.train.report({"loss": 1 / step}, checkpoint=given)
        (place / f"reported.{rank}").write_text(str(step))
    while not all((place / f"reported.{one}").read_text() == "3" for one in (0, 1)):
        time.sleep(0.05)
    time.sleep(1)
    if rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(60)


def fit(name, function, interval):
    os.environ["RAY_TRAIN_HEALTH_CHECK_INTERVAL_S"] = interval
    trainer = DataParallelTrainer(
        function, train_loop_config={"folder": str(folder)}, scaling_config=ScalingConfig(num_workers=2),
        run_config=RunConfig(
            name=name, storage_path=str(folder), failure_config=FailureConfig(max_failures=1),
            checkpoint_config=CheckpointConfig(num_to_keep=1),
        ),
    )
    return trainer.fit()


ray.init(num_cpus=2, include_dashboard=False, logging_level="error", log_to_driver=False)
same = True
for interval in ("2", "0.1"):
    result = fit(f"every{interval}", steps, interval)
    took = [json.loads((folder / f"took.{rank}").read_text()) for rank in (0, 1)]
    usual = [sorted(one)[len(one) // 2] for one in took]
    print(f"controller looks every {interval} s: usual step of 50 ms takes {usual[0]:.2f} and {usual[1]:.2f} s on "
          f"ranks 0 and 1; metrics of the result: {result.metrics}", flush=True)
    same = same and result.metrics is None and (min(usual) > 1.8 if interval == "2" else max(usual) < 1)
fit("killed", killed, "2")
begun = int((folder / "begun").read_text())
left = sorted(int(one.read_text()) for one in (folder / "killed").glob("checkpoint_*/step"))
print(f"all ranks reported a checkpoint of step 3; begun again from step {begun}; "
      f"with num_to_keep=1 the folder has steps {left}")
same = same and begun == 2 and left == [2, 3]
if not same:
    print("this has changed")
ray.shutdown()
sys.exit(0 if same else 1)
PYTHON
export RAY_USAGE_STATS_ENABLED=0 OMP_NUM_THREADS=1
"$folder/venv/bin/python" -W ignore "$folder/train.py" "$folder" 2>"$folder/log" | grep -v raylet || {
  tail -5 "$folder/log"
  exit 1
}
