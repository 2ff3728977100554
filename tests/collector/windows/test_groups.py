"""Communication groups: their members, counters and sizes."""

import numpy as np


def test_counters_of_a_group_stand_by_member(two_by_two):
    members = {"group": "dp:abc", "kind": "dp", "desc": "data", "size": 4, "ranks": "0-3"}
    two_by_two.metrics(("collective.group.info", 1, 5, {"rank": 0, **members}))
    for rank in range(4):
        pairs = {"rank": rank, "group": "dp:abc"}
        two_by_two.metrics(
            ("collective.enqueued", 10 - (rank == 2), 5, pairs),
            ("collective.started", 10 - (rank == 2), 5, pairs),
            ("collective.completed", 9, 5, pairs),
            ("collective.duration", 0.1, 5, {**pairs, "op": "all_reduce"}),
        )
    two_by_two.metrics(("collective.enqueued", 11, 9, {"rank": 0, "group": "dp:abc"}))

    (group,) = two_by_two.window().groups

    assert ("dp:abc", "dp", [0, 1, 2, 3]) == (group.name, group.kind, group.rows.tolist())
    assert [11, 10, 9, 10] == group.enqueued.tolist()
    assert [9, 9, 9, 9] == group.completed.tolist()
    assert group.changed_at[0] - group.changed_at[1] == 4.0


def test_a_group_of_which_only_launches_are_counted_is_seen(two_by_two):
    """The counters of RAS are of each kind of collective, without sequence numbers."""
    members = {"group": "dp:abc", "kind": "dp", "desc": "data", "size": 4, "ranks": "0-3"}
    two_by_two.metrics(("collective.group.info", 1, 5, {"rank": 0, **members}))
    for rank in range(4):
        pairs = {"rank": rank, "group": "dp:abc", "op": "AllReduce"}
        two_by_two.metrics(("collective.launches", 7 + rank, 6, pairs))

    (group,) = two_by_two.window().groups

    assert [7.0, 8.0, 9.0, 10.0] == group.launches["AllReduce"].tolist()
    assert np.isnan(group.enqueued).all()
    assert np.isfinite(group.at).all()


def test_the_newest_world_size_is_that_of_the_resized_job(two_by_two):
    for size, at in ((4, 5), (2, 6)):
        info = {"rank": 0, "local_rank": 0, "world_size": size, "pid": 7}
        two_by_two.metrics(("training.rank.info", 1, at, info))
    assert 2 == two_by_two.window().newest_world_size


def test_a_kind_of_collective_that_one_member_alone_launched_stands_by_all(two_by_two):
    """Room is made for a counter up to the newest row that has it; the others came later."""
    groups = ["dp:abc", *(f"ep:{number}" for number in range(40))]
    two_by_two.metrics(
        ("collective.launches", 1, 6, {"rank": 0, "group": "dp:abc", "op": "Broadcast"})
    )
    for rank in range(4):
        for group in groups if rank == 0 else groups[:1]:
            pairs = {"rank": rank, "group": group}
            two_by_two.metrics(("collective.enqueued", 10, 7, pairs))
    members = {"group": "dp:abc", "kind": "dp", "desc": "data", "size": 4, "ranks": "0-3"}
    two_by_two.metrics(("collective.group.info", 1, 5, {"rank": 0, **members}))

    group = next(group for group in two_by_two.window().groups if group.name == "dp:abc")

    assert [1.0, None, None, None] == [
        None if np.isnan(value) else value for value in group.launches["Broadcast"].tolist()
    ]


def test_a_group_that_only_introduces_itself_has_no_members_yet(two_by_two):
    two_by_two.metrics(("collective.group.info", 1, 5, {"group": "dp:abc", "rank": 0}))
    two_by_two.metrics(("collective.group.info", 1, 5, {"rank": 0}))
    assert () == two_by_two.window().groups
