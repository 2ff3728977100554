"""Lines by which a job says that it saves a checkpoint, and that it has saved it."""

import pytest

from rankscope.formats import training_logs
from rankscope.formats.training_logs import saves


def states(line):
    every = [event for one in training_logs.read([line]) for event in one.events]
    return [event.attributes["state"] for event in every if event.name == saves.EVENT]


@pytest.mark.parametrize("form", saves.forms(), ids=lambda form: f"{form.state} {form.name}")
def test_an_example_of_a_form_is_of_its_state(form):
    assert [form.state] == states(form.example)


@pytest.mark.parametrize("line", [
    "saving checkpoint at iteration    1000 to /ckpt in torch_dist format",
    "Saving model checkpoint to out/checkpoint-500",
    "[rank0]: Saving the checkpoint (or staging if async is enabled).",
    "mmengine - INFO - Saving checkpoint at 12 epochs",
    "INFO:tensorflow:Saving checkpoints for 1000 into /ckpt/model.ckpt.",
    "11/02/2026 10:00:00 - INFO - accelerate.accelerator - Saving current state to out/step_500",
])  # fmt: skip
def test_a_save_begins_in_many_words(line):
    assert ["begins"] == states(line)


@pytest.mark.parametrize("line", [
    "Saving checkpoint asynchronously to /ckpt/step-500",
    "Saving checkpoints every 500 steps",
    "Saving model callback is disabled",
    "Error while saving checkpoint: no reason given",
    "tokenizer config file saved in out/tokenizer_config.json",
    "async saving state of 3 shards",
])  # fmt: skip
def test_what_holds_nobody_up_is_no_save(line):
    assert [] == states(line)
