#!/usr/bin/env bash
# torch 2.13.0, AdamW made from model.named_parameters(), so that its state has each parameter's name: its state is
# loaded where the same parameters come in another order, as after two layers of the same shape changed places in the
# model's code or parameters were sorted anew; and where it is made with other switches.
#
# Guess: names are saved so that what belongs together is put together, or so that another order is refused, as
# a model's load_state_dict does with them; a switch that is given holds. Seen: states go by position. Where
# shapes are equal, each layer gets the other's momentum and variance, no error, no warning: the loss of the
# first forward pass is right, more than doubles within the next updates, and is back after some fifty. The
# names of the state are then the optimizer's own, in the old order, so that what is reported by param_names,
# such as a norm by layer, stands under another layer's name for good, and in the next checkpoint too. fused,
# foreach and amsgrad come from the state: a job that is started again with fused=True to be faster runs the
# kernels that it had. To who watches, this is a loss spike right after a restart with weights, data and rate as
# they were, which one looks for in the batches.
#
# Installs torch in a temporary folder (PYTHON: which interpreter, python3 by default; INDEX: where pip
# finds a build for CPUs); a minute.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check ${INDEX:+--extra-index-url "$INDEX"} \
  torch==2.13.0 numpy 2>/dev/null
cat >"$folder/order.py" <<'PYTHON'
import copy
import sys
import warnings

import torch

noted = []
warnings.showwarning = lambda message, *rest, **others: noted.append(str(message))
batch = torch.randn(64, 16, generator=torch.Generator().manual_seed(2))
SCALE = {"small": 0.01, "large": 10.0}  # of the two layers' shares of the loss, and so of their gradients


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.small = torch.nn.Linear(16, 16)
        self.large = torch.nn.Linear(16, 16)

    def loss(self):
        return sum((scale * getattr(self, name)(batch) - 1).square().mean() for name, scale in SCALE.items())


def make(model, order=None, **switches):
    named = list(model.named_parameters())
    named = named[2:] + named[:2] if order == "other" else named
    return torch.optim.AdamW(named, lr=1e-2, weight_decay=0.0, **switches)


def train(model, optimizer, updates):
    losses = []
    for _ in range(updates):
        optimizer.zero_grad()
        loss = model.loss()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


model = Model()
optimizer = make(model)
train(model, optimizer, 1000)
weights, state = copy.deepcopy((model.state_dict(), optimizer.state_dict()))
print("names in the state:", state["param_groups"][0]["param_names"])


def resume(order):
    model = Model()
    model.load_state_dict(weights)
    optimizer = make(model, order)
    optimizer.load_state_dict(copy.deepcopy(state))
    owner = {parameter: name for name, parameter in model.named_parameters()}
    group = optimizer.param_groups[0]
    wrong = [
        (name, owner[parameter]) for name, parameter in zip(group["param_names"], group["params"], strict=True)
        if name != owner[parameter]
    ]
    return train(model, optimizer, 50), wrong


before, rows = model.loss().item(), {}
for order in ("same", "other"):
    losses, wrong = resume(order)
    rows[order] = losses, wrong
    print(f"{order} order: loss {losses[0]:.3f}, highest of 50 updates {max(losses):.3f}, last {losses[-1]:.3f}; "
          f"names that stand for another parameter now: {wrong}")
same = rows["same"][1] == [] and len(rows["other"][1]) == 4
same = same and rows["same"][0][0] == rows["other"][0][0] == before
same = same and max(rows["same"][0]) <= before < max(rows["other"][0]) / 2

for switch in ("fused", "foreach", "amsgrad"):
    other = make(model, **{switch: True})
    other.load_state_dict(copy.deepcopy(state))
    now = other.param_groups[0][switch]
    print(f"made with {switch}=True, after the load it is {now}")
    same = same and not now
print("warned of it:", noted)
sys.exit(0 if same and noted == [] else "this has changed")
PYTHON
"$folder/venv/bin/python" "$folder/order.py"
