"""Losses that climb away from where a training was taken up again."""

import pytest
from tests.collector.artefacts.test_always_an_answer import said

from rankscope.collector.artefacts.logs import resumed_losses
from rankscope.vocabulary.log_lines import RESUME_CLIMBS, RESUME_EXPLAINED

ROW = "epoch {epoch} step {n}: loss {loss:.4f} lr {rate:.6f}"
TESTED = "validation: loss 0.31 accuracy 0.95"
LOADED = "=> loaded checkpoint 'out/14.pth' (epoch 14)"
RESUMED = "Resuming training from checkpoint-400"
CLIMB = [0.30, 0.28, 0.36, 0.52, 0.71, 0.83, 0.80, 0.86]
SAME = [0.30, 0.28, 0.33, 0.27, 0.31, 0.29, 0.30, 0.28]


def rows(losses, *, first=401, epoch=14, rates=(), form=ROW):
    return [
        form.format(epoch=epoch, n=first + n, loss=loss, rate=rates[n] if rates else 0.001)
        for n, loss in enumerate(losses)
    ]


def told(*lines):
    found = resumed_losses.read([one for part in lines for one in part])
    if found is None or found.signature != RESUME_CLIMBS:
        return None
    return found.line, found.guessed


BEFORE = rows(SAME, first=393)


@pytest.mark.parametrize(
    ("above", "guessed"),
    [
        ([*BEFORE, RESUMED], False),
        ([*BEFORE, RESUMED, TESTED], False),
        ([RESUMED, TESTED], False),
        ([LOADED, TESTED], False),
        ([TESTED], True),
    ],
    ids=["rows before", "both", "an evaluation", "of a checkpoint", "nobody says that it resumed"],
)
def test_a_loss_that_begins_as_it_was_and_climbs_is_told(above, guessed):
    assert (len(above) + len(CLIMB), guessed) == told(above, rows(CLIMB))


@pytest.mark.parametrize(
    ("above", "losses", "changed"),
    [
        ([*BEFORE, RESUMED], SAME, {}),
        ([*BEFORE, RESUMED], [0.95, 0.9, 0.96, 0.92, 0.91, 0.97], {}),
        ([*BEFORE, RESUMED], [*CLIMB, 0.6, 0.41, 0.35], {}),
        ([*BEFORE, RESUMED], [*CLIMB[:5], 0.35], {}),
        ([*BEFORE, RESUMED], CLIMB, {"rates": [n / 1000 for n in range(1, 9)]}),
        ([*BEFORE, RESUMED], CLIMB, {"form": "step {n}: avg_loss {loss:.4f}"}),
        ([*BEFORE, RESUMED], [1.6 * CLIMB[0], 0.5, 0.6, 0.7, 0.9, 1.1, 1.2], {}),
        ([*BEFORE, RESUMED], CLIMB[:4], {}),
        (BEFORE, CLIMB, {}),
        ([TESTED], CLIMB, {"epoch": 1}),
        ([RESUMED], CLIMB, {}),
    ],
    ids=[
        "as before", "other data", "it comes down again", "one row is low", "the rate warms up",
        "an average that begins anew", "higher from the first on", "few rows", "no resume",
        "the first epoch", "no level",
    ],
)  # fmt: skip
def test_any_other_loss_says_nothing_of_a_resume(above, losses, changed):
    assert told(above, rows(losses, **changed)) is None


def test_the_training_was_not_taken_up_as_it_had_been(explain, tmp_path):
    (tmp_path / "job.log").write_text("\n".join([RESUMED, TESTED, *rows(CLIMB)]))
    diagnosis = explain(tmp_path)
    assert "numerics.bad_resume" == said(diagnosis)[0]
    assert "critical" == diagnosis.document()["severity"]


def test_where_nobody_says_that_it_resumed_it_is_for_information(explain, tmp_path):
    (tmp_path / "job.log").write_text("\n".join([TESTED, *rows(CLIMB)]))
    diagnosis = explain(tmp_path)
    assert "info" == diagnosis.document()["severity"]


JUMP = [0.41, 0.43, 0.42, 0.44, 0.41, 0.42, 0.43, 0.41, 0.42, 0.44, 0.43, 0.42]
BUMP = [0.30, 0.31, 0.34, 0.37, 0.39, 0.41, 0.42, 0.42, 0.41, 0.40, 0.38, 0.36, 0.34, 0.32, 0.30]
STEADY = [0.30 + n % 3 / 500 for n in range(12)]
KEPT = rows(STEADY, first=389)
EXPLAINED = {
    "evaluated as before": [*KEPT, TESTED, RESUMED, TESTED, *rows(JUMP)],
    "a mean": [
        *rows(STEADY, first=389, form="step {n}: avg_loss {loss:.4f}"),
        RESUMED,
        *rows(JUMP, form="step {n}: avg_loss {loss:.4f}"),
    ],
    "a warm-up": [*KEPT, RESUMED, *rows(BUMP, rates=[1e-4 * (n + 1) for n in range(len(BUMP))])],
}
OTHERS = {
    "a jump": [*KEPT, RESUMED, *rows(JUMP)],
    "evaluated as worse": [*KEPT, TESTED, RESUMED, TESTED.replace("0.31", "0.40"), *rows(JUMP)],
    "a warm-up from above": [
        *KEPT, RESUMED, *rows(JUMP, rates=[1e-4 * (n + 1) for n in range(len(JUMP))])
    ],
}  # fmt: skip


@pytest.mark.parametrize("lines", EXPLAINED.values(), ids=EXPLAINED)
def test_what_explains_a_loss_that_is_higher_since_a_resume_makes_it_none_that_failed(
    explain, tmp_path, lines
):
    found = resumed_losses.read(lines)
    assert found is not None
    assert RESUME_EXPLAINED == found.signature
    (tmp_path / "job.log").write_text("\n".join(lines))
    diagnosis = explain(tmp_path)
    assert diagnosis.incident is None or "numerics.bad_resume" != said(diagnosis)[0]


@pytest.mark.parametrize("lines", OTHERS.values(), ids=OTHERS)
def test_a_loss_that_nothing_explains_is_one_that_failed(explain, tmp_path, lines):
    assert resumed_losses.read(lines) is None
    (tmp_path / "job.log").write_text("\n".join(lines))
    assert "numerics.bad_resume" == said(explain(tmp_path))[0]
