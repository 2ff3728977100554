"""Failures of services once a training is complete, and of the training itself."""

import pytest

STEPS = "".join(f"step {n} loss {3 - n / 100:.3f} grad_norm 0.5\n" for n in range(1, 9))
DONE = "Training finished, model is in out/final.pt\n"
UPLOAD = """\
tracker: sending what is left
Traceback (most recent call last):
  File "/env/tracker/sender.py", line 24, in upload_file
    reply.raise_for_status()
requests.exceptions.HTTPError: {} for url: http://10.0.0.9/files
"""
WORDS = ("507 Server Error: Insufficient Storage", "403 Client Error: Forbidden")


def severity(explain, folder, text):
    (folder / "job.log").write_text(text)
    document = explain(folder).document()
    return "info" if document is None else document["severity"]


@pytest.mark.parametrize("words", WORDS)
def test_an_upload_that_fails_after_the_training_is_no_fault_of_it(explain, tmp_path, words):
    text = STEPS + DONE + UPLOAD.format(words)
    assert "info" == severity(explain, tmp_path, text)


@pytest.mark.parametrize(
    "text",
    [
        STEPS + UPLOAD.format(WORDS[0]),
        STEPS + DONE + STEPS + UPLOAD.format(WORDS[0]),
        STEPS + "Training of epoch 1 done\n" + UPLOAD.format(WORDS[0]),
        STEPS
        + DONE
        + 'Traceback (most recent call last):\n  File "a.py", line 1, in last\nKeyError: 3\n',
    ],
    ids=["before its end", "of a training that went on", "of an epoch", "an error of its own"],
)
def test_a_failure_that_ended_the_job_is(explain, tmp_path, text):
    assert "critical" == severity(explain, tmp_path, text)
