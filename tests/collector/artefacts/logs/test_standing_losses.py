"""Losses of several networks of which one has won for good."""

import pytest
from tests.collector.artefacts.test_always_an_answer import said

from rankscope.collector.artefacts.logs import standing_losses

FORMS = {
    "a gan": "[{}/900] D_loss: {:.4f} G_loss: {:.4f}",
    "a table": "iter {} | d_loss={:.4f} | g_loss={:.4f}",
    "a count": "{}: loss_real {:.5f} loss_fake {:.5f}",
}
PLAYS = [(0.7 - n % 3 / 10, 0.6 + n % 5 / 10) for n in range(12)]


def lines(pairs, form="a gan"):
    return [FORMS[form].format(10 * n, *pair) for n, pair in enumerate(pairs, 1)]


@pytest.mark.parametrize("form", FORMS)
def test_one_of_zero_beside_one_that_stands_is_told_since_its_first_row(form):
    row = standing_losses.standing(lines([*PLAYS, *[(0.0, 27.6310)] * 15], form))
    assert row is not None
    assert 13 == row[0]


@pytest.mark.parametrize("pairs", [
    PLAYS * 3,
    [*PLAYS, *[(0.0, 0.5 + n / 90) for n in range(15)]],
    [*PLAYS, *[(0.001, 0.5)] * 15],
    [*PLAYS, *[(0.0, 0.0)] * 15],
    [*PLAYS, *[(0.0, 0.5)] * 6],
    [(0.0, 0.5)] * 30,
    [*[(0.0, 0.4 + n / 90) for n in range(12)], *[(0.0, 0.7)] * 15],
], ids=["they play", "one moves", "small", "both", "few", "always", "0 before"])  # fmt: skip
def test_losses_that_are_small_or_move_or_were_always_so_are_not(pairs):
    assert standing_losses.standing(lines(pairs)) is None


def test_the_training_has_come_to_a_plateau(explain, tmp_path):
    game = [(pair[0], 3.0 + pair[1]) for pair in PLAYS] * 2
    (tmp_path / "job.log").write_text("\n".join(lines([*game, *[(0.0, 3.5)] * 20])))
    assert "numerics.plateau" == said(explain(tmp_path))[0]


def epochs(pairs):
    row = "1563/1563 [=====] - 46s - loss: {:.4f} - acc: {:.4f} - val_loss: 1.9 - val_acc: 0.3"
    return [line for pair in pairs for line in ("Epoch 7/100", row.format(*pair))]


@pytest.mark.parametrize("pairs", [
    [(2.3026, 0.1 + n % 3 / 1000) for n in range(15)],
    [(1.9, 0.3), (1.5, 0.4), *[(4.6060 - n % 2 / 1000, 1.0 + n % 2 / 100) for n in range(12)]],
], ids=["ten classes", "a hundred, in percent, after it got on"])  # fmt: skip
def test_the_loss_of_a_guess_beside_its_accuracy_is_told(pairs):
    assert standing_losses.guessing(epochs(pairs)) is not None


@pytest.mark.parametrize("pairs", [
    [(2.3026, 0.1)] * 8,
    [(2.3026 - n / 500, 0.1 + n / 900) for n in range(12)],
    [(2.30, 0.4)] * 15,
    [(2.0, 0.1)] * 15,
    [*[(2.3026, 0.1)] * 15, (2.1, 0.2)],
    [(0.0, 0.0)] * 15,
], ids=["few", "it gets on", "better", "another loss", "it learns", "nothing"])  # fmt: skip
def test_what_is_no_guess_is_not(pairs):
    assert standing_losses.guessing(epochs(pairs)) is None
