"""Waits for data in lines of any form: which column is the step's is told by sums."""

import pytest

from rankscope.formats.training_logs import part_times

CYCLE = (0.0, 0.02, 0.01, 0.03)
"""What differs from row to row."""


def rows(form, waits):
    """Return lines of a form, from waits and what differs: `d` waits, `c` computes, `n` counts."""
    return [
        form.format(
            d=wait, c=1 + CYCLE[n % 4], s=wait + 1 + CYCLE[n % 4], b=0.4 - CYCLE[n % 4], n=n
        )
        for n, wait in enumerate(waits, 1)
    ]


def steps(form, waits):
    """Return by row what was waited and what the step took, in whole tenths."""
    (table,) = part_times.read(rows(form, waits))
    return [(round(row.waited, 1), round(row.took, 1)) for row in table]


NOW_AND_THEN = [0.1, 9.0, 0.1, 0.1, 8.0, 0.1, 0.1, 0.1, 9.5, 0.1]
ALWAYS = [2.0, 2.1] * 5


@pytest.mark.parametrize(
    "form",
    [
        "step {n:06d}/2000; rtime {d:.2f}; itime {s:.2f}; loss = 2.5",
        "step {n}: loss 2.5 d_time={d:.2f} step_t={s:.2f}",
        "[{n}/90] Data {d:.3f}s Batch {s:.3f}s Loss 2.5",
    ],
)
def test_a_column_that_is_longer_by_the_wait_whenever_that_is_long_is_the_step(form):
    assert [(9.0, 10.0), (0.1, 1.1)] == steps(form, NOW_AND_THEN)[1:3]


@pytest.mark.parametrize(
    "form",
    [
        "it {n} dt {s:.2f}s fetch {d:.2f}s fwd {c:.2f}s",
        "it {n} total: {s:.2f}s, t_data: {d:.2f}s, model: {c:.2f}s",
        "it {n} step {s:.2f} load_time {d:.2f} compute_time {c:.2f}",
    ],
)
def test_a_column_that_others_come_to_is_the_step(form):
    assert (2.0, 3.0) == steps(form, ALWAYS)[0]


@pytest.mark.parametrize(
    "form",
    [
        "step:{n} loss:2.5 updt_s:{c:.3f} data_s:{d:.3f}",
        "load_data_time: {d:.4f}, train_step_time: {c:.3f}.",
    ],
)
def test_where_none_is_the_step_is_what_all_come_to(form):
    assert (2.0, 3.0) == steps(form, ALWAYS)[0]


def test_of_several_parts_beside_a_short_wait_none_is_the_step():
    (first, *_) = steps(
        "it {n} data_time {d:.2f} forward_time {b:.2f} backward_time {c:.2f}", [0.1] * 9
    )
    assert (0.1, 1.5) == first


@pytest.mark.parametrize(
    "form",
    [
        "iter {n}: loss 2.5, time {c:.2f}ms, mfu 20.1%",
        "step {n} loss 2.5 dt {c:.2f}s tok/s 12000.5",
        "step {n} reward {c:.2f} r {d:.2f} kl 0.5",
        "step {n} dt {d:.2f}s lr 0.1 time {c:.2f}s",
        "data {n} of 40 loaded, eta {c:.2f}s",
        "loaded data: {n} time so far: {n}.5s",
    ],
    ids=["no wait", "time of a step", "a reward", "of no sum", "what is left", "time so far"],
)
def test_lines_that_name_no_wait_or_no_sum_have_none(form):
    assert [] == part_times.read(rows(form, ALWAYS))


def test_few_lines_make_no_table():
    assert [] == part_times.read(rows("data_time {d:.1f} time {s:.1f}", ALWAYS[:7]))
