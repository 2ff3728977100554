"""DeepSpeed's engine, by a double that calls its optimizer as version 0.19.8 was seen to."""

import sys
import types

import pytest
import torch
from tests.probe.hooks.training import hooks

from rankscope import probe

SCALE = 2.0**20


class Engine:
    """One update is `calls` calls of the optimizer, none where a gradient overflowed."""

    def __init__(self, optimizer, *, accumulates=1, calls=2, half=True):
        self.base = optimizer
        self.optimizer = types.SimpleNamespace(overflow=False, loss_scale=SCALE)
        self.accumulates, self.calls, self.half = accumulates, calls, half
        self.global_steps = self.micro_steps = 0

    def scale(self, loss):
        return loss * SCALE

    def backward(self, loss, scale_wrt_gas=True):
        loss = loss / self.accumulates if scale_wrt_gas else loss
        (loss * SCALE).backward()

    def step(self):
        self.micro_steps += 1
        if self.micro_steps % self.accumulates == 0:
            self._take_model_step({})

    def _take_model_step(self, _lr_kwargs):
        for _ in range(0 if self.optimizer.overflow else self.calls):
            self.base.step()
        self.base.zero_grad()
        self.global_steps += 1

    def get_global_grad_norm(self):
        return float("inf") if self.optimizer.overflow else torch.tensor(1.5)

    def fp16_enabled(self):
        return self.half


def put(monkeypatch, kind):
    module = types.SimpleNamespace(DeepSpeedEngine=kind)
    monkeypatch.setitem(sys.modules, "deepspeed.runtime.engine", module)


@pytest.fixture
def engines(monkeypatch):
    """Return the class of engines, in the module where the library has it, until the test ends."""
    kind = type("DeepSpeedEngine", (Engine,), {})
    put(monkeypatch, kind)
    return kind


@pytest.fixture
def optimizer(model):
    return torch.optim.SGD(model.parameters(), lr=0.0)


def train(engine, model, batches, ended=lambda: None):
    """Return the loss of a batch, the same each time."""
    for _ in range(batches):
        loss = model(torch.ones(2, 4)).mean()
        engine.backward(loss)
        engine.step()
        ended()
    return pytest.approx(loss.item())


def told(watch, listener):
    watch.detach()
    listener.wait()
    assert 0 == watch.failures


def test_an_update_of_the_engine_is_one_step_whatever_it_calls_its_optimizer(
    engines, watch, listener, model, optimizer
):
    loss = train(engines(optimizer, accumulates=2), model, 6)
    told(watch, listener)
    assert [0, 1, 2] == listener.values("training.step")
    assert [loss] * 3 == listener.values("training.loss", scope="local"), (
        "neither divided nor scaled"
    )
    assert [1.5] * 3 == listener.values("training.grad_norm", scope="global")
    assert [SCALE] * 3 == listener.values("training.loss_scale")
    assert not listener.values("training.nonfinite")


def test_an_update_that_is_skipped_for_an_overflow_is_a_step(
    engines, watch, listener, model, optimizer
):
    engine = engines(optimizer)
    engine.optimizer.overflow = True
    train(engine, model, 2)
    told(watch, listener)
    assert [0, 1] == listener.values("training.step")
    assert [1.0] * 2 == listener.values("training.nonfinite", of="grad_reduced")
    assert not listener.values("training.grad_norm")


def test_without_a_loss_scale_there_is_none(engines, watch, listener, model, optimizer):
    train(engines(optimizer, half=False), model, 1)
    told(watch, listener)
    assert not listener.values("training.loss_scale")


def test_a_resumed_engine_goes_on_with_its_own_number(engines, watch, listener, model, optimizer):
    engine = engines(optimizer)
    engine.global_steps = 700
    train(engine, model, 2)
    told(watch, listener)
    assert [700, 701] == listener.values("training.step")


def test_a_loop_that_marks_its_steps_keeps_them(engines, watch, listener, model, optimizer):
    engine = engines(optimizer)
    for index in (7, 8):
        with watch.step(index):
            train(engine, model, 1)
    told(watch, listener)
    assert [7, 8] == listener.values("training.step")


def test_a_loss_that_the_engine_scales_for_a_loop_is_told_as_it_was(
    engines, watch, listener, model, optimizer
):
    engine = engines(optimizer)
    loss = model(torch.ones(2, 4)).mean()
    engine.scale(loss).backward()
    engine.step()
    told(watch, listener)
    assert [pytest.approx(loss.item())] == listener.values("training.loss")


def test_of_two_engines_the_first_has_the_steps(engines, watch, listener, model, optimizer):
    critic = torch.nn.Linear(4, 1)
    second = engines(torch.optim.SGD(critic.parameters(), lr=0.0))
    train(engines(optimizer), model, 3, lambda: train(second, critic, 1))
    told(watch, listener)
    assert [0, 1, 2] == listener.values("training.step")


def test_another_engine_takes_over_when_the_first_stops(engines, watch, listener, model, optimizer):
    first = engines(optimizer)
    train(first, model, 1)
    second = engines(optimizer)
    train(second, model, 25)
    told(watch, listener)
    assert [0, 20, 21, 22, 23, 24] == listener.values("training.step")


def test_an_engine_of_another_make_is_left_alone(monkeypatch, listener):
    put(monkeypatch, type("DeepSpeedEngine", (), {}))
    watch = probe.attach(job="j", rank=0, environ=listener.environ)
    missing = hooks().missing
    watch.detach()
    assert ["engines: DeepSpeedEngine.backward is not there"] == missing
