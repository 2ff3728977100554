#!/usr/bin/env bash
# torch 2.13.0, learning rate schedules after a restart: the optimizer's state is loaded, then the schedule is made,
# then its state is loaded, and the same with the schedule made first.
#
# Guess: the order of the two does nothing, since load_state_dict puts all of a schedule back; at most the first
# update has another rate. Seen: making a schedule writes the rate of its step 0 into the optimizer, over the
# one that was loaded, and loading the schedule's state writes nothing there. What computes the rate from the
# step (LambdaLR, OneCycleLR, CyclicLR) is right from the second update on. What multiplies the rate that it
# finds never comes back: LinearLR and ConstantLR stay at their start factor, a ChainedScheduler with one of
# them too, and a warm-up followed by a cosine (SequentialLR), restarted after the warm-up, trains on at the
# start factor's share of its rate to the end, here a hundredth, in the right shape. get_last_lr() says the
# right rate until the first step, without a warning. Schedules without a factor at step 0 (cosine, StepLR,
# ExponentialLR) are right either way: who tries it with one of those sees nothing. To who watches, training
# slows down at a restart, and the curve of the rate looks well but for its height.
#
# Installs torch in a temporary folder (PYTHON: which interpreter, python3 by default; INDEX: where pip
# finds a build for CPUs); a minute.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check ${INDEX:+--extra-index-url "$INDEX"} \
  torch==2.13.0 numpy 2>/dev/null
"$folder/venv/bin/python" - <<'PYTHON'
import copy
import sys
import warnings

import torch
from torch.optim import lr_scheduler as schedules

SAVED, AFTER, START = 20, 20, 0.01
noted = []
warnings.showwarning = lambda message, *rest, **others: noted.append(str(message))


def warm_up(optimizer):
    return schedules.LinearLR(optimizer, START, 1.0, total_iters=10)


KINDS = {
    "LinearLR": warm_up,
    "ConstantLR": lambda optimizer: schedules.ConstantLR(optimizer, START, total_iters=10),
    "ChainedScheduler": lambda optimizer: schedules.ChainedScheduler(
        [warm_up(optimizer), schedules.ExponentialLR(optimizer, 0.99)]
    ),
    "SequentialLR": lambda optimizer: schedules.SequentialLR(
        optimizer, [warm_up(optimizer), schedules.CosineAnnealingLR(optimizer, 60)], milestones=[10]
    ),
    "LambdaLR": lambda optimizer: schedules.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 10)),
    "OneCycleLR": lambda optimizer: schedules.OneCycleLR(optimizer, 1.0, total_steps=80),
    "CyclicLR": lambda optimizer: schedules.CyclicLR(optimizer, 0.1, 1.0, step_size_up=25),
    "CosineAnnealingLR": lambda optimizer: schedules.CosineAnnealingLR(optimizer, 60),
    "StepLR": lambda optimizer: schedules.StepLR(optimizer, 15, 0.5),
    "ExponentialLR": lambda optimizer: schedules.ExponentialLR(optimizer, 0.99),
}
STUCK = ("LinearLR", "ConstantLR", "ChainedScheduler", "SequentialLR")
LATE = ("LambdaLR", "OneCycleLR", "CyclicLR")


def make_optimizer():
    return torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0, momentum=0.9)


def train(optimizer, schedule, updates):
    rates = []
    for _ in range(updates):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    return rates


def resume(make, states, schedule_first):
    optimizer = make_optimizer()
    schedule = make(optimizer) if schedule_first else None
    optimizer.load_state_dict(copy.deepcopy(states[0]))
    schedule = schedule or make(optimizer)
    schedule.load_state_dict(copy.deepcopy(states[1]))
    return schedule.get_last_lr()[0], train(optimizer, schedule, AFTER)


def shares(rates, whole):
    return [round(rate / right, 3) for rate, right in zip(rates, whole, strict=True)]


same = True
for name, make in KINDS.items():
    optimizer = make_optimizer()
    schedule = make(optimizer)
    train(optimizer, schedule, SAVED)
    states = copy.deepcopy((optimizer.state_dict(), schedule.state_dict()))
    whole = train(optimizer, schedule, AFTER)
    said, late = resume(make, states, schedule_first=False)
    _, early = resume(make, states, schedule_first=True)
    share = shares(late, whole)
    print(f"{name}: schedule made after the load: {share[0]}, {share[1]} .. {share[-1]} of the right rate, which "
          f"get_last_lr() says at the start: {said == whole[0]}; made before: {set(shares(early, whole))}")
    same = same and said == whole[0] and set(shares(early, whole)) == {1.0}
    if name in STUCK:
        same = same and max(share) < 0.02
    elif name in LATE:
        same = same and share[0] < 0.5 and set(share[1:]) == {1.0}
    else:
        same = same and set(share) == {1.0}
print("warned of it:", noted)
sys.exit(0 if same else "this has changed")
PYTHON
