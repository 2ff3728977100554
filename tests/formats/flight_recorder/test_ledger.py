"""Dumps side by side: who is how far, who is missing, who called something else."""

from rankscope.formats.flight_recorder import DumpLedger, read
from rankscope.formats.flight_recorder.layout import coordinates, dimensions
from rankscope.vocabulary.groups import ProcessGroup

from .recorder import dump, operation


def ledger(**dumps):
    return DumpLedger({int(name[1:]): read(body) for name, body in dumps.items()})


def test_ranks_that_a_group_names_and_that_left_nothing_are_absent():
    found = ledger(r0=dump(8, 7), r3=dump(8, 7))
    assert [0, 1, 2, 3] == found.ranks
    assert [1, 2] == found.absent


def test_groups_with_sends_and_receives_cannot_be_compared_on_any_rank():
    (group,) = read(dump(1, 1)).groups
    assert ledger(r0=dump(8, 7), r1=dump(8, 7)).comparable(group)
    sends = dump(9, 7, [operation(9, "send 1->0", is_p2p=True, p2p_seq_id=1)])
    assert not ledger(r0=dump(8, 7), r1=sends).comparable(group)


def test_other_operations_under_one_number_are_found_at_the_oldest_such_number():
    same = [operation(7), operation(8), operation(9, "broadcast")]
    other = [operation(7), operation(8, "broadcast"), operation(9)]
    found = ledger(r0=dump(9, 7, same), r1=dump(9, 7, other), r2=dump(9, 7, same))
    ((_, number, called),) = found.mismatches()
    assert 8 == number
    assert {0: "all_reduce", 1: "broadcast", 2: "all_reduce"} == called


def test_other_sizes_are_a_mismatch_where_sizes_must_agree_only():
    for op, count in (("all_reduce", 1), ("all_to_all", 0), ("gather", 0)):
        here, there = operation(8, op), operation(8, op, input_sizes=[[5]])
        found = ledger(r0=dump(8, 7, [here]), r1=dump(8, 7, [there]))
        assert count == len(list(found.mismatches())), op


def test_the_newest_operation_and_the_time_out_are_known():
    found = ledger(r0=dump(8, 7, [operation(7), operation(8)]), r1=dump(7, 7))
    assert 1000.000000008 == found.last
    assert 60.0 == found.timeout


def test_the_parallel_layout_is_that_of_the_groups():
    groups = [ProcessGroup("TENSOR_MODEL_PARALLEL_GROUP", (0, 1)),
              ProcessGroup("TENSOR_MODEL_PARALLEL_GROUP", (2, 3)),
              ProcessGroup("DATA_PARALLEL_GROUP_WITH_CP", (0, 2)), ProcessGroup("mesh_pp", (1, 3)),
              ProcessGroup("MODEL_PARALLEL_GROUP", (0, 1, 2, 3))]  # fmt: skip
    found = dimensions(groups)
    assert {"tp": 2, "dp": 1, "pp": 1} == {name: len(along) for name, along in found.items()}
    assert {"tp": 0, "dp": 1} == coordinates(found, 2)
    assert {"tp": 1, "pp": 1} == coordinates(found, 3)
