"""Answers of RAS as text: each form that NCCL 2.24 to 2.30 prints, also inside a log."""

import pytest

from rankscope.formats.nccl import ras

HEAD = """NCCL version 2.28.9 compiled with CUDA 12.8
CUDA runtime version 12080, driver version 13000

Job summary
===========

  Nodes  Processes         GPUs  Processes     GPUs
(total)   per node  per process    (total)  (total)
      2          4            1          8        8

Communicators... (0.00s)
=============

Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors
    #  in group  per comm  per node  per comm  in group
"""
ROW = "    0         1         2         4         8         8   RUNNING  {}\n"
ERRORS, WARNINGS = "\nErrors\n======\n\n", "Warnings\n========\n\n"


def told(status, errors="", warnings=""):
    """Return an answer about one communicator of eight ranks."""
    return HEAD + ROW.format(status) + ERRORS + errors + WARNINGS + warnings


def unequal(*lines, kind="AllReduce"):
    """Return a warning: ranks launched different numbers of a kind."""
    return told("MISMATCH", warnings="\n".join([
        "#0-0 (78db921d1c117b4a) MISMATCH",
        f"  Communicator ranks have different {kind} operation counts", *lines, ""]))  # fmt: skip


def place(rank, gpu="3"):
    return f"GPU {gpu} managed by process {1600 + rank} on node 10.0.0.2"


def only(text):
    (answer,) = ras.answers(text.splitlines())
    (communicator,) = answer.communicators
    return communicator


def test_one_rank_alone_is_named_in_the_line_of_its_count():
    found = only(unequal(
        "  7 ranks have launched up to operation 70",
        f"  Rank 3 has launched up to operation 60 -- {place(3)}"))  # fmt: skip
    assert {3: 60} == {rank: n for rank, n in found.launched.items() if n != 70}
    assert (8, 10) == (len(found.launched), found.lag)
    assert ras.RankPlace("10.0.0.2", 1603, 3) == found.places[3]


@pytest.mark.parametrize("line", [
    f"  Rank 3 has not launched any operations -- {place(3)}",
    "  Rank 3 has not launched any operations -- [process information not found]",
])  # fmt: skip
def test_a_rank_that_launched_nothing_has_launched_none(line):
    found = only(unequal("  7 ranks have launched up to operation 2", line))
    assert {3: 0} == {rank: n for rank, n in found.launched.items() if n != 2}


def test_several_ranks_that_launched_nothing_are_listed_behind_their_number():
    found = only(unequal(
        "  6 ranks have launched up to operation 5",
        "  2 ranks have not launched any operations",
        f"  Rank 6 -- {place(6)}", f"  Rank 7 -- {place(7)}"))  # fmt: skip
    assert {6: 0, 7: 0} == {rank: n for rank, n in found.launched.items() if n != 5}


def test_a_device_has_the_index_of_nvml_where_cuda_sees_another():
    found = only(unequal(
        "  7 ranks have launched up to operation 70",
        f"  Rank 3 has launched up to operation 60 -- {place(3, '0 (NVML 5)')}"))  # fmt: skip
    assert (5, 0) == (found.places[3].device, found.places[3].cuda)


def test_kinds_that_are_equal_are_not_told_and_those_that_differ_add_up():
    found = only(unequal(
        "  6 ranks have launched up to operation 70",
        "  2 ranks have launched up to operation 60",
        f"  Rank 6 -- {place(6)}", f"  Rank 7 -- {place(7)}", "",
        "  Communicator ranks have different AllGather operation counts",
        "  7 ranks have launched up to operation 700",
        f"  Rank 6 has launched up to operation 690 -- {place(6)}"))  # fmt: skip
    assert {0: 770, 6: 750, 7: 760} == {rank: found.launched[rank] for rank in (0, 6, 7)}
    assert {"AllReduce": 60, "AllGather": 690} == found.kinds[6]


def test_of_parts_that_nobody_names_the_least_is_known_of_all():
    found = only(unequal(
        "  4 ranks have launched up to operation 70",
        "  3 ranks have launched up to operation 69",
        f"  Rank 3 has launched up to operation 60 -- {place(3)}"))  # fmt: skip
    assert {3: 60} == {rank: n for rank, n in found.launched.items() if n != 69}
    assert ["AllReduce launched by ranks that are not named: 4 ranks 70, 3 ranks 69"] == (
        found.unnamed
    )


@pytest.mark.parametrize("listed", [
    "  The missing rank: 7",
    f"  Rank 7 -- {place(7)}",
    "  Rank 7 -- [process information not found]",
])  # fmt: skip
def test_a_missing_rank_is_named_in_each_version_s_way(listed):
    errors = (
        "INCOMPLETE\n  Missing communicator data from 1 job process\n"
        "  Process 1607 on node 10.0.0.2 managing GPU 3\n\n"
        "#0-0 (78db921d1c117b4a) INCOMPLETE\n"
        f"  Missing communicator data from 1 rank\n{listed}\n\n"
    )
    (answer,) = ras.answers(told("INCOMPLETE", errors).splitlines())
    assert {7} == answer.communicators[0].missing
    assert [ras.RankPlace("10.0.0.2", 1607, 3)] == answer.missing
    assert not answer.answered


def test_a_process_that_is_given_up_is_dead():
    errors = (
        "DEAD\n  1 job process is considered dead (unreachable via the RAS network)\n"
        "  Process 1607 on node 10.0.0.2 managing GPUs 2,3 (NVML 4,5)\n\n"
    )
    (answer,) = ras.answers(told("INCOMPLETE", errors).splitlines())
    assert ([], [ras.RankPlace("10.0.0.2", 1607, None)]) == (answer.missing, answer.dead)


def test_errors_of_communicators_are_told_by_rank():
    errors = (
        "#0-0 (78db921d1c117b4a) ERROR\n  Asynchronous errors on 3 ranks\n"
        f"  2 ranks reported Remote process error\n  Rank 0 -- {place(0)}\n  Rank 1 -- {place(1)}\n"
        f"  Rank 5 reported Unhandled CUDA error -- {place(5)}\n\n"
    )
    remote = "remote process error"
    assert {0: remote, 1: remote, 5: "unhandled cuda error"} == only(told("ERROR", errors)).errors


def test_ranks_that_left_a_communicator_are_not_missing():
    warnings = (
        "#0-0 (78db921d1c117b4a) MISMATCH\n  Communicator ranks have different status\n"
        f"  6 ranks have status RUNNING\n  2 ranks have status NOCOMM\n  Rank 6 -- {place(6)}\n"
        f"  Rank 7 -- {place(7)}\n\n"
    )
    found = only(told("MISMATCH", "", warnings))
    assert ({6, 7}, set()) == (found.left, found.missing)


def test_a_healthy_answer_says_that_all_answered():
    (answer,) = ras.answers(told("OK").splitlines())
    assert answer.answered
    assert answer.whole
    assert ([(8, "OK")], 2, 8) == (answer.sizes, answer.nodes, answer.devices)


def test_the_sum_of_a_job_is_the_last_row_where_nodes_differ():
    text = told("OK").replace(
        "      2          4            1          8        8\n",
        "      1          4            1\n      1          3            1\n\n"
        "  Nodes  Processes         GPUs\n(total)    (total)      (total)\n"
        "      2          7            7\n",
    )
    (answer,) = ras.answers(text.splitlines())
    assert (2, 7) == (answer.nodes, answer.devices)


PREFIXES = ("", "[rank0]: ", "2026-05-13T12:00:10.123456789Z stdout F ", "node-1 | ",
            "(trainer pid=77, ip=10.0.0.1) ", "0: ")  # fmt: skip


@pytest.mark.parametrize("prefix", PREFIXES)
def test_answers_are_read_behind_prefixes_and_between_other_lines(prefix):
    answer = unequal(
        "  7 ranks have launched up to operation 70",
        f"  Rank 3 has launched up to operation 60 -- {place(3)}")  # fmt: skip
    lines = ["iteration 1 | loss 2.0"]
    for line in [*told("OK").splitlines(), "iteration 2 | loss 1.9", *answer.splitlines()]:
        lines += [prefix + line, "step 7: a line of somebody else, 5 ranks"]
    healthy, last = ras.answers(lines)
    assert ([], True) == (healthy.communicators, healthy.answered)
    assert 10 == last.communicators[0].lag
    assert lines[last.line].endswith("Job summary")


def test_sections_without_their_head_are_an_answer_each():
    answer = unequal(
        "  7 ranks have launched up to operation 70",
        f"  Rank 3 has launched up to operation 60 -- {place(3)}",
    )
    warning = answer.partition(WARNINGS)[2]
    first, second = ras.answers((warning + "and now\n" + warning).splitlines())
    assert first.communicators[0].launched == second.communicators[0].launched
