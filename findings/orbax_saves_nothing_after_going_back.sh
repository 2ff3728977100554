#!/usr/bin/env bash
# orbax-checkpoint 0.12.8 with jax 0.10.2, CheckpointManager: a run has checkpoints of steps 10, 20 and 30, its loss
# spikes, and it is started again from step 10 to train on, as one does after a spike.
#
# Guess: a step that is not there (15) is saved, and one that is (20) is written again or raises. Seen: save() returns
# False for both, and for every step up to 30, without a warning: what is not behind the latest step is
# not due. Where the job dies meanwhile, latest_step() of the next start is 30: it goes on with the weights that
# it had been taken back from. save(force=True) does save step 15, and latest_step() is 15 in that process and 30 in the
# next one; room for it is made by removing step 10, the one that was good, and 20 and 30 stay. Forced, step 20
# raises StepAlreadyExistsError. So after going back either the later steps are deleted first, or the run writes
# into another folder, or the returned value of each save is looked at.
#
# Installs both in a temporary folder (PYTHON: which interpreter, python3 by default); a minute.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  jax==0.10.2 jaxlib==0.10.2 orbax-checkpoint==0.12.8 2>/dev/null
cat >"$folder/run.py" <<'PYTHON'
import logging
import pathlib
import sys

import jax.numpy as jnp
import orbax.checkpoint as ocp

folder, life = pathlib.Path(sys.argv[1]), sys.argv[2]
warnings = []
logging.getLogger("absl").addFilter(lambda record: warnings.append(record.levelno) or True)
options = ocp.CheckpointManagerOptions(max_to_keep=3)
manager = ocp.CheckpointManager(folder, options=options)
print(f"{life}: starts at", manager.latest_step(), "of", sorted(manager.all_steps()))


def save(step, **how):
    warnings.clear()
    tree = {"step": jnp.array(step)}
    try:
        saved = manager.save(step, args=ocp.args.StandardSave(tree), **how)
        manager.wait_until_finished()
    except ValueError as error:
        saved = type(error).__name__
    loud = sum(level >= logging.WARNING for level in warnings)
    print(f"{life}: save({step}{', forced' if how else ''}) {saved}, {loud} warnings,",
          f"latest {manager.latest_step()} of {sorted(manager.all_steps())}")


if life == "before":
    for step in (10, 20, 30):
        save(step)
elif life == "back":
    manager.restore(10)
    for step in (15, 20, 25, 30):
        save(step)
elif life == "forced":
    manager.restore(10)
    save(15, force=True)
    save(20, force=True)
manager.close()
PYTHON
seen=$(
  for life in before back forced after; do
    JAX_PLATFORMS=cpu "$folder/venv/bin/python" "$folder/run.py" "$folder/saved" "$life" 2>"$folder/log" ||
      tail -n 3 "$folder/log"
  done
)
echo "$seen"
expected='before: starts at None of []
before: save(10) True, 0 warnings, latest 10 of [10]
before: save(20) True, 0 warnings, latest 20 of [10, 20]
before: save(30) True, 0 warnings, latest 30 of [10, 20, 30]
back: starts at 30 of [10, 20, 30]
back: save(15) False, 0 warnings, latest 30 of [10, 20, 30]
back: save(20) False, 0 warnings, latest 30 of [10, 20, 30]
back: save(25) False, 0 warnings, latest 30 of [10, 20, 30]
back: save(30) False, 0 warnings, latest 30 of [10, 20, 30]
forced: starts at 30 of [10, 20, 30]
forced: save(15, forced) True, 0 warnings, latest 15 of [15, 20, 30]
forced: save(20, forced) StepAlreadyExistsError, 0 warnings, latest 15 of [15, 20, 30]
after: starts at 30 of [15, 20, 30]'
[ "$seen" = "$expected" ] || { echo "this has changed"; exit 1; }
