"""Recorders that count otherwise: gloo counts operations, TorchComms has one count for all."""

import json
import pickle

from rankscope.formats.flight_recorder import DumpLedger, read, settled

from .recorder import fields, operation


def gloo(status, numbers, **changed):
    """Return a dump over gloo: (operation, collective) of each entry, the last one open."""
    rows = [
        operation(collective, record_id=place, op_id=number, retired=place < len(numbers) - 1)
        for place, (number, collective) in enumerate(numbers)
    ]
    plain = fields(status[0], status[1], rows) | changed
    return read(pickle.dumps(plain))


def counts(dump):
    return [(one.enqueued, one.completed) for one in dump.counters.values()]


def test_sends_over_gloo_do_not_set_a_rank_apart():
    sending = gloo((5, 4), [(1, 1), (3, 2), (5, 3)])
    other = gloo((3, 2), [(1, 1), (2, 2), (3, 3)])
    assert [(3, 2)] == counts(sending) == counts(other)


def test_operations_behind_the_last_collective_change_nothing():
    assert [(3, 3)] == counts(gloo((9, 8), [(1, 1), (3, 2), (5, 3)]))
    assert [(0, -1)] == counts(gloo((0, -1), [(1, 1)]))


def test_what_the_ring_no_longer_holds_is_before_its_first_entry():
    assert [(8, 7)] == counts(gloo((21, 19), [(20, 8), (22, 9)]))


def mesh(rank, others, done=6):
    """Return rank's dump of a mesh over gloo: a nameless group without members for all."""
    rows = [
        operation(number, record_id=3 * number + place, op_id=number, pg_id=place,
                  process_group=group, retired=number <= done)
        for number in range(1, 8)
        for place, group in enumerate((("0", "default_pg"), *others))
    ]  # fmt: skip
    plain = fields(7, done, rows, groups=(("", "", ()),) * 1)
    plain["pg_status"] = {str(n): plain["pg_status"]["0"] for n in range(len(others) + 1)}
    return read(pickle.dumps(plain))


DUMPS = {
    rank: mesh(rank, ((str(1 + rank % 2), "mesh_dp"), (str(3 + rank // 2), "mesh_tp")))
    for rank in range(4)
}


def test_members_of_nameless_groups_are_those_whose_entries_name_them():
    found = settled(DUMPS)
    assert {"world": (0, 1, 2, 3), "dp": (0, 2), "tp": (0, 1)} == {
        group.kind: group.ranks for group in found[0].groups
    }
    assert found[0].groups[1].name == found[2].groups[1].name
    assert {(7, 6)} == {pair for dump in found.values() for pair in counts(dump)}


def test_of_one_node_s_dumps_only_the_group_of_all_is_known():
    found = settled({rank: DUMPS[rank] for rank in (0, 1)}, world_size=4)
    assert [(0, 1, 2, 3)] == [group.ranks for group in found[0].groups]
    assert {"default_pg"} == {entry.group.desc for entry in found[0].entries}


def comms(members, count, *, first=0, open_at=None, op="all_reduce"):
    """Return a dump in TorchComms' form: `count` operations in turn over its communicators."""
    called = list(members)
    rows = []
    for number in range(first, count):
        began = (1000 + number) * 10**9
        rows.append(
            operation(number, op, record_id=number, op_id=number, profiling_name=f"ncclx:{op}",
                      process_group=[called[number % len(called)], "ncclx"],
                      retired=number != open_at, time_created_ns=began,
                      time_discovered_completed_ns=began + 1000)
        )  # fmt: skip
    config = {
        name: {"name": name, "desc": "ncclx", "ranks": str(ranks)}
        for name, ranks in members.items()
    }
    plain = {"version": "2.10", "pg_config": config, "pg_status": {}, "entries": rows}
    return read(json.dumps(plain).encode())


PAIRS = {"tp_0": [0, 1], "world": [0, 1, 2, 3]}


def test_one_count_over_all_communicators_becomes_one_of_each():
    dump = comms(PAIRS, 12, open_at=11)
    assert {(0, 1): (6, 6), (0, 1, 2, 3): (6, 5)} == {
        group.ranks: (one.enqueued, one.completed) for group, one in dump.counters.items()
    }
    assert [2] == DumpLedger(settled({0: dump, 1: dump, 3: dump})).absent


def test_sends_of_torchcomms_are_no_collectives_though_they_say_so():
    dump = comms(PAIRS, 12, op="send")
    assert all(entry.p2p for entry in dump.entries)
    assert {} == dump.counters


def test_places_that_a_ring_lost_are_found_by_when_operations_completed():
    short, whole = comms(PAIRS, 12, first=4), comms(PAIRS, 12)
    found = settled({0: whole, 1: short})
    assert counts(found[0]) == counts(found[1])


def test_a_dump_whose_times_fit_no_other_is_not_compared():
    late = comms(PAIRS, 4000, first=3990)
    assert {} == settled({0: comms(PAIRS, 12), 1: late})[1].counters
