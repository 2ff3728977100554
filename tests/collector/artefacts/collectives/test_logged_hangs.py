"""Hangs of which only logs are left, without NCCL_DEBUG, steps or dumps: who waited, who not."""

# ruff: noqa: E501  lines are as long as they are printed

import os
import pickle

import pytest
from tests.collector.artefacts.watchdogs import (
    DATA,
    TENSOR,
    VERSIONS,
    gave_up,
    raised,
    stuck,
    told,
)
from tests.formats.flight_recorder.recorder import fields, operation

STUCK, MISMATCH, CRASH = "software.stuck_process", "software.collective_mismatch", "software.crash"


class LoggedAnswer:
    """Writes logs and asks what they tell; `last` is the last diagnosis, `first` its first cause."""

    def __init__(self, explain, folder):
        self.explain, self.folder = explain, folder
        self.last = self.first = None

    def __call__(self, logs):
        """Return (fault, rank) of logs given by name or rank; the rank None where none is named."""
        for name, text in logs.items():
            file = self.folder / (name if isinstance(name, str) else f"rank_{name}.log")
            file.write_text(text)
        self.last = self.explain(self.folder)
        document = self.last.document()
        if document is None:
            return None, None
        self.first = document["root_cause"]["hypotheses"][0]
        entity = self.first["entity"]
        return self.first["fault"], int(entity["id"]) if entity["type"] == "rank" else None


@pytest.fixture
def answer(explain, tmp_path):
    return LoggedAnswer(explain, tmp_path)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(("size", "late"), [(2, 0), (8, 5)])
def test_the_rank_whose_own_log_says_nothing_is_named_in_every_version(answer, version, size, late):
    logs = {rank: gave_up(rank, version=version) for rank in range(size)}
    assert (STUCK, late) == answer(logs | {late: "starting\n"})
    assert "high" != answer.first["confidence"]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(("size", "late"), [(4, 3), (64, 31)])
def test_in_one_log_of_all_ranks_the_one_without_a_line_is_named(answer, version, size, late):
    lines = [gave_up(rank, version=version) for rank in range(size) if rank != late]
    assert (STUCK, late) == answer({"job.log": f"world_size={size}\n{''.join(lines)}"})


def test_a_rank_that_was_told_of_a_time_out_is_late_by_its_numbers(answer):
    lines = [gave_up(rank) for rank in (1, 2, 3)]
    assert (STUCK, 0) == answer({"job.log": "".join([*lines, told(0, 60, 60)])})


def test_one_that_was_told_and_waits_itself_is_not_late(answer):
    lines = [gave_up(rank) for rank in (1, 2, 3)]
    assert ("unknown", None) == answer({"job.log": "".join([*lines, told(0, 63, 60)])})


def test_one_whose_numbers_are_beyond_those_that_wait_is_not_compared(answer):
    assert (STUCK, 1) != answer({0: told(0, 90, 90), 1: gave_up(1), 2: told(2, 90, 90)})


def test_a_rank_that_waits_in_the_collective_before_is_late(answer):
    logs = {rank: gave_up(rank, number=60 if rank == 5 else 61) for rank in range(8)}
    assert (STUCK, 5) == answer(logs)


@pytest.mark.parametrize(
    "other",
    [
        {"op": "_ALLGATHER_BASE"},
        {"sizes": (128, 128)},
        {"number": 62},
        {"number": 62, "op": "BROADCAST"},
    ],
    ids=["kind", "size", "number", "kind and number"],
)
def test_a_rank_in_another_collective_than_its_peers_is_named_for_that(answer, other):
    logs = {rank: gave_up(rank, **(other if rank == 5 else {})) for rank in range(8)}
    assert (MISMATCH, 5) == answer(logs)


@pytest.mark.parametrize("size", [2, 8])
def test_where_all_ranks_waited_alike_nobody_is_named(answer, size):
    assert ("unknown", None) == answer({rank: gave_up(rank) for rank in range(size)})


def test_a_rank_without_a_log_is_said_to_be_missing_and_not_accused(answer):
    logs = {rank: "world_size: 8\n" + gave_up(rank) for rank in range(8) if rank != 3}
    assert ("unknown", None) == answer(logs)
    assert ["no log of rank 3, for which the others may have waited"] == answer.last.found.missing


def test_ranks_of_a_node_without_a_log_are_not_accused(answer):
    lines = "".join(gave_up(rank) for rank in range(8))
    assert ("unknown", None) == answer({"node0.log": "WORLD_SIZE=16\n" + lines})
    assert answer.last.found.missing[0].startswith("no log of ranks 8, 9, 10")


def test_of_two_ranks_alone_the_one_between_them_is_not_accused(answer):
    """Ranks 0 and 1 say nothing either, and no line says how many there are."""
    assert ("unknown", None) == answer({"slurm.err": gave_up(4) + gave_up(2)})


def test_a_size_that_no_line_says_is_asked_for(answer):
    assert ("unknown", None) == answer({"job.log": "".join(gave_up(rank) for rank in range(7))})
    assert answer.last.found.missing[0].startswith("how many ranks the job has")


def test_the_silent_rank_of_the_second_node_is_named(answer):
    nodes = [[gave_up(rank) for rank in range(16) if rank // 8 == node and rank != 12]
             for node in (0, 1)]  # fmt: skip
    logs = {f"node{node}.log": "WORLD_SIZE=16\n" + "".join(each) for node, each in enumerate(nodes)}
    assert (STUCK, 12) == answer(logs)


def test_in_a_tensor_group_its_silent_member_is_named_though_others_say_nothing_either(answer):
    logs = dict.fromkeys(range(32), "starting\n") | {
        rank: gave_up(rank, place=rank - 8, group=TENSOR.format(guid=38))
        for rank in range(8, 16) if rank != 13
    }  # fmt: skip
    assert (STUCK, 13) == answer(logs)


TWO = TENSOR.format(guid=38)


@pytest.mark.parametrize(
    ("launched", "named"),
    [((22, 21), (STUCK, 7)), ((22, 22), ("unknown", None)), ((21, 22), ("unknown", None))],
    ids=["behind", "as far", "ahead"],
)
def test_of_a_hung_pair_the_one_that_is_behind_in_another_group_is_named(answer, launched, named):
    """It did not wait itself; in the group of all it has launched less than the one that did."""
    ours, others = launched
    waited = gave_up(6, place=0, number=4087, group=TWO) + told(6, ours, ours, by=6)
    assert named == answer({"node3.log": f"world_size: 8\n{waited}{told(7, others, others, by=6)}"})


def test_in_a_group_across_nodes_the_rank_follows_from_the_places_of_the_others(answer):
    logs = dict.fromkeys(range(16), "starting\n") | {
        rank: gave_up(rank, place=rank // 4, group=DATA.format(guid=7)) for rank in (2, 6, 14)
    }
    assert (STUCK, 10) == answer(logs)


def test_those_that_wait_for_a_hung_group_are_not_taken_for_it(answer):
    """Rank 5 is late for its tensor group, whose others are late for the data groups."""
    logs = {
        rank: gave_up(rank, place=rank - 4, number=300, group=TENSOR.format(guid=21))
        if rank // 4 == 1
        else gave_up(rank, place=rank // 4, number=40, group=DATA.format(guid=30 + rank % 4))
        for rank in range(16)
    }
    assert (STUCK, 5) == answer(logs | {5: "starting\n"})


def test_numbers_of_different_groups_are_not_compared(answer):
    logs = {
        rank: gave_up(
            rank, place=rank % 2, number=61 + 40 * (rank // 2), op=("ALLREDUCE", "BROADCAST")[rank // 2],
            group=TENSOR.format(guid=rank // 2),
        )
        for rank in range(4)
    }  # fmt: skip
    assert ("unknown", None) == answer(logs)


@pytest.mark.parametrize("form", ["one log", "a log a rank"])
def test_an_exception_of_the_rank_that_did_not_wait_is_its_crash_and_quoted(answer, form):
    lines = {rank: gave_up(rank) for rank in (0, 1, 2)}
    lines[3] = raised(3, "KeyError: 'input_ids'")
    logs = lines if form == "a log a rank" else {"job.log": "".join(lines.values())}
    assert (CRASH, 3) == answer(logs)
    root = [quote for quote in answer.last.found.quotes if quote.role == "root"]
    assert [(3, "KeyError: 'input_ids'")] == [(quote.rank, quote.text) for quote in root]


def test_an_exception_about_a_connection_is_the_crash_where_its_peers_waited(answer):
    lines = {rank: gave_up(rank) for rank in (0, 1, 2)}
    lines[3] = raised(3, "requests.exceptions.ConnectionError: Max retries exceeded with url: /m")
    assert (CRASH, 3) == answer(lines)


def test_exceptions_that_follow_from_the_hang_accuse_nobody(answer):
    aborted = "torch.distributed.DistBackendError: NCCL communicator was aborted"
    lines = {rank: gave_up(rank) + raised(rank, aborted) for rank in (0, 1, 2)}
    assert (STUCK, 3) == answer(lines | {3: "starting\n"})


def test_a_watchdog_that_got_stuck_after_its_own_time_out_follows_from_it(answer):
    lines = {rank: gave_up(rank) + stuck(rank) for rank in range(4)}
    assert (STUCK, 2) == answer(lines | {2: "starting\n"})
    assert [] == [quote for quote in answer.last.found.quotes if quote.role == "root"]


def test_a_rank_whose_watchdog_got_stuck_while_its_peers_waited_is_stuck(answer):
    before = stuck(2).replace("0513 12:23:01", "0513 12:13:10")
    steps = {rank: STEPS.replace("[rank0]", f"[rank{rank}]") for rank in range(4)}
    waited = {rank: steps[rank] + gave_up(rank) for rank in (0, 1, 3)}
    assert (STUCK, 2) == answer(waited | {2: steps[2] + before})


def test_a_rank_that_alone_writes_steps_and_waited_as_all_others_did_is_not_stuck(answer):
    text = STEPS + "".join(gave_up(rank) for rank in range(4)) + "".join(
        gave_up(rank).replace("0513 12:15:00", "0513 12:16:00") for rank in range(4)
    )  # fmt: skip
    assert ("unknown", None) == answer({"all.log": text})


def test_ranks_that_torchrun_ended_tell_the_size_of_the_job(answer):
    ended = (
        "".join(
            f"W0513 12:16:00.1 139 api.py:897] Sending process {pid} closing signal SIGTERM\n"
            for pid in (1002, 1003, 1004)
        )
        + "E0513 12:16:01.1 139 api.py:869] failed (exitcode: -6) local_rank: 0 (pid: 1001) of binary\n"
    )
    lines = "".join(gave_up(rank) for rank in (0, 1, 2))
    assert (STUCK, 3) == answer({"job.log": lines + ended})


GLOO = "RuntimeError: [gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting 600000ms for recv operation"
CUT = "RuntimeError: [gloo/transport/tcp/pair.cc:553] Connection closed by peer [10.0.0.2]:8594"


@pytest.mark.parametrize("others", [GLOO, CUT], ids=["timed out", "cut off"])
def test_a_hang_of_gloo_names_the_silent_rank(answer, others):
    logs = {0: raised(0, GLOO), 1: raised(1, others), 2: raised(2, others), 3: "starting\n"}
    assert (STUCK, 3) == answer(logs)


def test_a_rank_that_left_gloo_without_a_word_is_named_by_those_that_lost_it(answer):
    lines = "".join(raised(rank, CUT) for rank in (0, 1, 3))
    failed = "failed (exitcode: 1) local_rank: 1 (pid: 11) of binary: python\n"
    assert (CRASH, 2) == answer({"job.log": lines + failed})


def test_rank_0_of_a_monitored_barrier_names_who_did_not_come(answer):
    logs = {
        0: raised(0, "RuntimeError: [Rank 0]: Ranks 2 failed to pass monitoredBarrier in 600000 ms"),
        1: raised(1, "RuntimeError: Rank 1 successfully reached monitoredBarrier, but received"
                     " errors while waiting for send/recv from rank 0."),
    }  # fmt: skip
    assert (STUCK, 2) == answer(logs)


def test_the_desync_report_names_who_is_late(answer):
    report = (
        "\t - To our best knowledge, the lagging/dead/mismatched ranks that caused the desync are:\n"
        "\t   - [0, 1, 3] joined but didn't finish collective #61 (count from 1)\n"
        "\t     [2] finished collective #60, but didn't join collective #61 (count from 1)\n"
    )
    lines = "".join(gave_up(rank) for rank in (0, 1, 3))
    assert (STUCK, 2) == answer({"job.log": lines + report})


def test_a_hang_of_hccl_names_the_silent_rank(answer):
    waited = (
        "EI0002: 2026-05-13-12:15:00.123.456 The wait execution of the Notify register times out. "
        "Reason: The Notify register has not received the Notify record from remote rank [3].\n"
    )
    assert (STUCK, 3) == answer({0: waited, 1: waited, 2: waited, 3: "starting\n"})


def test_sends_and_receives_have_numbers_of_their_own(answer):
    logs = {rank: gave_up(rank, op=("SEND", "RECV")[rank % 2], number=10 + rank)
            for rank in range(3)}  # fmt: skip
    assert (STUCK, 3) == answer(logs | {3: "starting\n"})


STEP = (
    " [2026-05-13 12:{:02}:{:02}] iteration {:8}/     500 | elapsed time per iteration (ms): 10000.0"
    " | lm loss: {:.4f} |\n"
)
STEPS = "".join(
    STEP.format(at // 60, at % 60, at // 10, 2.0 - at / 1000) for at in range(10, 310, 10)
)


def test_lines_without_a_year_are_of_the_year_of_any_other_log(answer):
    assert (STUCK, 3) == answer({0: STEPS + gave_up(0), 1: gave_up(1), 2: gave_up(2), 3: "x\n"})
    quotes = [quote for quote in answer.last.found.quotes if quote.rank == 1]
    assert {1778674500} == {int(quote.at) for quote in quotes}


def test_where_no_line_has_a_year_they_are_older_than_the_file(answer, tmp_path, explain):
    answer({rank: gave_up(rank) for rank in (0, 1, 2)} | {3: "starting\n"})
    for file in tmp_path.iterdir():
        os.utime(file, (1796000000, 1796000000))  # 2026-11-29
    assert {1778674500} == {int(quote.at) for quote in explain(tmp_path).found.quotes}


def test_steps_with_times_and_time_outs_without_are_one_story(answer):
    logs = {rank: gave_up(rank, version="2.3") for rank in (1, 2)}
    logs |= {0: STEPS + gave_up(0, version="2.3"), 3: "starting\n"}
    assert (STUCK, 3) == answer(logs)


def test_a_healthy_job_is_not_accused(answer):
    said = (
        "[rank1]:[I0513 12:00:00.7 ProcessGroupNCCL.cpp:200] [PG ID 0 PG GUID 0(default_pg) Rank 1] "
        "NCCL Work update periodically: last enqueued NCCL work: 63, last completed NCCL work: 62.\n"
    )
    assert (None, None) == answer({0: STEPS, 1: said})


def test_an_exception_that_steps_followed_ended_nobody(answer):
    half = len(STEPS) // 2
    half = STEPS.index("\n", half) + 1
    survived = STEPS[:half] + raised(0, "ValueError: bad sample 17") + STEPS[half:]
    answer({0: survived + gave_up(0), 1: gave_up(1), 2: gave_up(2), 3: "starting\n"})
    assert (STUCK, "3") == (answer.first["fault"], answer.first["entity"]["id"])


def test_logs_in_another_zone_than_a_dump_are_put_right_and_the_exception_is_the_crash(
    explain, tmp_path, written
):
    """One of two ranks left a dump, the other an exception; the logs are two hours ahead."""
    launched = 1778666700.0
    pair = ("0", "default_pg", (0, 1))
    entry = operation(61, time_created_ns=int(launched * 1e9), timeout_ms=600_000)
    (tmp_path / "fr_1").write_bytes(pickle.dumps(fields(61, 60, [entry], (pair,))))
    (tmp_path / "rank_0.log").write_text(raised(0, "ValueError: bad sample 17"))
    (tmp_path / "rank_1.log").write_text(gave_up(1))
    written(tmp_path, launched + 700)
    diagnosis = explain(tmp_path)
    first = diagnosis.document()["root_cause"]["hypotheses"][0]
    assert (CRASH, "0") == (first["fault"], first["entity"]["id"])
    assert any("120 minutes ahead" in text for text in diagnosis.found.missing)


@pytest.mark.parametrize(
    ("op", "sizes"), [("_ALLGATHER_BASE", (100, 800)), ("_REDUCE_SCATTER_BASE", (800, 100))]
)
def test_the_sizes_of_a_gather_or_scatter_tell_how_many_ranks_there_are(answer, op, sizes):
    lines = "".join(gave_up(rank, op=op, sizes=sizes) for rank in range(7))
    assert (STUCK, 7) == answer({"job.log": lines})


def test_what_torch_warns_of_as_the_store_of_a_healthy_job_ends_accuses_nobody(answer):
    ends = (
        "[rank1]:[W513 12:05:30.8 TCPStore.cpp:125] [c10d] recvValue failed on SocketImpl(fd=75): Connection reset by peer\n"
        '[rank1]:[W513 12:05:30.9 ProcessGroupNCCL.cpp:1659] [PG ID 0 PG GUID 0 Rank 1] Failed to check the "should dump" flag on TCPStore, (maybe TCPStore server has shut down too early), with error: Broken pipe\n'
    )
    answer({"job.log": STEPS + ends})
    document = answer.last.document()
    assert document is None or "info" == document["severity"]


@pytest.mark.parametrize("size", [2, 4, 32])
def test_kinds_that_differ_under_one_number_are_a_mismatch_whoever_is_right(answer, size):
    lines = [gave_up(rank, op="ALLREDUCE" if rank < size // 2 else "BROADCAST")
             for rank in range(size)]  # fmt: skip
    assert MISMATCH == answer({"job.log": "".join(lines)})[0]
    assert "low" == answer.first["confidence"]


def test_sizes_that_differ_under_one_number_are_a_mismatch_though_others_went_on(answer):
    lines = [gave_up(rank, number=63) for rank in (0, 1)]
    lines += [gave_up(rank, op="BROADCAST", sizes=(size, size)) for rank, size in ((2, 64), (3, 9))]
    fault, rank = answer({"job.log": "".join(lines)})
    assert MISMATCH == fault
    assert rank in (2, 3)


def test_gathers_of_unequal_parts_are_no_mismatch(answer):
    lines = [gave_up(rank, op="ALLGATHER", sizes=(48 if rank == 7 else 64, 496))
             for rank in range(8)]  # fmt: skip
    assert MISMATCH != answer({"job.log": "".join(lines)})[0]


def test_a_mismatch_of_which_no_line_tells_the_rank_is_the_job_s(answer):
    text = "  what():  [enforce fail at pair.cc:446] op.preamble.length <= op.nbytes. 20 vs 16\n"
    assert (MISMATCH, None) == answer({"job.log": text})
