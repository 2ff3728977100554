"""Lines read by names alone: loops of one's own, blocks; and lines that nobody understands."""

import math

import pytest

from rankscope.formats import training_logs
from rankscope.formats.training_logs import named

AT = 1_787_000_000.0


def read(*lines, **more):
    return list(training_logs.read(lines, default_at=AT, **more))


def column(found, metric):
    name = f"training.{metric}"
    return [s.value for one in found for s in one.samples if s.metric == name]


def test_a_loop_of_ones_own_is_read_from_its_first_line_on():
    found = read("step 1 loss 2.5", "step 2 loss 2.25", "step 3 loss nan")
    assert [1, 2, 3] == column(found, "step")
    assert [2.5, 2.25] == column(found, "loss")[:2]
    assert math.isnan(column(found, "loss")[2])
    assert [1, 2, 3] == [one.line for one in found]


def test_a_line_whose_names_no_other_has_is_not_read_among_others():
    torn = "step 7 loss 9.5 lr: 1e-5"
    assert [2.5, 2.25] == column(read("step 1 loss 2.5", torn, "step 2 loss 2.25"), "loss")


@pytest.mark.parametrize(
    "line",
    [
        "step 10 validation loss 2.5",
        "Epoch 3: val loss: 2.5 step 10",
        "Eval step 10 loss 2.5",
        "{'eval_loss': 2.5, 'step': 10}",
        "packet loss 3 at step 5",
        "loss: cross_entropy, step: 10",
        "{'train_runtime': 9.5, 'train_loss': 2.5, 'epoch': 3.0}",
    ],
)
def test_what_is_no_loss_of_a_step_is_not_read(line):
    assert [] == column(read(line, line), "loss")


def test_a_rank_that_the_line_names_is_its_rank():
    lines = [f"2026-11-27 17:16:23,052 - INFO - [rank3]: step: {n} loss: 0.5" for n in (1, 2)]
    assert {3} == {dict(s.attributes)["rank"] for one in read(*lines) for s in one.samples}


def test_steps_that_begin_again_in_each_epoch_are_counted_on():
    lines = [f"Epoch [{e}/2], Step [{s}/3], Loss: 0.5" for e in (1, 2) for s in (1, 2, 3)]
    assert [1, 2, 3, 4, 5, 6] == column(read(*lines), "step")


def test_of_a_loop_that_names_its_epoch_alone_that_is_the_step():
    assert [1, 2] == column(read("epoch: 1 loss: 0.5", "epoch: 2 loss: 0.4"), "step")


def test_a_number_that_ends_a_line_without_a_point_may_be_cut_and_is_not_read():
    assert [] == column(read("loss 0.5 step 100", "loss 0.5 step 101"), "step")


def test_the_lines_of_a_block_are_of_the_step_that_heads_it():
    block = "[step={}/9,epoch=0]\n    train/CE loss={}\n".format
    found = read(*(block(1, "2.5") + block(2, "nan")).splitlines())
    (event,) = [event for one in found for event in one.events]
    assert (1, 2) == tuple(column(found, "step"))
    assert event.attributes["step"] == 2


def test_lines_that_look_like_values_and_are_not_understood_are_told_with_their_number():
    unknown = []
    found = read(
        "hello", "step 7 the loss was 2.5", unknown=lambda line, text: unknown.append((line, text))
    )
    assert ([], [(2, "step 7 the loss was 2.5")]) == (found, unknown)


def test_an_unknown_form_is_counted():
    parser = training_logs.TrainingLogParser(rank=0)
    parser.feed(b"step 7 the loss was 2.5\nstep 10 validation loss 2.5\nno values here\n", AT)
    assert parser.missed == {"unknown": 1}


@pytest.mark.parametrize("text", ["loss of signal", "step 3 of 4", "learning_rate: 1e-5 step: 3"])
def test_lines_without_a_loss_do_not_look_like_values(text):
    assert not named.looks_like_values(text)


def test_a_fault_in_a_line_with_values_is_reported():
    line = "step 7 loss 2.5 RuntimeError: CUDA error: device-side assert triggered"
    assert [["cuda.device_assert"]] * 2 == [
        [event.attributes["signature"] for event in one.events] for one in read(line, line)
    ]


def test_the_batch_of_an_epochs_batches_is_a_step_and_a_size_is_none():
    counted = [f"epoch: [2/9], batch: [{n}/700], train loss: 2.5" for n in (100, 200)]
    assert [100, 200] == column(read(*counted), "step")
    sized = [f"epoch: {n}, batch: 16, train loss: 2.5" for n in (1, 2)]
    assert [1, 2] == column(read(*sized), "step")
