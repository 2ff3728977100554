"""Lines by which a job says that it goes on from a checkpoint, and those that only load weights."""

import pytest

from rankscope.formats import training_logs
from rankscope.formats.training_logs import data_names, resumes


def events(line):
    return [event.name for one in training_logs.read([line]) for event in one.events]


@pytest.mark.parametrize("form", resumes.forms(), ids=lambda form: form.name)
def test_an_example_of_a_form_is_of_it(form):
    assert form.needle in form.example
    assert form.pattern.search(form.example)
    assert [resumes.EVENT] == events(form.example)


@pytest.mark.parametrize("line", [
    "Resuming training from out",
    "mmengine - INFO - resumed epoch: 12, iter: 5000",
    "Resuming from checkpoint checkpoint-500",
    "Resumed from checkpoint: /ckpt/step_500",
    "Resuming training runs/last.pt from epoch 12 to 100 total epochs",
    "=> loaded checkpoint 'model.pth.tar' (epoch 3)",
    "The training was resumed using exp/asr/checkpoint.pth",
    "I Loading most recent checkpoint from /ckpt/train-5000",
    "[rank0]:  successfully loaded checkpoint from /c [ t 1/1, p 1/1 ] at iteration 200",
    "resume_from_checkpoint=/out/v3/checkpoint-600,",
    "resume_from = './work_dirs/rtmdet/epoch_12.pth'",
    '  "resume_from_checkpoint": "checkpoint-600",',
    "resume_from_checkpoint: C:\\out\\checkpoint-600",
])  # fmt: skip
def test_a_job_that_goes_on_says_so_in_many_ways(line):
    assert [resumes.EVENT] == events(line)


@pytest.mark.parametrize("line", [
    "resume_from_checkpoint=None",
    "Resuming from checkpoint: None",
    "Not resuming from any checkpoint",
    " successfully loaded checkpoint from /c [ t 1/1, p 1/1 ] at iteration 0",
    "Loaded checkpoint model.pt (epoch 1 @ 0 updates)",
    "Loading checkpoint shards: 100%|##########| 4/4 [00:05<00:00,  1.3s/it]",
    "resume: false",
    "resume_from_checkpoint: True",
    "resume_from = None",
    '"resume_from_checkpoint": null,',
    "--no_resume_from_checkpoint: /out",
    "I Loading best validating checkpoint from /ckpt/best_dev-0",
])  # fmt: skip
def test_a_job_that_begins_does_not_resume(line):
    assert [] == events(line)


@pytest.mark.parametrize("form", data_names.forms(), ids=lambda form: form.name)
def test_data_are_named_by_an_example_of_a_form(form):
    assert [data_names.EVENT] == events(form.example)


def test_data_that_are_none_are_not_named():
    assert [] == events("  data_path ....................................... None")
