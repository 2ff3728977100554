"""The hooks inside torch: what they see, and that torch does not feel them."""

import copy
import io
import sys
import types
import warnings
from typing import Any

import pytest
import torch
from tests.probe.hooks.training import hooks, train
from torch.utils.checkpoint import checkpoint

from rankscope import probe
from rankscope.probe.hooks import HOOKS


def test_every_hook_finds_its_place_in_this_torch(watch):
    assert [] == hooks().missing
    assert len(HOOKS) == 11


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
