"""Which collective each rank called, by what ranks log."""

import pytest
from tests.detectors.drawn import event, steady

from rankscope.detectors.liveness import logged_collectives
from rankscope.detectors.liveness.stall_signs import StalledWindow
from rankscope.detectors.sketch import START, sketch
from rankscope.vocabulary.log_lines import AWAITED, ENDS


def named(*lines):
    """Return (rank, score) for lines, given as (logging rank, text)."""
    events = [event("log.fault", 70, rank=rank, role="root", text=text) for rank, text in lines]
    stall = StalledWindow(sketch(steady(), now=START + 90, events=events), START + 60, 1.0)
    return [(sign.entity.id, sign.score) for sign in logged_collectives.unlike(stall)]


def timed_out(number, name):
    return (
        f"Watchdog caught collective operation timeout: WorkNCCL(SeqNum={number}, OpType={name}, "
        "NumelIn=64, NumelOut=64, Timeout(ms)=600000) ran for 600040 milliseconds"
    )


def unlike(*called):
    rows = [
        f"Rank {rank} is running collective: CollectiveFingerPrint(SequenceNumber=7, OpType={name})"
        for rank, name in called
    ]
    return f"Detected mismatch between collectives on ranks. {', but '.join(rows)}."


def test_the_minority_under_one_sequence_number_is_named():
    names = ["ALLREDUCE", "_ALLGATHER_BASE", "ALLREDUCE", "ALLREDUCE"]
    lines = [(rank, timed_out(7, name)) for rank, name in enumerate(names)]
    assert [("1", 3.0)] == named(*lines)


def test_where_all_called_the_same_nobody_is_named():
    assert [] == named(*((rank, timed_out(7, "ALLREDUCE")) for rank in range(4)))


@pytest.mark.parametrize("names", [
    ["ALLREDUCE", "ALLREDUCE", "BARRIER", "BARRIER"], ["ALLREDUCE", "BARRIER"],
])  # fmt: skip
def test_where_no_majority_tells_who_is_right_all_are_named_weakly(names):
    found = named(*((rank, timed_out(7, name)) for rank, name in enumerate(names)))
    assert [(str(rank), 2.0) for rank in range(len(names))] == found


def test_another_size_under_one_number_is_another_collective():
    small = timed_out(7, "BROADCAST")
    large = small.replace("=64", "=24084544")
    ahead = timed_out(9, "ALLREDUCE")
    assert [("2", 2.0), ("3", 2.0)] == named((0, ahead), (1, ahead), (2, large), (3, small))
    eight, nine = (small.replace("NumelIn=64, NumelOut=64", f"TensorShape=[{n}]") for n in (8, 9))
    assert [("3", 3.0)] == named((0, eight), (1, eight), (3, nine))


@pytest.mark.parametrize("name", ["ALLGATHER", "ALLTOALL_BASE", "GATHER", "ALLREDUCE_SPARSE"])
def test_kinds_whose_sizes_may_differ_are_no_mismatch(name):
    line = timed_out(7, name)
    assert [] == named((0, line), (1, line), (2, line.replace("NumelIn=64", "NumelIn=48")))


def test_numbers_of_a_group_that_sends_and_receives_say_nothing():
    lines = [timed_out(7, "SEND"), timed_out(8, "ALLREDUCE"), timed_out(8, "BARRIER")]
    assert [] == named(*enumerate(lines))


def test_different_sequence_numbers_say_nothing_of_each_other():
    assert [] == named((0, timed_out(7, "ALLREDUCE")), (1, timed_out(8, "BARRIER")))


def test_of_two_ranks_in_a_line_the_one_that_did_not_log_it_is_named_weakly():
    text = unlike((3, "ALLGATHER"), (2, "ALLREDUCE"))
    assert [("3", 2.0)] == named((2, text))


def test_a_fingerprint_of_old_torch_has_no_number():
    text = unlike((3, "ALLGATHER"), (2, "ALLREDUCE")).replace("SequenceNumber=7, ", "")
    assert [("3", 2.0)] == named((2, text.replace("running", "running inconsistent")))


def test_lines_of_several_ranks_find_the_minority():
    lines = [(rank, unlike((rank, "ALLREDUCE"), (3, "ALLGATHER"))) for rank in (0, 1, 2)]
    assert [("3", 3.0)] == named(*lines)


def behind(rank, number, name, group):
    """Return the two lines of a rank that is the second of a group of two."""
    status = f"[PG ID 5 PG GUID {group}(TENSOR) Rank 1]  failure detected by watchdog at work sequence id: {number} PG"  # noqa: E501
    return (rank, f"[Rank 1] {timed_out(number, name)}"), (rank, status)


def test_numbers_of_other_groups_say_nothing_of_each_other():
    kinds = ["ALLREDUCE", "ALLREDUCE", "BARRIER"]
    lines = [line for rank, kind in enumerate(kinds) for line in behind(rank, 7, kind, rank)]
    assert [] == named(*lines)


def test_in_one_group_the_minority_is_named_wherever_its_ranks_stand():
    kinds = {1: "ALLREDUCE", 2: "BARRIER", 3: "ALLREDUCE"}
    lines = [line for rank, kind in kinds.items() for line in behind(rank, 7, kind, 4)]
    assert [("2", 3.0)] == named(*lines)


def unlogged(waited, silent=(), **fields):
    """Return who logged no time-out; `silent` logs are known to say none.

    Rank 2 says something else where `silent` has nobody.
    """
    events = [event("log.fault", 70, rank=rank, role="cascade", text=timed_out(7, "ALLREDUCE"))
              for rank in waited]  # fmt: skip
    ends = {"role": "confirmation", "signature": ENDS, "text": "x"}
    events += [event("log.fault", 70, rank=rank, **ends) for rank in silent]
    events += [event("log.fault", 70, rank=2, role="cascade", text="y")]
    window = sketch(steady(), now=START + 90, events=events, **fields)
    stall = StalledWindow(window, START + 60, 1.0)
    return [sign.entity.id for sign in logged_collectives.unlogged(stall)]


def test_a_log_that_is_known_to_say_nothing_may_be_half_of_a_job():
    assert ["1"] == unlogged([0], silent=[1])
    assert [] == unlogged([0], silent=[1, 3])


def test_of_logs_that_may_say_more_a_third_may_lack():
    assert ["2"] == unlogged([0, 1, 3])
    assert [] == unlogged([0, 1])


def test_who_waits_by_its_counters_is_not_accused_for_saying_nothing(group):
    assert [] == unlogged([0, 1, 3], groups=(group([8, 8, 8, 8], [7, 7, 7, 7]),))
    assert ["2"] == unlogged([0, 1, 3], groups=(group([8, 8, 8, 8], [7, 7, 8, 7]),))


def test_all_that_lines_of_others_name_are_named_though_they_are_most():
    marks = {"role": "confirmation", "signature": AWAITED, "text": "x"}
    events = [event("log.fault", at, rank=rank, **marks) for rank, at in ((1, 70), (2, 70), (3, 9))]
    window = sketch(steady(), now=START + 90, events=events)
    signs = logged_collectives.awaited(StalledWindow(window, START + 60, 1.0))
    found = [(sign.entity.id, sign.kind) for sign in signs]
    assert [("1", "rank.behind_enqueued"), ("2", "rank.behind_enqueued")] == found
