"""The framework callbacks, driven by stand-ins that call what the libraries call, in their order.

The libraries themselves are not among the development dependencies.
"""

import types
from typing import Any

import pytest
import torch

from rankscope.probe.accelerate import RankscopeTracker
from rankscope.probe.huggingface import RankscopeCallback as HuggingFaceCallback
from rankscope.probe.lightning import RankscopeCallback as LightningCallback


@pytest.fixture
def model():
    torch.manual_seed(0)
    return torch.nn.Linear(2, 1)


def update(model, optimizer):
    optimizer.zero_grad()
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()


def test_the_hugging_face_callback_numbers_steps_as_the_trainer_does(listener, model):
    callback = HuggingFaceCallback(job="hf", environ=listener.environ)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    state, control = types.SimpleNamespace(global_step=100), object()
    callback.on_train_begin(None, state, control, model=model, optimizer=optimizer)
    for _ in range(3):
        callback.on_step_begin(None, state, control, model=model)
        update(model, optimizer)
        state.global_step += 1
        callback.on_step_end(None, state, control)
        callback.on_log(None, state, control, logs={"loss": 1.0, "grad_norm": 0.5})
    callback.on_prediction_step(None, state, control)
    callback.on_evaluate(None, state, control, metrics={})
    callback.on_train_end(None, state, control)
    listener.wait()
    assert [100, 101, 102] == listener.values("training.step")
    assert 0.5 in listener.values("training.grad_norm", scope="global")
    phases = [each.attributes["phase"] for each in listener.events("training.phase")]
    assert ["init", "train", "eval", "train", "shutdown"] == phases


def test_the_lightning_callback_follows_training_and_validation(listener, model):
    callback = LightningCallback(job="pl", environ=listener.environ)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    trainer = types.SimpleNamespace(optimizers=[optimizer])
    callback.on_validation_start(trainer, model)
    callback.on_validation_end(trainer, model)
    callback.on_train_start(trainer, model)
    update(model, optimizer)
    callback.on_validation_start(trainer, model)
    callback.on_validation_end(trainer, model)
    update(model, optimizer)
    callback.on_train_end(trainer, model)
    listener.wait()
    assert [0, 1] == listener.values("training.step")
    phases = [each.attributes["phase"] for each in listener.events("training.phase")]
    assert ["init", "train", "eval", "train", "shutdown"] == phases


def test_the_accelerate_tracker_records_what_the_loop_logs(listener, model):
    tracker = RankscopeTracker("run", environ=listener.environ)
    tracker.start()
    tracker.store_init_configuration({"api_key": "x"})
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    tracker.log({"train_loss": 2.5, "lr": 0.3, "accuracy": 1}, step=0)
    update(model, optimizer)
    nothing: Any = None
    tracker.log(nothing)
    tracker.finish()
    listener.wait()
    assert [2.5] == listener.values("training.loss")
    assert {"run"} == {each.job for each in listener.received}
    assert tracker.name == "rankscope"
    assert tracker.tracker.failures == 0
