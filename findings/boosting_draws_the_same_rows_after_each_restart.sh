#!/usr/bin/env bash
# lightgbm 4.7.0 and xgboost 3.2.0: forty rounds that draw half of the rows and of the columns for each tree, at
# once, in four lives of ten, and in forty of one, each of which goes on with the model that the one before saved,
# as on machines that are taken away; and a learning rate that falls with the rounds.
#
# Guess: a life goes on with the draws where the last one ended, or draws others; what falls with the rounds goes
# on falling, as the model knows how many it has. Seen: each life draws what the first one drew. Tree 11 is of the
# rows and columns of tree 1, and so on; where every life is one round long half of the columns, and as many rows,
# are never looked at, and the error on new data is half as large again. With all rows and columns the lives add
# up to the very run at once, so that who tries it with these sees nothing. The learning rate begins anew too, in
# both. LightGBM prints the rounds of the whole model (11, 12 ..), XGBoost those of the life ([0], [1] ..), so
# that one's log cannot tell a restart from none, and the other's looks like a run begun from nothing but for the
# error, which goes on where it was. Another seed for each life helps with LightGBM; XGBoost's seed_per_iteration,
# by its name the remedy, does not. To who watches, a job that is often restarted flattens early at an error that
# is too high, while its curve is smooth.
#
# Installs both in a temporary folder (PYTHON: which interpreter, python3 by default); a minute or two.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  numpy==2.4.6 scipy==1.17.1 narwhals==2.29.0 2>/dev/null
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps \
  lightgbm==4.7.0 xgboost==3.2.0 2>/dev/null
cat >"$folder/lives.py" <<'PYTHON'
import contextlib
import io
import pathlib
import re
import sys

import lightgbm
import numpy
import xgboost

FOLDER = pathlib.Path(sys.argv[1])
ROUNDS, COLUMNS = 40, 10
random = numpy.random.default_rng(0)
rows = random.normal(size=(4000, COLUMNS))
target = rows @ numpy.linspace(1, 2, COLUMNS) + random.normal(scale=0.5, size=len(rows))
known, new = slice(2000), slice(2000, None)
DRAWN = {
    "lightgbm": {"bagging_fraction": 0.5, "bagging_freq": 1, "feature_fraction": 0.5},
    "xgboost": {"subsample": 0.5, "colsample_bytree": 0.5},
}


def boost_lightgbm(rounds, start, drawn, rate):
    settings = {"objective": "l2", "num_leaves": 8, "seed": 1, "num_threads": 1, "verbose": -1, **drawn}
    data = lightgbm.Dataset(rows[known], target[known])
    told = lightgbm.Dataset(rows[new], target[new], reference=data)
    calls = [lightgbm.log_evaluation(1), *([lightgbm.reset_parameter(learning_rate=rate)] if rate else [])]
    model = lightgbm.train(settings, data, rounds, valid_sets=[told], init_model=start, callbacks=calls)
    model.save_model(file := FOLDER / "model.txt")
    trees = [set(re.findall(r"'split_feature': (\d+)", str(tree))) for tree in model.dump_model()["tree_info"]]
    return file, trees, numpy.flatnonzero(model.feature_importance()).size, model.predict(rows[new])


def boost_xgboost(rounds, start, drawn, rate):
    settings = {"max_depth": 3, "seed": 1, "nthread": 1, "learning_rate": 0.1, **drawn}
    data = xgboost.DMatrix(rows[known], target[known])
    told = xgboost.DMatrix(rows[new], target[new])
    calls = [xgboost.callback.LearningRateScheduler(rate)] if rate else []
    model = xgboost.train(settings, data, rounds, evals=[(told, "new")], xgb_model=start, callbacks=calls)
    model.save_model(file := FOLDER / "model.json")
    trees = [set(re.findall(r"\[f(\d+)<", tree)) for tree in model.get_dump()]
    return file, trees, len(model.get_score()), model.predict(told)


def train(name, lives, drawn, falling=False):
    """Each tree's columns, columns used, error on new data, and of the last life the rates and printed rounds."""
    file = None
    for life in range(lives):
        rates = []

        def rate(number, rates=rates):
            rates.append(0.1 * 0.9**number)
            return rates[-1]

        own = {"seed": life + 1} if drawn.get("other seeds") else {}
        given = {key: value for key, value in (drawn | own).items() if key != "other seeds"}
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            boost = boost_lightgbm if name == "lightgbm" else boost_xgboost
            file, trees, used, predicted = boost(ROUNDS // lives, file, given, rate if falling else None)
    error = float(numpy.sqrt(numpy.mean((predicted - target[new]) ** 2)))
    numbers = [int(number) for number in re.findall(r"^\[(\d+)\]", printed.getvalue(), re.MULTILINE)]
    return trees, used, error, rates, numbers


same = True
for name, drawn in DRAWN.items():
    errors = {}
    for lives in (1, 4, ROUNDS):
        trees, used, errors[lives], _, numbers = train(name, lives, drawn)
        tenth = [len(set().union(*trees[number::10])) for number in range(10)]
        print(f"{name}, {lives} lives: columns used {used} of {COLUMNS}, error {errors[lives]:.2f}; columns of each "
              f"tenth tree {tenth}; the last life prints rounds {numbers[0]} to {numbers[-1]}", flush=True)
        same = same and used == (COLUMNS if lives < ROUNDS else COLUMNS // 2)
        same = same and (max(tenth) == COLUMNS // 2 if lives > 1 else min(tenth) > COLUMNS // 2)
        first = {"lightgbm": ROUNDS - ROUNDS // lives + 1, "xgboost": 0}[name]
        same = same and numbers[0] == first
    same = same and errors[ROUNDS] > 1.4 * errors[1]
    whole, parts = (train(name, lives, {})[2] for lives in (1, 4))
    _, _, _, rates, _ = train(name, 4, drawn, falling=True)
    remedy = {"lightgbm": "other seeds", "xgboost": "seed_per_iteration"}[name]
    _, used, error, _, _ = train(name, ROUNDS, drawn | {remedy: True})
    print(f"  nothing drawn: error at once {whole:.4f}, in four lives {parts:.4f}; falling rate in the fourth life: "
          f"{rates[0]:.3f} to {rates[-1]:.3f}; {remedy}, {ROUNDS} lives: columns used {used}, error {error:.2f}")
    same = same and abs(whole - parts) < 1e-3 and rates[0] == 0.1
    same = same and (error < 1.1 * errors[1]) == (name == "lightgbm")
sys.exit(0 if same else "this has changed")
PYTHON
"$folder/venv/bin/python" "$folder/lives.py" "$folder"
