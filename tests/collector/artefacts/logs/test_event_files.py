"""TensorBoard event files of a job whose output nobody kept."""

import math
from datetime import UTC

import pytest
from tests.formats.tensorboard.test_event_files import event, record

from rankscope.formats.wire import FIXED64, block, tag

AT = 1_790_000_000.0
VERSION = record(tag(1, FIXED64) + bytes(8) + block(3, b"brain.Event:2"))


def run(losses, *, first=0, name="train/loss", at=AT):
    written = (event(first + n, loss, name, at=at + 10.0 * n) for n, loss in enumerate(losses, 1))
    return VERSION + b"".join(written)


@pytest.fixture
def explained(explain, tmp_path):
    """Return a function that diagnoses files, given as path and bytes."""

    def diagnosis(files):
        for path, data in files.items():
            file = tmp_path / "left" / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
        return explain(tmp_path / "left", zone=UTC)

    return diagnosis


def first_cause(found):
    document = found.document()
    return document and document["root_cause"]["hypotheses"][0]["fault"]


FALLS = [3.0 - 0.03 * n for n in range(40)]
NAME = "runs/a/events.out.tfevents.1790000000.node-7.4711.0"


def test_a_loss_that_is_no_number_at_the_end_is_told_with_its_event(explained):
    found = explained({NAME: run([*FALLS, math.nan, math.nan])})
    document = found.document()
    assert "critical" == document["severity"]
    (line,) = document["leftovers"]["lines"]
    assert (NAME, "train/loss nan") == (line["file"], line["text"])


def test_a_loss_that_is_lost_is_a_divergence(explained):
    lost = [8.0 + 0.1 * (n % 7) for n in range(40)]
    assert "numerics.divergence" == first_cause(explained({NAME: run([*FALLS, *lost])}))


def test_one_that_falls_is_quiet(explained):
    found = explained({NAME: run(FALLS)})
    assert found.document() is None
    assert "40 of which say something" in found.found.read[NAME]


def test_a_run_that_goes_on_in_another_file_with_a_higher_loss_is_a_bad_resume(explained):
    again = run([2.9 + 0.01 * (n % 3) for n in range(20)], first=40, at=AT + 4000)
    found = explained({NAME: run(FALLS), NAME.replace("4711", "4899"): again})
    assert "numerics.bad_resume" == first_cause(found)


def test_of_several_runs_the_one_that_wrote_last_is_asked_about(explained):
    broken = run([*FALLS, math.nan, math.nan])
    newest = run(FALLS, at=AT + 90_000)
    other = NAME.replace("/a/", "/b/")
    found = explained({NAME: broken, other: newest})
    assert found.document() is None
    assert "earlier run" in found.found.read[NAME]


def test_curves_of_other_tags_are_no_training(explained):
    found = explained({NAME: run(FALLS), NAME.replace("/a/", "/a/eval/"): run(
        [9.0] * 30, name="eval/accuracy", at=AT + 50_000
    )})  # fmt: skip
    assert found.document() is None
    assert "40 of which say something" in found.found.read[NAME]


def test_a_log_that_tells_the_losses_is_believed_first(explained):
    log = "".join(f"step {n} loss {loss:.4f} grad_norm 1.0\n" for n, loss in enumerate(FALLS))
    found = explained({"job.log": log.encode(), NAME: run([*FALLS, math.nan, math.nan])})
    assert found.document() is None
    assert "which the logs tell too" in found.found.read[NAME]


@pytest.mark.parametrize("kept", [len(VERSION) + 5, -3])
def test_a_file_that_is_torn_is_read_as_far_as_it_goes(explained, kept):
    data = run(FALLS)
    found = explained({NAME: data[:kept], "job.log": b"Epoch 1\n"})
    assert not found.others
    assert NAME in {**found.found.read, **found.found.unread}


def test_records_of_other_data_are_no_events(explained):
    data = record(b"\x0a\x05image") * 20
    found = explained({"train-00000.tfrecord": data, NAME: run(FALLS)})
    assert "no log" in found.found.unread["train-00000.tfrecord"]
