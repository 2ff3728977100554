"""Gradients before they are accumulated, and as the update has them, by a few sums."""

from typing import Any

import torch

from rankscope import probe
from rankscope.probe import gradient_sketch


def test_sums_of_a_row_that_adds_up_to_nothing_are_not_nothing():
    row = torch.tensor([1.0, -1.0, 2.0, -2.0]).repeat(8)
    assert [8.0, -8.0, 16.0, -16.0] * 2 == [
        2 * one for one in gradient_sketch.sums(torch, row).tolist()
    ]


def test_of_a_small_gradient_there_are_as_many_sums_as_elements():
    assert [1.0, 2.0] == gradient_sketch.sums(torch, torch.tensor([[1.0], [2.0]])).tolist()
    assert gradient_sketch.sums(torch, torch.zeros(0)) is None


def steps(listener, model, *, forget):
    """Train by two batches of a loader a step; return the events of the landmarks."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    watch = probe.attach(model=model, optimizer=optimizer, environ=listener.environ)
    rows: Any = torch.randn(16, 4)
    loader: Any = torch.utils.data.DataLoader(rows, batch_size=2)
    for number, batch in enumerate(loader):
        if forget or number % 2 == 0:
            optimizer.zero_grad()
        model(batch).square().mean().backward()
        if number % 2:
            optimizer.step()
    watch.detach()
    listener.wait()
    return [one.attributes for one in listener.events("training.batch", reason="landmark")]


def test_several_passes_of_one_batch_are_no_micro_batches(listener, model):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    watch = probe.attach(model=model, optimizer=optimizer, environ=listener.environ)
    rows: Any = torch.randn(8, 4)
    for batch in torch.utils.data.DataLoader(rows, batch_size=2):
        for _ in range(2):
            optimizer.zero_grad()
            model(batch).square().mean().backward()
        optimizer.step()
    watch.detach()
    listener.wait()
    said = listener.events("training.batch", reason="landmark")
    assert said
    assert not any("passes" in one.attributes for one in said)


def sums(said, name):
    return torch.tensor([[float(one) for one in each[name].split()] for each in said])


def test_the_gradient_of_an_update_is_the_sum_of_its_passes(listener, model):
    said = [one for one in steps(listener, model, forget=False) if "passes" in one]
    assert [2, 2, 2] == [one["passes"] for one in said]
    assert torch.allclose(sums(said, "gradient_own"), sums(said, "gradient_used"), rtol=1e-4)


def test_a_gradient_that_was_forgotten_is_not_in_it(listener, model):
    said = [one for one in steps(listener, model, forget=True) if "passes" in one]
    assert torch.allclose(sums(said, "gradient_newest"), sums(said, "gradient_used"), rtol=1e-4)
    assert not torch.allclose(sums(said, "gradient_own"), sums(said, "gradient_used"), rtol=1e-2)
