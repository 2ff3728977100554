"""Columns of counts and times in lines of any form."""

import pytest

from rankscope.formats.training_logs import paced

SECONDS = [14.2, 14.5, 14.1, 14.4, 14.3, 14.6, 14.2, 53.5]


def clock(seconds):
    return f"{int(seconds) // 3600}:{int(seconds) // 60 % 60:02}:{int(seconds) % 60:02}"


FORMS = {
    "words": lambda n, s: f"Epoch {n} took {s:.1f}s",
    "dated": lambda n, s: f"2026-05-05 07:58:{n:02},031\tINFO\t====> Epoch: {n}, cost {s:.1f} s",
    "dots": lambda n, s: f"Start Training {n} Epoch..0%..10%..50%....[success][{s:.1f} seconds]",
    "named": lambda n, s: f"[{n}/90] lr=0.1 acc 71.2 time(s): {s:.1f}",
    "minutes": lambda n, s: f"epoch {n} done in {s / 60:.5f} min",
    "rate": lambda n, s: f"| iter {n}00 | {1 / s:.6f} it/s |",
    "each": lambda n, s: f"batch {n}0 {s:.1f} s/it (ETA 3:12:11)",
    "apart": lambda n, s: f"time this epoch= {s:.1f}",
}


@pytest.mark.parametrize("form", FORMS)
def test_how_long_each_took_stands_in_the_column_with_a_unit_of_time(form):
    lines = [FORMS[form](number, took) for number, took in enumerate(SECONDS, 1)]
    (rows,) = paced.read(lines)
    assert pytest.approx(SECONDS, rel=0.01) == [row.seconds for row in rows]
    assert list(range(1, 9)) == [row.line for row in rows]


def test_of_a_bar_that_is_complete_it_is_the_time_that_it_took():
    bars = [
        f"Epoch {n}: 100%|██████████| 500/500 [{clock(s * 60)}<00:00, {500 / s / 60:.2f}it/s]"
        for n, s in enumerate(SECONDS, 1)
    ]
    (rows,) = paced.read(bars)
    assert pytest.approx([60 * one for one in SECONDS], abs=1) == [row.seconds for row in rows]
    assert list(range(1, 9)) == [row.count for row in rows]


@pytest.mark.parametrize("rate", [0.7, 1.3, 9.0])
def test_of_a_bar_that_is_not_full_the_time_so_far_is_no_row_s(rate):
    """Whole seconds since its begin stand in several rows; its rate tells how long each took."""
    bars = [
        f"Epoch 3:  {n // 3}%|###| {n}/300 [{clock(n / rate)[2:]}<03:40, {rate}it/s]"
        for n in range(20, 60)
    ]
    (rows,) = paced.read(bars)
    assert pytest.approx(1 / rate, rel=0.5) == paced.middle(row.seconds for row in rows)
    assert max(row.seconds for row in rows) < 5


def of_units(seconds):
    hours, rest = divmod(round(seconds), 3600)
    parts = [(hours, "h"), (rest // 60, "m"), (rest % 60, "s")]
    return " ".join(f"{count}{unit}" for count, unit in parts if count) or "0s"


def test_a_time_of_several_units_is_one_and_what_remains_is_none():
    took = [50, 55, 3600, 3660, 3605, 7265, 61, 59]
    lines = [
        f"{n}:\tlearn: 0.5\ttotal: {of_units(sum(took[:n]))}\tremaining: {of_units(7200 - 41 * n)}"
        for n in range(1, 9)
    ]
    (rows,) = paced.read(lines)
    assert took[1:] == [round(row.seconds) for row in rows[1:]]


@pytest.mark.parametrize("text", ["3 m 4 s/it", "2 d 5", "m 5s"])
def test_numbers_with_units_that_are_no_parts_of_one_time_stay_apart(text):
    lines = [f"step {n} cost {text} {n}" for n in range(1, 9)]
    assert all(row.seconds < 200 for rows in paced.read(lines) for row in rows)


def test_time_so_far_is_told_from_the_time_of_each():
    so_far = [f"step {n * 100} elapsed {sum(SECONDS[:n]):.1f} s" for n in range(1, 9)]
    (rows,) = paced.read(so_far)
    assert pytest.approx(SECONDS[1:]) == [row.seconds for row in rows[1:]]


@pytest.mark.parametrize(
    "form",
    [
        lambda n, s: f"epoch {n} ETA {s:.1f} s",
        lambda n, s: f"epoch {n} remaining: {clock(s)}",
        lambda n, s: f"epoch {n} acc {s:.1f}",
        lambda n, s: f"request took {s:.1f} s",
    ],
    ids=["eta", "remaining", "no time", "no count"],
)
def test_other_columns_are_not_read(form):
    assert [] == paced.read([form(n, s) for n, s in enumerate(SECONDS, 1)])


def test_few_lines_are_no_table():
    assert [] == paced.read([FORMS["words"](n, 10.0) for n in range(1, paced.ENOUGH)])


def test_blanks_that_pad_numbers_make_no_other_form():
    lines = [f"Epoch {n:>4} | took {seconds:>6} s" for n, seconds in enumerate(range(97, 104), 8)]
    (rows,) = paced.read(lines)
    assert list(range(97, 104)) == [row.seconds for row in rows]


def test_the_time_so_far_of_rows_that_leave_others_out_is_spread_over_those():
    shown = [1, 2, 3, 40, 41, 42, 43]
    (rows,) = paced.read([f"{n}/63 batches, {clock(n * 90)} elapsed" for n in shown])
    assert {90.0} == {row.seconds for row in rows}


def test_rows_of_other_totals_are_other_tables():
    """An epoch of training and one of validation alternate."""
    lines = [f"{n}/{n} ({s} s)" for _ in range(paced.ENOUGH) for n, s in ((1024, 606), (16, 3))]
    assert [{606.0}, {3.0}] == [{row.seconds for row in rows} for rows in paced.read(lines)]


def test_a_count_that_begins_anew_is_that_of_another_run():
    (rows,) = paced.read(FORMS["rate"](n, s) for s in (0.5, 1.5) for n in range(1, 9))
    assert 16 == len(rows)


def test_a_count_that_begins_anew_again_and_again_counts_inside_epochs():
    assert [] == paced.read(FORMS["rate"](n, 0.5) for _ in range(5) for n in range(1, 9))


def test_a_rate_that_falls_at_each_line_is_no_time_so_far():
    (rows,) = paced.read(f"iter {n}0 {200 - 9 * n}.0 samples/s" for n in range(1, 10))
    assert pytest.approx(1 / 191) == rows[0].seconds
