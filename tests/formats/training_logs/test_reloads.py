"""Checkpoints that one log saves and loads again, and others that it only loads."""

import pytest

from rankscope.formats import training_logs
from rankscope.formats.training_logs import resumes

SAVED = "Saving the last checkpoint to 'out/my run/last.ckpt'"


def resumed(*lines):
    return [
        one.line
        for one in training_logs.read([f"{line}\n" for line in lines])
        for event in one.events
        if event.name == resumes.EVENT
    ]


def test_what_a_log_saved_and_loads_again_is_gone_on_from():
    assert [3] == resumed(SAVED, "a line", "Loading checkpoint from 'out/my run/last.ckpt'")


def test_a_path_without_quotes_is_one_too():
    assert [2] == resumed("Saved checkpoint to /c/7.pt.", "Loading weights of model from /c/7.pt")


@pytest.mark.parametrize("line", [
    "Loading checkpoint from 'weights/start.ckpt'",
    "Loading checkpoint from 'out/my run/last.ckpt' for evaluation",
    "Loading best checkpoint from 'out/my run/last.ckpt'",
    "Loading checkpoint",
])  # fmt: skip
def test_weights_to_begin_with_or_to_look_at_are_not(line):
    assert [] == resumed(SAVED, line)


def test_what_is_saved_later_was_not_loaded_from_here():
    assert [] == resumed("Loading checkpoint from 'out/my run/last.ckpt'", SAVED)


def test_a_line_that_has_a_form_of_its_own_is_one_event():
    line = "Resuming training from checkpoint /c/7.pt, loading model"
    assert [2] == resumed("Saved checkpoint to /c/7.pt", line)
