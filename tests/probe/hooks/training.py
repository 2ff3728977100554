"""A plain training loop, and the hooks that are in torch meanwhile."""

import torch

from rankscope.probe import attaching


def hooks():
    assert attaching._attached is not None
    return attaching._attached[2]


def train(model, optimizer, steps=3, batches=1, scale=1.0):
    for _ in range(steps):
        optimizer.zero_grad()
        for _ in range(batches):
            (model(torch.ones(2, 4)).mean() * scale).backward()
        optimizer.step()
