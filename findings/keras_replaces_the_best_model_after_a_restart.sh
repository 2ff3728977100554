#!/usr/bin/env bash
# keras 3.15.1 on torch 2.13.0: fit() with BackupAndRestore, ModelCheckpoint(save_best_only=True) and
# EarlyStopping with a patience of three epochs; the process is killed after the fifth of eight epochs, and the
# same script started again.
#
# Guess: what BackupAndRestore goes on with is the state of the training, and that has the best value so far and
# how long ago it was, as a run at once has. Seen: weights, optimizer and the number of the epoch come back, what
# the other callbacks know does not: to them the first epoch after the restart is the best one ever, and its model
# is written over the best one, at each restart, though it is worse by half; the log says "improved from None".
# EarlyStopping waits its patience anew, so that a job which is started again more often than that never stops,
# and restore_best_weights brings back the best since the restart. The run at once stops after the sixth epoch
# with the model of the third; the other one has no copy of that anywhere.
#
# Installs both in a temporary folder (PYTHON: which interpreter, python3 by default; INDEX: where pip finds a
# build of torch for CPUs); a minute or two.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check ${INDEX:+--extra-index-url "$INDEX"} \
  torch==2.13.0 keras==3.15.1 numpy 2>/dev/null
cat >"$folder/train.py" <<'PYTHON'
import json
import os
import pathlib
import signal
import sys

os.environ["KERAS_BACKEND"] = "torch"
import keras
import numpy as np

place, killed = pathlib.Path(sys.argv[1]), int(sys.argv[2])
LOSSES = [5.0, 4.0, 1.0, 2.0, 1.6, 1.5, 1.7, 1.8]


class Validation(keras.callbacks.Callback):
    """A loss that is best in the third epoch."""

    def on_epoch_begin(self, epoch, logs=None):
        if epoch == killed:
            os.kill(os.getpid(), signal.SIGKILL)

    def on_epoch_end(self, epoch, logs=None):
        logs["val_loss"] = LOSSES[epoch]
        self.model.layers[0].bias.assign([float(epoch)])


keras.utils.set_random_seed(1)
model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
model.compile(keras.optimizers.SGD(0.0), "mse")
stops = keras.callbacks.EarlyStopping(patience=3, restore_best_weights=True)
history = model.fit(
    np.ones((8, 1)), np.ones((8, 1)), epochs=len(LOSSES), verbose=0, callbacks=[
        Validation(), stops, keras.callbacks.ModelCheckpoint(place / "best.keras", save_best_only=True),
        keras.callbacks.BackupAndRestore(place / "backup"),
    ],
)
best = keras.models.load_model(place / "best.keras").layers[0].bias
row = {
    "epochs": len(history.epoch) + history.epoch[0], "file": LOSSES[int(best[0])],
    "memory": LOSSES[int(model.layers[0].bias[0])],
}
(place / "row.json").write_text(json.dumps(row))
PYTHON
run() { # folder, the epoch before which it is killed
  mkdir -p "$folder/$1"
  "$folder/venv/bin/python" -W ignore "$folder/train.py" "$folder/$1" "$2" >"$folder/log" 2>&1 || true
}
run whole 99
run killed 5
run killed 99
"$folder/venv/bin/python" - "$folder" <<'PYTHON'
import json
import pathlib
import sys

whole, killed = (json.loads(pathlib.Path(sys.argv[1], one, "row.json").read_text()) for one in ("whole", "killed"))
for how, row in (("at once", whole), ("killed and started again", killed)):
    print(f"{how}: {row['epochs']} epochs; loss of the model in best.keras {row['file']}, "
          f"of the restored weights {row['memory']}")
same = whole == {"epochs": 6, "file": 1.0, "memory": 1.0} and killed == {"epochs": 8, "file": 1.5, "memory": 1.5}
if not same:
    print("this has changed")
sys.exit(0 if same else 1)
PYTHON
