"""Steps: what is one, which optimizer's, and what their losses add up to."""

import time
from typing import Any

import pytest
import torch
from tests.probe.hooks.training import train

from rankscope import probe


def test_one_step_is_one_update_and_its_loss_the_mean_of_its_micro_batches(watch, listener, model):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    expected = model(torch.ones(2, 4)).mean().item()
    train(model, optimizer, steps=4, batches=3)
    watch.detach()
    listener.wait()
    assert [0, 1, 2, 3] == listener.values("training.step")
    assert [pytest.approx(expected)] * 4 == listener.values("training.loss")
    assert 0 == watch.failures


def test_losses_that_add_up_are_summed(watch, listener, model):
    """As the frameworks that divide each micro-batch's loss by their number need it."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    expected = model(torch.ones(2, 4)).mean().item()
    watch.losses_add_up = True
    train(model, optimizer, steps=1, batches=3)
    watch.detach()
    listener.wait()
    assert [pytest.approx(3 * expected)] == listener.values("training.loss")


def test_an_update_that_runs_the_step_in_its_closure_counts_its_compute_once(
    watch, listener, model
):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def closure():
        optimizer.zero_grad()
        time.sleep(0.05)
        loss = model(torch.ones(2, 4)).mean()
        loss.backward()
        return loss

    for _ in range(3):
        optimizer.step(closure)
    watch.detach()
    listener.wait()
    spent = zip(
        listener.values("training.step.duration"),
        listener.values("training.compute.duration"),
        listener.values("training.optimizer.duration"),
        strict=True,
    )
    for step, compute, own in spent:
        assert compute >= 0.05
        assert 0 < own <= step - compute + 1e-6


def test_of_two_optimizers_the_first_is_the_step_optimizer(watch, listener, model):
    other = torch.nn.Linear(4, 1)
    first = torch.optim.SGD(model.parameters(), lr=0.1)
    second = torch.optim.Adam(other.parameters(), lr=0.2)
    for _ in range(3):
        train(model, first, steps=1)
        train(other, second, steps=1)
    watch.detach()
    listener.wait()
    assert [0, 1, 2] == listener.values("training.step")
    assert [0.1] * 3 == listener.values("training.learning_rate")


def test_another_optimizer_takes_over_when_the_ruler_stops(watch, listener, model):
    warm_up = torch.optim.SGD(model.parameters(), lr=0.1)
    train(model, warm_up, steps=2)
    train(model, torch.optim.SGD(model.parameters(), lr=0.2), steps=30)
    watch.detach()
    listener.wait()
    assert 2 + 10 == len(listener.values("training.step"))


def test_the_optimizer_the_caller_names_is_the_step_optimizer(listener, model):
    named = torch.optim.SGD(model.parameters(), lr=0.1)
    watch = probe.attach(model=model, optimizer=named, environ=listener.environ)
    train(model, torch.optim.SGD(model.parameters(), lr=0.2), steps=3)
    train(model, named, steps=2)
    watch.detach()
    listener.wait()
    assert [0, 1] == listener.values("training.step")


def test_steps_that_the_loop_marks_are_not_counted_twice(watch, listener, model):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for index in range(10, 13):
        with watch.step(index):
            train(model, optimizer, steps=1)
    watch.detach()
    listener.wait()
    assert [10, 11, 12] == listener.values("training.step")
    assert 3 == len(listener.values("training.optimizer.duration"))


def test_an_update_that_raises_is_no_step_and_the_next_one_is(watch, listener, model):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    train(model, optimizer, steps=1)

    def fails():
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        optimizer.step(fails)
    train(model, optimizer, steps=1)
    watch.detach()
    listener.wait()
    assert [0, 1] == listener.values("training.step")


def test_updates_that_a_scaler_skips_are_steps_with_the_loss_before_scaling(watch, listener, model):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    expected = model(torch.ones(2, 4)).mean().item()
    for bad in (False, True, False):
        optimizer.zero_grad()
        scaler.scale(model(torch.ones(2, 4)).mean()).backward()
        if bad:
            model[0].weight.grad.fill_(float("inf"))
        scaler.step(optimizer)
        scaler.update()
    watch.detach()
    listener.wait()
    assert [0, 1, 2] == listener.values("training.step")
    assert [pytest.approx(expected)] * 3 == listener.values("training.loss")
    assert [1024.0, 1024.0, 512.0] == listener.values("training.loss_scale")
    assert [1.0] == listener.values("training.nonfinite", of="grad_reduced")


compiles = pytest.mark.filterwarnings("ignore:.torch.jit.script_method:DeprecationWarning")
"""torch imports its own compiler at the first such update."""


def compiled(optimizer: Any, backend: Any = "eager") -> Any:
    """Have the update compiled, as tutorials do; a backend that compiles nothing traces as well."""
    optimizer.step = torch.compile(optimizer.step, backend=backend)
    return optimizer


@compiles
def test_updates_that_torch_compiled_are_steps(watch, listener, model):
    optimizer = compiled(torch.optim.SGD(model.parameters(), lr=0.0))
    expected = model(torch.ones(2, 4)).mean().item()
    train(model, optimizer, steps=4, batches=3)
    watch.detach()
    listener.wait()
    assert [0, 1, 2, 3] == listener.values("training.step")
    assert [pytest.approx(expected)] * 4 == listener.values("training.loss")
    assert 0 == watch.failures


@compiles
def test_a_compiled_update_ends_its_step_when_the_next_batch_is_asked_for(watch, listener, model):
    optimizer = compiled(torch.optim.SGD(model.parameters(), lr=0.0))
    loader = torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(torch.ones(6, 4)), batch_size=2
    )
    for _ in range(2):
        for (batch,) in loader:
            model(batch).mean().backward()
            optimizer.step()
    watch.detach()
    listener.wait()
    assert [*range(6)] == listener.values("training.step")
    assert 6 == len(listener.values("training.data.duration"))


@compiles
def test_a_compiled_update_is_not_compiled_again_at_each_step(watch, model):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    graphs = []

    def backend(graph, _inputs):
        graphs.append(graph)
        return graph.forward

    compiled(optimizer, backend)
    train(model, optimizer, steps=2)
    before = len(graphs)
    train(model, optimizer, steps=6)
    assert before == len(graphs)
    assert 0 == watch.failures


@compiles
def test_compiled_updates_beside_visible_ones_are_no_steps_of_their_own(watch, listener, model):
    other = torch.nn.Linear(4, 1)
    visible = torch.optim.SGD(model.parameters(), lr=0.1)
    traced = compiled(torch.optim.SGD(other.parameters(), lr=0.1))
    for _ in range(3):
        train(model, visible, steps=1)
        train(other, traced, steps=1)
    watch.detach()
    listener.wait()
    assert [0, 1, 2] == listener.values("training.step")


@compiles
def test_a_compiled_update_through_a_scaler_was_not_skipped(watch, listener, model):
    optimizer = compiled(torch.optim.SGD(model.parameters(), lr=0.0))
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    for _ in range(3):
        optimizer.zero_grad()
        scaler.scale(model(torch.ones(2, 4)).mean()).backward()
        scaler.step(optimizer)
        scaler.update()
    watch.detach()
    listener.wait()
    assert [0, 1, 2] == listener.values("training.step")
    assert not listener.values("training.nonfinite", of="grad_reduced")
