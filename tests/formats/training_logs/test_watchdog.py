"""What ranks write that waited in a collective: forms of all versions, groups and numbers."""

# ruff: noqa: E501  lines are as long as they are printed

import pytest

from rankscope.formats.training_logs import watchdog


def test_a_time_out_says_number_kind_sizes_and_duration():
    report = watchdog.read(
        "[Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7, OpType=_allgather_base, "
        "NumelIn=64, NumelOut=512, Timeout(ms)=600000) ran for 600042 milliseconds before timing out."
    )
    assert (1, 7, "_ALLGATHER_BASE", "64/512", 600.042, True) == (
        report.place, report.seq, report.op, report.size, report.ran, report.timed_out,
    )  # fmt: skip


@pytest.mark.parametrize("work", ["WorkHCCL", "WorkXCCL", "WorkMCCL", "WorkNCCL"])
def test_heirs_of_the_process_group_write_the_same(work):
    text = f"Watchdog caught collective operation timeout: {work}(SeqNum=7, OpType=ALLREDUCE, Timeout(ms)=1800000) ran for 1800100 milliseconds before timing out."
    assert (7, 1800.1) == (watchdog.read(text).seq, watchdog.read(text).ran)


def test_torch_1_13_says_no_number():
    text = "Watchdog caught collective operation timeout: WorkNCCL(OpType=ALLREDUCE, TensorShape=[1, 2], Timeout(ms)=1800000) ran for 1803170 milliseconds before timing out."
    report = watchdog.read(text)
    assert (None, True) == (report.seq, report.timed_out)


@pytest.mark.parametrize(
    ("named", "guid", "local", "desc"),
    [
        ("[PG 1 Rank 3]", "", "1", ""),
        ("[PG 1 (default_pg) Rank 3]", "", "1", "default_pg"),
        ("[PG ID 2 PG GUID 9 Rank 3]", "9", "", ""),
        (
            "[PG ID 5 PG GUID 37(TENSOR_MODEL_PARALLEL_GROUP) Rank 3]",
            "37",
            "",
            "TENSOR_MODEL_PARALLEL_GROUP",
        ),
        ("[PG ID 1 PG GUID mesh_0_3(mesh_dp) Rank 3]", "mesh_0_3", "", "mesh_dp"),
    ],
)
@pytest.mark.parametrize(
    "text",
    [
        "Timeout at NCCL work: 7, last enqueued NCCL work: 8, last completed NCCL work: 6.",
        "Exception (either an error or timeout) detected by watchdog at work: 7, last enqueued NCCL work: 8, last completed NCCL work: 6.",
        " failure detected by watchdog at work sequence id: 7 PG status: last enqueued work: 8, last completed work: 6",
        " failure detected by watchdog at work sequence id: 7 PG status: last enqueued work: 8, last started work: 7 (_ALLGATHER_BASE), last completed work: 6",
    ],
)
def test_a_status_says_group_place_and_numbers_in_every_version(named, guid, local, desc, text):
    report = watchdog.read(f"{named} {text}")
    assert (guid, local, desc, 3) == (report.guid, report.local, report.desc, report.place)
    assert (7, 8, 6) == (report.seq, report.enqueued, report.completed)


@pytest.mark.parametrize(
    ("text", "by"),
    [
        (
            "Received a dump signal due to a collective timeout from  rank 12 and we will try our best to dump the debug info. Last",
            12,
        ),
        (
            "Received a dump signal due to a collective timeout from this local rank and we will try our best to dump the debug info. Last",
            None,
        ),
        (
            "Received a timeout signal from this local rank and will start to dump the debug info. Last",
            None,
        ),
        (
            "Received a global timeout from another rank and will start to dump the debug info. Last",
            None,
        ),
    ],
)
def test_a_dump_signal_says_how_far_its_rank_was_and_no_wait_of_its_own(text, by):
    report = watchdog.read(
        f"[PG 0 Rank 1] {text} enqueued NCCL work: 60, last completed NCCL work: -1."
    )
    assert (60, -1, None, False, by) == (
        report.enqueued, report.completed, report.seq, report.timed_out, report.told_by,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "late"),
    [
        ("[Rank 0]: Ranks 1, 2 failed to pass monitoredBarrier in 2000 ms", {1, 2}),
        ("     [2] finished collective #60, but didn't join collective #61 (count from 1)", {2}),
        (
            " - To our best knowledge, ranks [4, 7] are the lagging ranks that caused this timeout.",
            {4, 7},
        ),
        ("   - [0, 1] joined but didn't finish collective #61 (count from 1)", None),
    ],
)
def test_ranks_that_are_named_as_late(text, late):
    report = watchdog.read(text)
    assert late == (None if report is None else set(report.late))


@pytest.mark.parametrize(
    "text",
    [
        "NCCL Work update periodically: last enqueued NCCL work: 63, last completed NCCL work: 62.",
        "Observed flight recorder dump signal from another rank via TCPStore.",
        "a collective timeout of 600 s is set",
    ],
)
def test_other_lines_say_nothing_of_a_wait(text):
    assert watchdog.read(text) is None
