"""Gradients: their norm, and whose were not finite first."""

import torch
from tests.probe.hooks.training import hooks, train

from rankscope import probe


def test_the_norm_that_the_loop_clips_by_is_sent_at_every_step(watch, listener, model):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    norms = []
    for _ in range(5):
        optimizer.zero_grad()
        model(torch.ones(2, 4)).mean().backward()
        norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), 0.01).item())
        optimizer.step()
    watch.detach()
    listener.wait()
    assert norms == listener.values("training.grad_norm", scope="local")


def test_gradients_that_are_not_finite_are_counted_and_then_checked_at_every_step(
    watch, listener, model
):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    train(model, optimizer, steps=1)
    train(model, optimizer, steps=5, scale=float("inf"))
    watch.detach()
    listener.wait()
    elements = sum(each.numel() for each in model.parameters())
    assert 5 == len(listener.events("training.numeric", what="loss"))
    assert 5 == len(listener.events("training.numeric", what="grad_local"))
    counted = listener.values("training.nonfinite", of="grad_local")
    assert 5 == len(counted)
    assert all(0 < count <= elements for count in counted)


def test_a_local_gradient_is_looked_at_before_any_reduction(listener, model):
    """The check hangs on the first layer's weight, where the gradient arrives last."""
    poison: list[int] = []

    def broken(grad):
        return grad * float("nan") if poison else None

    model[0].weight.register_hook(broken)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    watch = probe.attach(optimizer=optimizer, environ=listener.environ)
    hooks().context.local_budget.insist(2)
    train(model, optimizer, steps=1)
    poison.append(1)
    train(model, optimizer, steps=1)
    watch.detach()
    listener.wait()
    first = listener.samples("training.step")[1].at
    counted = listener.samples("training.nonfinite", of="grad_local")
    assert [(32.0, first)] == [(each.value, each.at) for each in counted]


def test_where_the_watched_parameter_gets_no_gradient_the_next_pass_is_timed_by_its_loss(
    watch, listener, model
):
    """The wait for peers begins where the local work ends, whichever hook asks for that."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    context = hooks().context
    context.is_distributed = context.replicated = True
    train(model, optimizer, steps=1)  # by the loss: the optimizer is not yet known
    assert context.gradient_hooked
    train(model, optimizer, steps=1)  # by the parameter
    model[0].requires_grad_(requires_grad=False)
    train(model, optimizer, steps=1)  # by nobody
    assert not context.gradient_hooked
    train(model, optimizer, steps=1)
    watch.detach()
    listener.wait()
    at = [sample.at for sample in listener.samples("training.step")]
    timed = {sample.at for sample in listener.samples("training.comm.duration")}
    assert [True, True, False, True] == [each in timed for each in at]
    assert 0 == context.failures
