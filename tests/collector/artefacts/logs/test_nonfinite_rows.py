"""Rows of numbers in tables and lines that no table knows, of which one is none any more."""

import pytest
from tests.collector.artefacts.test_always_an_answer import said

from rankscope.collector.artefacts.logs import nonfinite_rows

FORMS = {
    "darknet": lambda n, x: f"{n}: {x}, {x} avg loss, 0.001000 rate, 3.2 seconds, {n * 64} images",
    "markdown": lambda n, x: f"| {n} | train | {x} |",
    "list": lambda n, x: f"- epoch {n}: train {x} / val 2.31",
    "cost": lambda n, x: f"round {n} cost {x}",
}  # fmt: skip
NONE = ["nan", "-nan", "-nan(ind)", "inf", "1.#QNAN0", "-1.#IND"]


def document(explain, folder, lines):
    (folder / "job.log").write_text("\n".join(lines) + "\n")
    return explain(folder)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("written", NONE)
def test_a_loss_that_is_no_number_up_to_the_last_row_is_told_since_its_first(
    explain, tmp_path, form, written
):
    rows = [f"{9 / n:.4f}" for n in range(1, 6)] + [written] * 4
    diagnosis = document(explain, tmp_path, map(FORMS[form], range(1, 10), rows))
    assert ("unknown", 6) == (said(diagnosis)[0], diagnosis.leftovers()["lines"][0]["line"])


@pytest.mark.parametrize("lines", [
    [FORMS["list"](n, "2.1").replace("2.31", "nan") for n in range(1, 9)],
    [FORMS["list"](n, x) for n, x in enumerate(["2.1", "nan", "2.0", "1.9", "1.8"])],
    [f"mAP nan AP small {n}.0 of class {n}" for n in range(9)],
    [FORMS["cost"](n, "2.1") for n in range(9)],
], ids=["validation", "one row", "a measure", "finite"])  # fmt: skip
def test_rows_whose_loss_is_a_number_at_the_end_are_not(lines):
    assert ((), 0) == nonfinite_rows.lost(lines)


SUMMARIES = {
    "wandb": "wandb: Run summary:\nwandb:   train/loss {}\nwandb:           lr 0.0\n",
    "a tracker": "Run summary:\n  epoch | 3\n  loss  | {}\n",
    "json": '{{"epoch": 3.0, "train_loss": {}, "train_runtime": 12.5}}\n',
    "json lines": '{{\n  "lr": 0.1,\n  "loss": "{}"\n}}\n',
}


@pytest.mark.parametrize("form", SUMMARIES)
@pytest.mark.parametrize("written", ["nan", "NaN", "Infinity"])
def test_a_summary_tells_that_a_loss_is_none(form, written):
    (row,) = nonfinite_rows.summed_up(SUMMARIES[form].format(written).split("\n"))
    assert written in row.text


@pytest.mark.parametrize("text", [
    *(one.format("0.31") for one in SUMMARIES.values()),
    "wandb: Run summary:\nwandb: eval/loss nan\n",
    "wandb: loss nan\n",
    '{"loss": NaN, "n": 1}\n{"loss": 0.3, "n": 2}\n',
], ids=[*SUMMARIES, "an evaluation", "no summary", "finite at last"])  # fmt: skip
def test_other_summaries_tell_nothing(text):
    assert () == nonfinite_rows.summed_up(text.split("\n"))
