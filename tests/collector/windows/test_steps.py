"""The step grid: planes of [ranks, steps] on the ruler of step indices."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples

from rankscope.collector.windows import columns as columns_of
from rankscope.collector.windows import steps as grid_of
from rankscope.collector.windows.steps import REPORTED_NAN, STEP_INDEX_TIMEOUT_SECONDS, StepGrid

START = 1_000.0
LOSS = "training.loss|local"
STEP = StepGrid.STEP


class Told:
    """A grid, and batches of (metric, rank, at, value) that are reported to it."""

    def __init__(self):
        self.grid = StepGrid()

    def batch(self, *points, now=None):
        planes = np.array([self.grid.plane(name) for name, *_ in points])
        rows = np.array([rank for _, rank, *_ in points])
        self.grid.add(int(rows.max()) + 1)
        at = np.array([START + second for *_, second, _ in points], float)
        value = np.array([value for *_, value in points], float)
        self.grid.append(planes, rows, at, value, at.max() if now is None else START + now)

    def step(self, rank, index, at, loss=None, **more):
        points = [(STEP, rank, at, index)]
        if loss is not None:
            points.append((LOSS, rank, at, loss))
        self.batch(*points, **more)

    def matrix(self, name=LOSS):
        view = self.grid.view()
        # Values are float32: as short as they were written.
        values = [[float(str(np.float32(one))) for one in row] for row in view.plane(name)]
        return view.index.tolist(), values


@pytest.fixture
def valid() -> Told:
    return Told()


def test_points_of_one_rank_and_time_belong_to_the_step_told_with_them(valid):
    valid.step(0, 7, at=1, loss=2.5)
    valid.step(1, 7, at=1.1, loss=2.6)
    valid.step(0, 8, at=2, loss=2.4)
    index, loss = valid.matrix()
    assert [7, 8] == index
    np.testing.assert_array_equal([[2.5, 2.4], [2.6, np.nan]], loss)
    np.testing.assert_array_equal(
        [[START + 1, START + 2], [START + 1.1, np.nan]], valid.grid.view().at
    )


def test_one_rank_with_an_absurd_step_index_does_not_move_the_others_ruler(valid):
    valid.step(0, 7, at=1, loss=2.5)
    valid.step(1, 9_000_000_000, at=1.1)
    valid.step(0, 8, at=2, loss=2.4)
    assert [7, 8] == valid.matrix()[0]
    assert 1 == valid.grid.late


def test_the_step_index_itself_is_no_plane(valid):
    valid.step(0, 7, at=1, loss=2.5)
    assert [LOSS] == list(valid.grid.view().planes)


def test_a_reported_nan_a_reported_infinity_and_nothing_reported_are_three_things(valid):
    valid.step(0, 0, at=1, loss=np.nan)
    valid.step(0, 1, at=2, loss=np.inf)
    valid.step(0, 2, at=3)
    np.testing.assert_array_equal([[REPORTED_NAN, np.inf, np.nan]], valid.matrix()[1])


def test_a_point_that_comes_before_its_step_waits_for_it(valid):
    valid.step(0, 0, at=1)
    valid.batch((LOSS, 0, 2, 2.4), now=2)
    assert ([0], [[pytest.approx(np.nan, nan_ok=True)]]) == valid.matrix()
    valid.step(0, 1, at=2, now=4)
    assert 2.4 == valid.matrix()[1][0][1]
    assert 0 == valid.grid.late


def test_what_waits_is_looked_for_only_when_a_step_ends_that_may_be_its_own(valid, monkeypatch):
    valid.step(0, 0, at=1)
    valid.batch((LOSS, 0, 2, 2.4), now=2)
    looked = []
    find = StepGrid._find

    def noted(grid, *asked):
        looked.append(asked)
        return find(grid, *asked)

    monkeypatch.setattr(StepGrid, "_find", noted)
    valid.step(0, 2, at=3, now=3)
    valid.step(1, 1, at=2, now=3)
    assert [] == looked
    valid.step(0, 1, at=2, now=4)
    assert 1 == len(looked)
    assert 2.4 == valid.matrix()[1][0][1]


def test_a_point_of_an_old_step_finds_it_once_later_steps_are_undone(valid, monkeypatch):
    monkeypatch.setattr(grid_of, "LOOK_BACK", 2)
    for index in range(5):
        valid.step(0, index, at=index)
    valid.batch((LOSS, 0, 1, 2.4), now=5)
    assert np.isnan(valid.matrix()[1][0]).all()
    valid.step(0, 2, at=6, now=6)
    assert 2.4 == valid.matrix()[1][0][1]


def test_a_point_whose_step_never_comes_is_counted_as_late(valid):
    valid.step(0, 0, at=1)
    valid.batch((LOSS, 0, 1.5, 2.4), now=2)
    valid.step(0, 1, at=2, now=2 + STEP_INDEX_TIMEOUT_SECONDS)
    assert 1 == valid.grid.late


def test_a_point_that_comes_after_its_step_finds_it(valid):
    for index in range(5):
        valid.step(0, index, at=index)
    valid.batch((LOSS, 0, 2, 2.4), now=9)
    assert 2.4 == valid.matrix()[1][0][2]


def test_duplicates_change_nothing(valid):
    valid.step(0, 0, at=1, loss=2.5)
    before = valid.matrix()
    valid.step(0, 0, at=1, loss=2.5)
    assert before == valid.matrix()


def test_steps_that_come_late_open_their_columns(valid):
    for index in (0, 1, 5, 6):
        valid.step(0, index, at=index, loss=index)
    for index in (3, 2, 4):
        valid.step(1, index, at=index, loss=10 * index)
    index, loss = valid.matrix()
    assert [0, 1, 2, 3, 4, 5, 6] == index
    nan = np.nan
    np.testing.assert_array_equal(
        [[0, 1, nan, nan, nan, 5, 6], [nan, nan, 20, 30, 40, nan, nan]], loss
    )


def test_steps_that_were_forgotten_are_not_opened_again_by_late_ones(valid, monkeypatch):
    monkeypatch.setattr(columns_of, "MOST_COLUMNS", 300)
    for index in range(0, 800, 2):
        valid.step(0, index, at=index)
    valid.step(1, 201, at=201)
    valid.step(1, 199, at=199)
    assert [201, 202, 204] == valid.grid.view().index[:3].tolist()
    assert 300 == valid.grid.used
    assert 1 == valid.grid.late


def test_a_step_older_than_the_first_one_heard_has_its_column_too(valid):
    valid.step(0, 5, at=5, loss=5)
    valid.step(1, 4, at=4, loss=4)
    assert [4, 5] == valid.matrix()[0]


def test_sparse_step_indices_have_a_column_each(valid):
    for index in range(0, 1000, 100):
        valid.step(0, index, at=index)
    assert list(range(0, 1000, 100)) == valid.grid.view().index.tolist()


def test_a_gap_in_one_ranks_steps_stays_a_gap(valid):
    for index in range(6):
        valid.step(0, index, at=index, loss=1)
        if index not in (2, 3):
            valid.step(1, index, at=index + 0.1, loss=1)
    assert [False, False, True, True, False, False] == np.isnan(valid.matrix()[1][1]).tolist()


def test_a_rank_that_goes_back_to_a_checkpoint_undoes_what_it_told_of_later_steps(valid):
    for rank in (0, 1):
        for index in range(6):
            valid.step(rank, index, at=index, loss=index)
    valid.step(0, 3, at=10, loss=33)
    index, loss = valid.matrix()
    assert [0, 1, 2, 3, 4, 5] == index
    np.testing.assert_array_equal([0, 1, 2, 33, np.nan, np.nan], loss[0])
    np.testing.assert_array_equal([0, 1, 2, 3, 4, 5], loss[1])
    valid.step(1, 3, at=10, loss=33)
    assert [0, 1, 2, 3] == valid.matrix()[0]
    assert 3 == valid.grid.last_index[0]


def test_a_job_that_goes_back_beyond_all_that_is_remembered_begins_anew(valid):
    for index in range(100, 105):
        valid.step(0, index, at=index, loss=index)
    valid.step(0, 0, at=200, loss=1)
    assert ([0], [[1.0]]) == valid.matrix()


def test_the_first_end_of_a_step_stands_however_often_it_is_reported(valid):
    valid.step(0, 4, at=1, loss=1)
    valid.step(0, 5, at=2, loss=2)
    for second in range(10, 60, 10):
        valid.step(0, 5, at=second, loss=2)
    assert [START + 1, START + 2] == valid.grid.view().at[0].tolist()
    assert (START + 2, 5) == (valid.grid.last_at[0], valid.grid.last_index[0])
    valid.step(0, 4, at=70, loss=3)
    valid.step(0, 5, at=80, loss=4)
    assert [START + 70, START + 80] == valid.grid.view().at[0].tolist(), "rolled back"


def test_an_old_step_told_again_is_no_going_back(valid):
    for index in range(6):
        valid.step(0, index, at=index, loss=index)
    valid.step(0, 2, at=2, loss=2)
    assert 6 == len(valid.matrix()[0])
    assert 5 == valid.grid.last_index[0]


def test_ranks_may_join_later(valid):
    valid.step(0, 0, at=0, loss=1)
    for rank in range(1, 20):
        valid.step(rank, 1, at=1 + rank / 100, loss=rank)
    _, loss = valid.matrix()
    assert [1.0, *range(1, 20)] == [loss[0][0], *(row[1] for row in loss[1:])]


def test_planes_may_join_later(valid):
    valid.step(0, 0, at=0)
    valid.batch((STEP, 0, 1, 1), ("training.tokens", 0, 1, 4096))
    np.testing.assert_array_equal([[np.nan, 4096]], valid.grid.view().plane("training.tokens"))


def test_the_source_that_the_contract_names_first_wins_whichever_is_heard_first(valid):
    plane = valid.grid.plane(LOSS)
    valid.grid.add(2)

    def claim(row, source, series):
        rows, sources = np.array([row]), np.array([source], np.int8)
        may, worse = valid.grid.claim(plane, rows, sources, np.array([series], np.int32))
        return bool(may[0]), worse.tolist()

    assert (True, []) == claim(0, 1, 10)
    assert (True, [10]) == claim(0, 0, 11), "series 10 must stop"
    assert (False, []) == claim(0, 1, 12)
    assert (True, []) == claim(0, 0, 13), "equals write both"
    assert (True, []) == claim(1, 5, 14)
    valid.grid.add(12)
    assert (True, [14]) == claim(1, 2, 15), "also after the table grew"


def test_where_nobody_tells_steps_the_times_of_each_rank_are_counted(valid):
    for second in range(15):
        valid.batch((LOSS, 0, second, second), (LOSS, 1, second + 0.1, 10 * second), now=second)
    index, loss = valid.matrix()
    assert list(range(1, 16)) == index
    np.testing.assert_array_equal(np.arange(15), loss[0])
    np.testing.assert_array_equal(10 * np.arange(15), loss[1])


def test_two_metrics_of_one_time_are_one_counted_step(valid):
    for second in range(12):
        valid.batch((LOSS, 0, second, 1), ("training.tokens", 0, second, 2), now=second)
    assert list(range(1, 13)) == valid.matrix()[0]
    assert {2.0} == set(valid.grid.view().plane("training.tokens")[0])


@pytest.mark.parametrize("index", [np.nan, np.inf, -np.inf, 1e300])
def test_step_indices_that_are_no_numbers_are_passed_over(valid, index):
    valid.step(0, 0, at=0, loss=1)
    valid.step(0, index, at=1, loss=2)
    assert ([0], [[1.0]]) == valid.matrix()


def test_negative_step_indices_are_indices(valid):
    for index in (-2, -1, 0):
        valid.step(0, index, at=index, loss=index)
    assert [-2, -1, 0] == valid.matrix()[0]


def test_a_batch_may_span_weeks(valid):
    later = 3_000_000
    valid.batch((STEP, 0, 1, 0), (LOSS, 0, 1, 2.5), (STEP, 0, later, 1), (LOSS, 0, later, 2.4))
    assert ([0, 1], [[2.5, 2.4]]) == valid.matrix()


def test_points_in_any_order_of_metrics_find_their_planes(valid):
    valid.batch(
        ("training.tokens", 0, 1, 7), (LOSS, 0, 1, 2.5), ("training.tokens", 1, 1, 8),
        (STEP, 1, 1, 0), (LOSS, 1, 1, 2.6), (STEP, 0, 1, 0),
    )  # fmt: skip
    assert [[2.5], [2.6]] == valid.matrix()[1]
    assert [[7.0], [8.0]] == valid.matrix("training.tokens")[1]


def test_an_empty_batch_is_none(valid):
    nothing = np.zeros(0)
    valid.grid.append(nothing.astype(int), nothing.astype(int), nothing, nothing, START)
    assert 0 == valid.grid.used


def test_the_oldest_steps_are_forgotten_when_the_grid_is_full(valid, monkeypatch):
    monkeypatch.setattr(columns_of, "MOST_COLUMNS", 300)
    for index in range(1_000):
        valid.step(0, index, at=index, loss=index)
    index, loss = valid.matrix()
    assert list(range(700, 1_000)) == index
    np.testing.assert_array_equal(np.arange(700, 1_000), loss[0])
    valid.step(1, 100, at=100, loss=1)
    assert 1 == valid.grid.late
    assert 300 == valid.grid.used


def test_a_batch_longer_than_the_grid_leaves_its_newest_steps(valid, monkeypatch):
    monkeypatch.setattr(columns_of, "MOST_COLUMNS", 300)
    valid.batch(*((STEP, 0, index, index) for index in range(1_000)))
    assert list(range(700, 1_000)) == valid.grid.view().index.tolist()


def test_more_ranks_mean_fewer_columns_within_the_same_memory(valid, monkeypatch):
    monkeypatch.setattr(columns_of, "CELLS", 4 * 300)
    valid.grid.add(4)
    for index in range(400):
        valid.step(0, index, at=index)
    assert 300 == valid.grid.used


def test_points_that_wait_are_bounded(valid, monkeypatch):
    monkeypatch.setattr(grid_of, "MOST_WAITING", 10)
    valid.step(0, 0, at=0)
    for second in range(1, 31):
        valid.batch((LOSS, 0, second / 100, 1), now=1)
    assert 20 == valid.grid.late


RANKS, STEPS = 3, 6


@given(order=st.permutations([(rank, step) for rank in range(RANKS) for step in range(STEPS)]))
@settings(max_examples=examples(80), deadline=None)
def test_the_order_of_batches_does_not_change_the_grid(order):
    valid = Told()
    valid.grid.add(RANKS)
    for rank, step in order:
        valid.step(rank, step, at=step + rank / 10, loss=10 * rank + step, now=STEPS)
    index, loss = valid.matrix()
    assert list(range(STEPS)) == index
    assert [[10 * rank + step for step in range(STEPS)] for rank in range(RANKS)] == loss
    assert [STEPS - 1] * RANKS == valid.grid.last_index[:RANKS].tolist()
    assert 0 == valid.grid.late


@given(
    order=st.permutations([(rank, step) for rank in range(2) for step in range(4)]),
    split=st.lists(st.booleans(), min_size=8, max_size=8),
)
@settings(max_examples=examples(60), deadline=None)
def test_values_may_travel_apart_from_their_steps(order, split):
    valid = Told()
    valid.grid.add(2)
    later = []
    for (rank, step), apart in zip(order, split, strict=True):
        valid.step(rank, step, at=step, loss=None if apart else 10 * rank + step, now=5)
        if apart:
            later.append((LOSS, rank, step, 10 * rank + step))
    if later:
        valid.batch(*later, now=6)
    assert [[0, 1, 2, 3], [10, 11, 12, 13]] == valid.matrix()[1]


def test_a_rank_that_comes_later_has_no_values_of_before():
    """What memory held where nothing was ever written is no value of a rank."""
    columns = columns_of.StepMatrices()
    columns.add(1)
    columns.of(np.arange(3))
    plane = columns.plane("training.loss")
    for matrix in (columns.at, columns.planes[plane]):
        matrix[:, 1:] = 7.0
    columns.add(8)
    assert np.isnan(columns.values("training.loss", 8)[1:]).all()
    assert np.isnan(columns.at[columns.here, 1:8]).all()


@pytest.mark.parametrize("late", [None, 0, 3])
@pytest.mark.parametrize("order", [[0, 1, 2, 3], [2, 0, 3, 1]])
def test_points_with_their_steps_are_written_as_rank_by_rank(order, late):
    """Batches alike each second; the loss of one rank comes a second late, or a step is skipped."""
    together, apart = Told(), Told()
    for second in range(1, 9):
        index = [second + 5 * (rank == 1 and second > 6) for rank in range(4)]
        ends = [(STEP, rank, second + 0.1 * rank, index[rank]) for rank in order]
        losses = [(LOSS, rank, second + 0.1 * rank, 2.0 + rank) for rank in order if rank != late]
        if late is not None:
            losses.append((LOSS, late, second - 1 + 0.1 * late, 7.0))
        together.batch(*losses, *ends, now=second + 0.5)
        for rank in order:
            told = [point for point in (*ends, *losses) if point[1] == rank]
            apart.batch(*told, now=second + 0.5)
    index, loss = together.matrix()
    assert index == apart.matrix()[0]
    np.testing.assert_array_equal(loss, apart.matrix()[1])
    np.testing.assert_array_equal(together.grid.view().at, apart.grid.view().at)
    assert together.grid.late == apart.grid.late


ALLOCATED = "training.memory.allocated"


def test_memory_read_between_two_steps_belongs_to_the_one_that_ended_last(valid):
    valid.step(0, 7, at=1, loss=2.5)
    valid.batch((ALLOCATED, 0, 1.6, 5.0))
    valid.step(0, 8, at=2, loss=2.4)
    valid.batch((ALLOCATED, 0, 2.6, 6.0), now=3)
    np.testing.assert_array_equal([[5.0, np.nan]], valid.matrix(ALLOCATED)[1])
    valid.step(1, 8, at=2.1, now=2.6 + STEP_INDEX_TIMEOUT_SECONDS)
    valid.step(1, 9, at=3.1, now=3 + STEP_INDEX_TIMEOUT_SECONDS)
    assert [5.0, 6.0] == valid.matrix(ALLOCATED)[1][0][:2]
    assert 0 == valid.grid.late


def test_memory_reported_with_a_step_that_comes_later_belongs_to_that_step(valid):
    valid.step(0, 7, at=1)
    valid.batch((ALLOCATED, 0, 2, 6.0))
    valid.step(0, 8, at=2)
    index, held = valid.matrix(ALLOCATED)
    np.testing.assert_array_equal([[np.nan, 6.0]], held)
    assert [7, 8] == index


def test_memory_read_before_the_first_step_is_no_step(valid):
    for second in range(0, 60, 5):
        valid.batch((ALLOCATED, 0, second, 5.0))
    assert 0 == valid.grid.used
    assert valid.grid.late > 0


def test_where_steps_are_counted_memory_at_other_times_is_no_step(valid):
    for second in range(0, 30, 3):
        valid.batch((LOSS, 0, second, 2.0), (ALLOCATED, 0, second + 1, 5.0))
    index, held = valid.matrix(ALLOCATED)
    assert list(range(1, len(index) + 1)) == index
    assert len(index) <= 10
    assert 5.0 in held[0]
