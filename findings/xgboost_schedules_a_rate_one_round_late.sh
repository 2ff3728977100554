#!/usr/bin/env bash
# xgboost 3.2.0, LearningRateScheduler: a warm-up from 0, a constant rate, and rounds that are done in four lives,
# each of which goes on with the model that the one before saved.
#
# Guess: the rate of round k is what the schedule gives for k, in each life from its first round on. Seen: it is
# asked after a round and sets the rate of the next one. The first round of each life has the rate of the
# settings, which who hands over a schedule does not give, so 0.3: a warm-up that begins at 0 begins with the
# largest step of all, the rate that it ends with is never used, and a list of rates is one round late throughout.
# A saved model does not keep a rate, so with a constant 0.01 each restart trains one tree at thirty times the
# rate, so that the error falls by a jump there, and of a run in one-round lives no round has the rate that was
# asked for. Setting learning_rate to what the schedule gives first, at each start, mends it. To who watches, the
# error jumps at each restart though the data, the seed and the schedule are the same, and a run that was
# restarted more often looks better trained.
#
# Installs it in a temporary folder (PYTHON: which interpreter, python3 by default); a minute.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check numpy==2.4.6 scipy==1.17.1 2>/dev/null
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps xgboost==3.2.0 2>/dev/null
cat >"$folder/rates.py" <<'PYTHON'
import sys

import numpy
import xgboost

FOLDER = sys.argv[1]
random = numpy.random.default_rng(0)
rows = random.normal(size=(2000, 10))
data = xgboost.DMatrix(rows, rows @ numpy.linspace(1, 2, 10))


def train(rates, rounds, start=None, given=None):
    """The model, and the error on the training data after each round of this life."""
    settings = {"max_depth": 1, "nthread": 1, "base_score": 0.0}
    settings |= {} if given is None else {"learning_rate": given}
    calls = [xgboost.callback.LearningRateScheduler(rates)] if rates else []
    errors = {}
    model = xgboost.train(
        settings, data, rounds, evals=[(data, "all")], evals_result=errors, verbose_eval=False, callbacks=calls,
        xgb_model=start,
    )
    return model, errors["all"]["rmse"]


def rates_used(model, full):
    """The rate of each round, where it is a part of the leaf that a rate of 1 gives from the same start."""
    used = []
    for number in range(model.num_boosted_rounds()):
        leaf = model.predict(data, iteration_range=(number, number + 1))
        before = model[:number] if number else None
        whole = train(None, 1, before, given=1.0)[0] if full else None
        one = whole.predict(data, iteration_range=(number, number + 1))
        used.append(round(float(numpy.abs(leaf).mean() / numpy.abs(one).mean()), 4))
    return used


same = True
warm_up = [0.0, 0.05, 0.1, 0.2]
for given in (None, warm_up[0]):
    used = rates_used(train(warm_up, 4, given=given)[0], full=True)
    print(f"asked for {warm_up}, learning_rate {given}: used {used}")
    first = 0.3 if given is None else given
    same = same and numpy.allclose(used, [first, *warm_up[:-1]], atol=1e-3)

constant = {}
for lives in (1, 4):
    for given in (None, 0.01):
        model, fell = None, []
        for _ in range(lives):
            model, errors = train(lambda number: 0.01, 12 // lives, model, given)
            fell += errors
            model.save_model(file := f"{FOLDER}/model.json")
            model = file
        constant[lives, given] = fell[-1]
        drops = [round(before - after, 3) for before, after in zip(fell, fell[1:], strict=False)]
        print(f"constant 0.01, 12 rounds in {lives} lives, learning_rate {given}: error falls by {drops} "
              f"to {fell[-1]:.3f}")
        if given is None and lives == 4:
            same = same and all(drops[number] > 5 * drops[number - 1] for number in (2, 5, 8))
same = same and abs(constant[1, 0.01] - constant[4, 0.01]) < 1e-3 and constant[4, None] < constant[1, None] - 0.2
sys.exit(0 if same else "this has changed")
PYTHON
"$folder/venv/bin/python" "$folder/rates.py" "$folder"
