"""The hooks inside torch: what they see, and that torch does not feel them."""

import copy
import io
import sys
import time
import types
import warnings
from typing import Any

import pytest
import torch
from torch.utils.checkpoint import checkpoint

from rankscope import probe
from rankscope.probe import attaching
from rankscope.probe.hooks import HOOKS


@pytest.fixture
def model():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))


@pytest.fixture
def watch(listener):
    made = probe.attach(job="j", rank=0, environ=listener.environ)
    yield made
    made.detach()


def hooks():
    assert attaching._attached is not None
    return attaching._attached[2]


def train(model, optimizer, steps=3, batches=1, scale=1.0):
    for _ in range(steps):
        optimizer.zero_grad()
        for _ in range(batches):
            (model(torch.ones(2, 4)).mean() * scale).backward()
        optimizer.step()


def test_every_hook_finds_its_place_in_this_torch(watch):
    assert [] == hooks().missing
    assert len(HOOKS) == 9


def test_everything_in_torch_is_back_in_its_place_after_detach(listener):
    patched = [
        (torch.autograd, "backward"),
        (torch.utils.data.dataloader._BaseDataLoaderIter, "__next__"),
        (torch.nn.parallel.DistributedDataParallel, "_sync_buffers"),
        (torch.nn.parallel.DistributedDataParallel, "_pre_forward"),
        (torch.amp.GradScaler, "step"),
        (torch.amp.GradScaler, "scale"),
        (torch.nn.utils, "clip_grad_norm_"),
        (torch.distributed, "all_reduce"),
        (torch, "save"),
    ]
    hooks = sys.modules["torch.optim.optimizer"]
    before = [getattr(owner, name) for owner, name in patched]
    watch = probe.attach(environ=listener.environ)
    during = [getattr(owner, name) for owner, name in patched]
    assert all(old is not new for old, new in zip(before, during, strict=True))
    assert [old.__name__ for old in before] == [new.__name__ for new in during]
    assert [old.__doc__ for old in before] == [new.__doc__ for new in during]
    watch.detach()
    assert before == [getattr(owner, name) for owner, name in patched]
    assert not hooks._global_optimizer_pre_hooks
    assert not hooks._global_optimizer_post_hooks


def test_a_wrapper_around_ours_stays_and_ours_passes_through(watch, model):
    ours: Any = torch.autograd.backward

    def theirs(*args, **kwargs):
        return ours(*args, **kwargs)

    torch.autograd.backward = theirs
    try:
        watch.detach()
        assert torch.autograd.backward is theirs
        model(torch.ones(2, 4)).mean().backward()
        assert model[0].weight.grad is not None
    finally:
        torch.autograd.backward = ours.__wrapped__


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


def test_a_model_saves_copies_and_scripts_as_without_the_probe(watch, model):
    """Nothing of ours hangs on a module, and the hook on a parameter is never saved."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    train(model, optimizer)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        whole = io.BytesIO()
        torch.save(model, whole)
        assert b"rankscope" not in whole.getvalue()
        copied = copy.deepcopy(model)
        whole.seek(0)
        loaded = torch.load(whole, weights_only=False)
    for other in (copied, loaded):
        for mine, theirs in zip(model.parameters(), other.parameters(), strict=True):
            assert torch.equal(mine, theirs)
    assert not model._forward_hooks
    assert not model._forward_pre_hooks


def test_a_compiled_step_is_traced_without_a_break(watch, model):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    train(model, optimizer, steps=1)

    @torch.compile(backend="eager", fullgraph=True)
    def clipped(x):
        loss = model(x).mean()
        return loss + torch.nn.utils.clip_grad_norm_([torch.ones(3)], 1.0)

    assert clipped(torch.ones(2, 4)).numel() == 1
    train(torch.compile(model, backend="eager"), optimizer, steps=2)
    assert 0 == hooks().context.failures


def test_backward_inside_backward_counts_once(watch, listener, model):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        inputs = torch.ones(2, 4, requires_grad=True)
        checkpoint(model, inputs, use_reentrant=True).mean().backward()
        optimizer.step()
    watch.detach()
    listener.wait()
    assert 2 == len(listener.values("training.loss"))
    assert 0 == watch.failures


def test_a_generator_of_losses_reaches_torch_whole(watch, model):
    losses = (model(torch.ones(2, 4)).mean() for _ in range(1))
    torch.autograd.backward(tuple(losses))
    assert model[0].weight.grad is not None
    with pytest.raises(RuntimeError, match="does not require grad"):
        torch.ones(1).backward()
    assert not hooks().context.in_backward


def test_saving_is_checkpoint_time(watch, listener, model, tmp_path):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    train(model, optimizer, steps=1)
    torch.save(model.state_dict(), tmp_path / "m.pt")
    train(model, optimizer, steps=1)
    watch.detach()
    listener.wait()
    assert 1 == len(listener.values("training.checkpoint.duration"))


def test_evaluation_is_a_phase_where_the_model_is_known(listener, model):
    watch = probe.attach(model=model, environ=listener.environ)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    rows: Any = torch.ones(4, 4)
    loader: Any = torch.utils.data.DataLoader(rows, batch_size=2)
    train(model, optimizer, steps=1)
    model.eval()
    for batch in loader:
        model(batch)
    model.train()
    train(model, optimizer, steps=1)
    watch.detach()
    listener.wait()
    phases = [each.attributes["phase"] for each in listener.events("training.phase")]
    assert ["init", "train", "eval", "train", "shutdown"] == phases


def test_evaluation_under_no_grad_is_a_phase_though_nobody_names_the_model(watch, listener, model):
    """The second batch in a row is the sign; its waits are no wait of the next step."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    rows: Any = torch.ones(6, 4)
    loader: Any = torch.utils.data.DataLoader(rows, batch_size=2)
    train(model, optimizer, steps=1)
    with torch.no_grad():
        for batch in loader:
            model(batch)
    train(model, optimizer, steps=1)
    with torch.no_grad():
        next(iter(loader))  # one batch alone may be anything
    train(model, optimizer, steps=1)
    watch.detach()
    listener.wait()
    phases = [each.attributes["phase"] for each in listener.events("training.phase")]
    assert ["init", "train", "eval", "train", "shutdown"] == phases


def test_an_exception_inside_a_hook_is_counted_and_kept_from_the_job(
    watch, listener, model, monkeypatch
):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    context = hooks().context

    def fails(*_args, **_kwargs):
        raise RuntimeError

    monkeypatch.setattr(type(context), "reader", fails)
    monkeypatch.setattr(type(context), "alarm", fails)
    monkeypatch.setattr(type(context), "distributed", fails)
    monkeypatch.setattr(context.norm_budget.__class__, "due", fails)
    train(model, optimizer, steps=3)
    assert context.failures >= 6
    watch.detach()
    listener.wait()
    assert [0, 1, 2] == listener.values("training.step")


SHADOWS = {
    "an empty module": {},
    "a module with the first names only": {"nn": types.SimpleNamespace(), "Tensor": object},
    "a module whose names are strings": dict.fromkeys(
        ("nn", "optim", "autograd", "utils", "distributed", "amp", "compiler", "save"), "x"
    ),
}


@pytest.mark.parametrize("names", SHADOWS.values(), ids=SHADOWS)
def test_a_shadowed_or_broken_torch_makes_every_hook_bow_out(listener, monkeypatch, names):
    shadow = types.ModuleType("torch")
    vars(shadow).update(names)
    monkeypatch.setitem(sys.modules, "torch", shadow)
    watch = probe.attach(environ=listener.environ)
    assert len(hooks().missing) == len(HOOKS)
    with watch.step():
        watch.record(loss=1.0)
    watch.detach()
    listener.wait()
    assert [1.0] == listener.values("training.loss")
