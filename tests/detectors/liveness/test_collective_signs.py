"""What counters of communication groups say while a job stands still."""

import numpy as np
import pytest

from rankscope.detectors.liveness import collective_signs
from rankscope.detectors.liveness.stall_signs import StalledWindow
from rankscope.detectors.sketch import START, sketch
from rankscope.detectors.window import GroupProgress


def group(rows, enqueued, completed, *, kind="dp", name="", launches=None, at=90.0):
    """Return a group of some rows by their counters, reported 30 s after the last step."""
    size = len(rows)
    return GroupProgress(
        name=name or f"{kind}:{'-'.join(map(str, rows))}",
        kind=kind,
        rows=np.array(rows),
        enqueued=np.array(enqueued, float),
        completed=np.array(completed, float),
        at=np.full(size, START + at),
        changed_at=np.full(size, START + 60),
        launches={op: np.array(counts, float) for op, counts in (launches or {}).items()},
    )


@pytest.fixture
def stalled(steady):
    """Return a function that makes the stall of a job of four ranks with these groups."""
    return lambda *groups: StalledWindow(
        sketch(steady(), now=START + 90, groups=groups), START + 60, 1.0
    )


def test_ranks_that_wait_for_each_other_in_two_groups_are_in_a_circle(stalled):
    """Ranks 0 and 1 entered the two groups in different orders; ranks 2 and 3 follow them."""
    first = group([0, 1, 2], [10, 9, 10], [9, 9, 9])
    second = group([0, 1, 3], [19, 20, 20], [19, 19, 19], kind="tp")
    (found,) = collective_signs.circle(stalled(first, second))
    assert ("job.waits_in_circle", [0, 1]) == (found.kind, list(found.ranks))
    assert "ranks 0, 1 wait for each other in different groups" == found.text


@pytest.mark.parametrize(
    "groups",
    [
        pytest.param([([0, 1, 2], [10, 9, 10], [9, 9, 9])], id="one rank is behind"),
        pytest.param([([0, 1], [10, 9], [9, 9]), ([1, 2], [20, 19], [19, 19])], id="a chain"),
        pytest.param([([0, 1], [10, 10], [9, 9]), ([2, 3], [7, 7], [6, 6])], id="nobody is absent"),
        pytest.param([([0, 1, 2], [101, 100, 99], [99, 98, 99])], id="a device stopped"),
    ],
)
def test_who_waits_for_somebody_free_is_in_no_circle(stalled, groups):
    made = (group(*numbers, name=f"dp:{n}") for n, numbers in enumerate(groups))
    assert [] == collective_signs.circle(stalled(*made))


def test_numbers_read_before_others_moved_on_make_no_circle(stalled):
    """An evaluation: counters go on slowly, and ranks are read one after the other."""
    first = group([0, 1], [10, 9], [9, 8])
    second = group([0, 1], [29, 30], [28, 29], kind="tp")
    first.changed_at[:] = second.changed_at[:] = [START + 80, START + 80]
    first.at[1] = second.at[0] = START + 75
    assert [] == collective_signs.circle(stalled(first, second))
    first.at[1] = second.at[0] = START + 90
    assert 1 == len(collective_signs.circle(stalled(first, second)))


def test_who_launched_what_the_leading_stand_in_holds_nobody_up(stalled):
    ahead = group([0, 1, 2, 3], [12, 11, 12, 12], [10, 10, 10, 10])
    assert [] == collective_signs.behind(stalled(ahead))
    awaited = group([0, 1, 2, 3], [12, 10, 12, 12], [10, 10, 10, 10])
    assert [1] == [rank for f in collective_signs.behind(stalled(awaited)) for rank in f.ranks]


def test_the_one_that_launched_another_kind_is_named_with_both_kinds(stalled):
    launches = {"all_reduce": [50, 50, 49, 50], "all_gather": [7, 7, 8, 7]}
    (found,) = collective_signs.unlike(
        stalled(group(range(4), [57] * 4, [56] * 4, launches=launches))
    )
    assert ("2", "all_gather", "all_reduce") == (found.entity.id, found.observed, found.expected)


@pytest.mark.parametrize(
    "launches",
    [
        pytest.param(
            {"all_reduce": [50, 50, 49, 50], "all_gather": [7, 7, 7, 7]}, id="only behind"
        ),
        pytest.param({"all_reduce": [50, 50, 49, 49], "all_gather": [7, 7, 8, 8]}, id="two halves"),
        pytest.param({"all_reduce": [50, 50, 50, 50]}, id="one kind"),
        pytest.param({}, id="no counts by kind"),
    ],
)
def test_counts_that_single_nobody_out_accuse_nobody(stalled, launches):
    assert [] == collective_signs.unlike(
        stalled(group(range(4), [57] * 4, [56] * 4, launches=launches))
    )


def test_a_group_that_is_wholly_inside_one_collective_is_reported_and_accuses_nobody(stalled):
    (found,) = collective_signs.inside(stalled(group(range(4), [57] * 4, [56] * 4)))
    assert ("job.inside", "job") == (found.kind, found.entity.type)
    assert [] == collective_signs.inside(stalled(group(range(4), [57, 57, 56, 57], [56] * 4)))


def test_numbers_from_before_the_stall_say_nothing(stalled):
    old = group(range(4), [57] * 4, [56] * 4, at=60.5)
    stall = stalled(old)
    assert [] == [
        *collective_signs.inside(stall),
        *collective_signs.behind(stall),
        *collective_signs.circle(stall),
    ]


def test_who_stands_in_another_group_for_a_rank_that_is_behind_is_not_behind(stalled):
    """Rank 1 waits for rank 0 in the tensor group, and so is behind in its own data group."""
    tensor = group([0, 1], [80, 81], [80, 80], kind="tp")
    data = (group([0, 2], [30, 31], [30, 30]), group([1, 3], [30, 31], [30, 30]))
    (found,) = collective_signs.behind(stalled(tensor, *data))
    assert ("rank.behind_enqueued", "0") == (found.kind, found.entity.id)


def test_ranks_that_are_behind_for_each_other_are_all_named(stalled):
    groups = group([0, 1, 2], [10, 9, 10], [9, 9, 9]), group([0, 1, 3], [19, 20, 20], [19] * 3)
    found = collective_signs.behind(stalled(*groups))
    assert ["0", "1"] == sorted(sign.entity.id for sign in found)
