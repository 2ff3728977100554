#!/usr/bin/env bash
# ray 2.60.0: what of the lines of four actors reaches the driver's log, with default settings.
#
# Guess: lines that are the same word for word are merged ("[repeated 3x across cluster]"), so that a
# rank whose value differs from its peers' is still printed. Seen: lines are the same where only their
# numbers differ. Of 120 lines of four ranks in 30 steps the driver prints one in five seconds, of
# whichever rank spoke last: a gradient norm that is 60,000 times its peers' from step 10 on, on one
# rank, is printed in no line, and neither are the last steps of most ranks. A value that is a word
# (nan) makes a line of its own, which is printed at once, before the merged lines of earlier steps.
# So in such a log a rank that is not seen has not fallen silent, and its last step is not its last.
#
# Installs ray in a temporary folder (PYTHON: which interpreter, python3 by default); two minutes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check ray==2.60.0 2>/dev/null
cat >"$folder/ranks.py" <<'PYTHON'
import time

import ray

RANKS, STEPS, BEGINS_AFTER = 4, 30, 8.0
AS_EVER, WRONG, WRONG_RANK, WRONG_FROM = 1.25, 83000.5, 2, 10


@ray.remote(num_cpus=0)
class Rank:
    def __init__(self, rank):
        self.rank = rank

    def train(self, begin):
        time.sleep(max(0.0, begin - time.time()))
        for step in range(1, STEPS + 1):
            wrong = self.rank == WRONG_RANK and step >= WRONG_FROM
            norm = WRONG if wrong else AS_EVER
            loss = "nan" if self.rank == 1 and step == STEPS else f"{2.5 - 0.01 * step:.2f}"
            print(f"rank {self.rank} step {step} loss {loss} grad_norm {norm}", flush=True)
            time.sleep(0.5)


ray.init(num_cpus=2, include_dashboard=False, logging_level="error")
ranks = [Rank.remote(number) for number in range(RANKS)]
begin = time.time() + BEGINS_AFTER
ray.get([one.train.remote(begin) for one in ranks])
time.sleep(7.0)
PYTHON
"$folder/venv/bin/python" "$folder/ranks.py" 2>&1 | sed 's/\x1b\[[0-9;]*m//g' |
  grep -E 'rank [0-9]+ step' >"$folder/driver.log"
cut -c1-110 "$folder/driver.log"
printed=$(wc -l <"$folder/driver.log")
wrong=$(grep -c 'grad_norm 83000' "$folder/driver.log" || true)
nan=$(grep -c 'loss nan' "$folder/driver.log" || true)
echo "printed: $printed of 120 lines; with the wrong gradient norm: $wrong of 21; with nan: $nan of 1"
# Which rank speaks last before each flush is chance: of 21 wrong lines one or two may be printed.
[ "$printed" -le 20 ] && [ "$wrong" -le 4 ] && [ "$nan" -eq 1 ]
