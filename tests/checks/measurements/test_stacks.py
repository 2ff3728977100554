"""Stacks of ranks, again and again: who saves, gathers or prepares data, and how much."""

import itertools
import subprocess

import pytest

from rankscope.checks.measurements import stacks
from rankscope.checks.measurements.rows import CheckOrder

TRAINING = "forward (model.py:10)", "step (train.py:5)"
JOINING = "all_gather_object (distributed_c10d.py:3000)", "report (metrics.py:7)"
FETCHING = "fetch (fetch.py:44)", "__next__ (dataloader.py:630)"


OUTERMOST = ("<module> (train.py:99)",)


@pytest.fixture
def shares():
    """Return a function that samples ranks whose stacks repeat, and returns rows by device."""

    def sample(kind, calls, *, beyond=True, check="stack_gathering", looks=200):
        def record(pid, _seconds):
            rows = calls[pid]
            if isinstance(rows, Exception):
                raise rows
            return [(*row, *OUTERMOST) for row in itertools.islice(itertools.cycle(rows), looks)]

        order = CheckOrder(check, seconds=10.0, ranks=tuple((pid - 100, pid) for pid in calls))
        rows = stacks.measured(order, kind, beyond=beyond, record=record)
        return {row.device: row for row in rows}

    return sample


def test_who_gathers_a_quarter_of_its_time_stands_out_from_its_neighbours(shares):
    often = [JOINING, TRAINING, TRAINING, TRAINING]
    rows = shares(stacks.GATHERING, {100: often, 101: [TRAINING], 102: [TRAINING]})
    assert [(0.25,), (-0.125,), (-0.125,)] == [rows[f"rank {rank}"].samples for rank in range(3)]


def test_of_few_stacks_nothing_is_said(shares):
    now_and_then = [JOINING, *[TRAINING] * 9]
    ranks = {100: now_and_then, 101: [TRAINING], 102: [TRAINING]}
    rows = shares(stacks.GATHERING, ranks, looks=30)
    assert "30 stacks" in rows["rank 0"].missing


def test_looks_within_one_long_call_are_one_look(shares):
    """Two seconds in a gather, of ten: more or fewer would be no surprise."""
    once = [*[JOINING] * 40, *[TRAINING] * 160]
    rows = shares(stacks.GATHERING, {100: once, 101: [TRAINING], 102: [TRAINING]})
    assert "too few to tell" in rows["rank 0"].missing


def test_what_all_ranks_do_alike_is_no_excess(shares):
    rows = shares(
        stacks.LOADING, {pid: [FETCHING, TRAINING] for pid in (100, 101, 102)}, looks=4000
    )
    assert [(0.0,)] * 3 == [row.samples for row in rows.values()]


def test_saving_is_a_ranks_own_share(shares):
    saving = "_save (serialization.py:900)", "save_checkpoint (train.py:80)"
    rows = shares(
        stacks.SAVING, {100: [saving], 101: [saving, TRAINING]}, beyond=False, check="stack_saving"
    )
    assert [(1.0,), (0.5,)] == [row.samples for row in rows.values()]


def test_a_rank_that_nobody_may_look_into_is_not_measured(shares):
    refused = subprocess.CalledProcessError(1, "py-spy")
    rows = shares(stacks.GATHERING, {100: [TRAINING], 101: refused})
    assert "py-spy" in rows["rank 1"].missing
    assert "no other rank" in rows["rank 0"].missing


def test_where_no_rank_runs_there_is_nothing_to_measure():
    (row,) = stacks.gathering(CheckOrder("stack_gathering"))
    assert "no training process" in row.missing


PAUSED = "gc_collect_main (libpython3.11.so.1.0)", "step (train.py:5)"


@pytest.fixture
def collecting(tmp_path):
    """Return a function that samples ranks for garbage collection, of one row."""

    def sample(calls, *, names=True):
        interpreter = tmp_path / "python3"
        interpreter.write_bytes(b"\0gc_collect_main\0" if names else b"\0stripped\0")
        for pid in calls:
            folder = tmp_path / "proc" / str(pid)
            folder.mkdir(parents=True)
            (folder / "root").symlink_to("/")
            (folder / "maps").write_text(f"5500-5600 r-xp 0000 08:01 11      {interpreter}\n")
        ranks = tuple((pid - 100, pid) for pid in calls)
        (row,) = stacks.collecting(
            CheckOrder("stack_collecting", seconds=201.0, ranks=ranks),
            record=lambda pid, _: list(itertools.islice(itertools.cycle(calls[pid]), 200)),
            root=tmp_path,
        )
        return row

    return sample


def test_collecting_is_the_share_of_all_ranks_together(collecting):
    often = [PAUSED, *[TRAINING] * 9]
    assert (0.05,) == collecting({100: often, 101: [TRAINING]}).samples


def test_ranks_that_never_collect_pass(collecting):
    ranks = {pid: [TRAINING] for pid in (100, 101, 102, 103)}
    row = collecting(ranks)
    assert ((0.0,), "") == (row.samples, row.missing)


def test_an_interpreter_without_symbols_hides_its_collections(collecting):
    assert "no symbols" in collecting({100: [TRAINING]}, names=False).missing
