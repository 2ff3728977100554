"""Logs that speak of no fault, nor of an end: where they end is told, and is no incident."""

import pytest

STEPS = "".join(f"step {n} loss {3 - n / 100:.3f} grad_norm 0.5\n" for n in range(1, 9))


def ending(explain, folder, text):
    (folder / "job.log").write_text(text)
    diagnosis = explain(folder)
    assert diagnosis.document() is None
    document = diagnosis.ending_document()
    if document is None:
        return None
    assert ("unknown", "info") == (
        document["root_cause"]["hypotheses"][0]["fault"],
        document["severity"],
    )
    (quote,) = document["leftovers"]["lines"]
    return quote["line"], quote["text"]


@pytest.mark.parametrize(
    "last",
    [
        "step 9 loss 2.910 grad_norm 0.5",
        "mmcv - INFO - Reducer buckets have been rebuilt in this iteration.",
        "Validation starts",
        "Epoch 3: 100%|##########| 1500/1500 [19:59<00:00,  1.25it/s]",
        "Graph compilation:  84%|########4 | 84/100 [1:09:59<20:26]",
    ],
)
def test_the_last_line_of_a_training_that_is_not_done_is_told(explain, tmp_path, last):
    assert (9, last) == ending(explain, tmp_path, STEPS + last + "\n\n")


@pytest.mark.parametrize(
    "last",
    [
        "Training complete",
        "{'train_runtime': 100.2, 'epoch': 3.0}",
        "Epoch 3/3: 100%|##########| 1500/1500 [19:59<00:00,  1.25it/s]",
        "saving final model",
        "finished",
        ':::MLLOG {"key": "run_stop", "value": null, "metadata": {"status": "success"}}',
        "3: ENDING TIMING RUN AT 2026-05-13 12:00:01 PM",
    ],
)
def test_one_that_is_done_has_no_open_end(explain, tmp_path, last):
    assert ending(explain, tmp_path, STEPS + last + "\n") is None


def test_a_file_that_is_no_log_of_a_training_has_none(explain, tmp_path):
    (tmp_path / "job.log").write_text(STEPS + "Training complete\n")
    (tmp_path / "notes.txt").write_text("buy bread\n")
    assert explain(tmp_path).ending_document() is None


def test_a_line_that_bears_out_nothing_hides_no_open_end(explain, tmp_path):
    socket = "n1:7:7 [0] NCCL INFO Using network Socket\n"
    last = "Rank 0 reached the barrier"
    assert (10, last) == ending(explain, tmp_path, socket + STEPS + last + "\n")


def test_a_count_of_items_is_no_progress(explain, tmp_path):
    text = "Epoch training begins\nTransferred 40/40 items from base.pt\nOptimizer groups: bias"
    assert (3, "Optimizer groups: bias") == ending(explain, tmp_path, text + "\n")


def test_a_log_without_a_known_line_that_says_that_it_is_done_is_understood(explain, tmp_path):
    (tmp_path / "job.log").write_text("rank 0 trains\nTraining complete\n")
    found = explain(tmp_path)
    assert "log that says at its end that it is done" == found.leftovers()["read"]["job.log"]
