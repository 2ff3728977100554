"""Gradients by layer: looked at in suspicious steps alone, before torch clips them."""

import pytest
import torch
from tests.probe.hooks.training import hooks

from rankscope import probe
from rankscope.probe.hooks import layers


@pytest.fixture
def run(listener, model):
    """Return a function that trains while it clips, and gives the gradients kept of each step."""
    watch = probe.attach(model=model, environ=listener.environ)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    spoiled: list[float] = []
    model[2].weight.register_hook(lambda grad: grad * spoiled[0] if spoiled else None)

    def train(steps, times=None):
        spoiled[:] = [] if times is None else [times]
        kept = []
        for _ in range(steps):
            optimizer.zero_grad()
            with watch.step():
                model(torch.ones(2, 4)).mean().backward()
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                kept.append(hooks().context.open.layers)
        return kept

    yield train
    watch.detach()


def test_steps_as_usual_are_not_looked_at(run):
    assert [()] * 30 == run(30)


def test_the_gradients_of_a_suspicious_step_are_those_before_they_were_clipped(run):
    run(layers.FEWEST)
    ((first, *_, last_weight, _),) = run(1, times=1e30)
    assert ("0.weight", "2.weight") == (first.name, last_weight.name)
    assert last_weight.norm > 1e28 > first.norm > 0
    assert 0 == last_weight.bad


def test_elements_that_are_not_finite_are_counted_by_parameter(run):
    (kept,) = run(1, times=float("nan"))
    assert {"2.weight": 8} == {one.name: one.bad for one in kept if one.bad}


def test_norms_that_go_on_being_suspicious_are_looked_at_now_and_then_only(run):
    run(layers.FEWEST)
    assert 2 > sum(bool(kept) for kept in run(3, times=1e6))


def test_without_the_private_function_of_torch_the_other_hooks_are_installed(
    monkeypatch, listener, model
):
    monkeypatch.delattr(torch.nn.utils.clip_grad, "_clip_grads_with_norm_")
    watch = probe.attach(model=model, environ=listener.environ)
    assert any("_clip_grads_with_norm_" in one for one in hooks().context.missing)
    watch.detach()
