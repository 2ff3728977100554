"""What a step costs the thread that trains, by count: calls into the probe find cold caches."""

import sys
from collections import Counter

import torch

from .training import train

_MOST = 22
"""Calls of Python functions a step without a process group: 21 when this was written."""


def test_a_step_makes_no_more_calls_than_it_did(watch, model):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    train(model, optimizer)
    calls: Counter[str] = Counter()

    def noted(frame, event, _arg):
        name = frame.f_code.co_filename
        if event == "call" and ("/probe/" in name or name.endswith("compiler/__init__.py")):
            calls[frame.f_code.co_qualname] += 1

    steps = 20
    sys.setprofile(noted)
    try:
        train(model, optimizer, steps=steps)
    finally:
        sys.setprofile(None)
    of_test = calls.pop("train", 0)
    assert of_test == 1
    assert watch.failures == 0
    assert sum(calls.values()) / steps <= _MOST, calls
