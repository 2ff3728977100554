"""Answers of RAS in both forms: who launched how much, who is missing."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples

from rankscope.formats.nccl import ras

TEXT = """NCCL version 2.24.3 compiled with CUDA 12.7
CUDA runtime version 12070, driver version 12070

Job summary
===========

Communicators... (0.00s)
=============

Warnings
========

#0-0 (27a079b828ff1a75) MISMATCH
  Communicator ranks have different collective operation counts
  6 ranks have launched up to operation 6650
  2 ranks have launched up to operation 6649
  Rank 2 -- GPU 2 managed by process 483074 on node 172.16.64.210
  Rank 5 -- GPU 1 managed by process 483077 on node 172.16.64.211

#1-0 (27a079b828ff1a76) INCOMPLETE
  Missing communicator data from 1 rank
  The missing rank: 3
"""


def answer(**changed):
    rank = {"host": "10.0.0.1", "pid": 77, "cuda_dev": 0, "nvml_dev": 3,
            "status": {"init_state": 0}}  # fmt: skip
    counts = [{"AllReduce": 10, "AllGather": 4}, {"AllReduce": 9, "AllGather": 4}]
    row = {
        "hash": "0xabc", "size": 3, "ranks_count": 2, "missing_ranks_count": 1,
        "ranks": [rank | {"rank": n, "collective_counts": c} for n, c in enumerate(counts)],
        "missing_ranks": [
            rank | {"rank": 2, "status": {"unresponsive": True, "considered_dead": True}}
        ],
    }  # fmt: skip
    return json.dumps({"nccl_version": "2.28.7", "communicators_count": 1,
                       "communicators": [row | changed]})  # fmt: skip


def test_the_json_form_counts_launches_by_rank_and_kind():
    (found,) = ras.read(answer())
    assert {0: 14, 1: 13} == found.launched
    assert 9 == found.kinds[1]["AllReduce"]
    assert ({2}, {2}, 3) == (found.missing, found.dead, found.size)
    assert ras.RankPlace("10.0.0.1", 77, 3) == found.places[2]


@pytest.mark.parametrize("prefix", ["", "node-3: "])
def test_the_comma_that_nccl_leaves_out_of_a_missing_rank_is_no_matter(prefix):
    """NCCL 2.28.9, of which the bytes before "status" are a number and the end of a line."""
    whole = json.dumps(json.loads(answer()), indent=2)
    torn = whole.replace('"nvml_dev": 3,\n          "status"', '"nvml_dev": 3\n          "status"')
    with pytest.raises(ValueError, match="Expecting"):
        json.loads(torn)
    (found,) = ras.read(torn)
    assert ({2}, {2}, {0: 14, 1: 13}) == (found.missing, found.dead, found.launched)
    (logged,) = ras.answers([f"{prefix}{line}\n" for line in torn.splitlines()])
    assert {2} == logged.communicators[0].missing


def test_the_text_form_lists_the_smaller_part_and_the_others_are_the_rest():
    unequal, incomplete = ras.read(TEXT)
    assert {2: 6649, 5: 6649} == {r: n for r, n in unequal.launched.items() if n != 6650}
    assert set(range(8)) == set(unequal.launched)
    assert ras.RankPlace("172.16.64.210", 483074, 2) == unequal.places[2]
    assert {3} == incomplete.missing


def test_both_forms_are_known_by_how_they_begin():
    assert ras.is_answer(TEXT.encode())
    assert ras.is_answer(answer().encode())
    assert not ras.is_answer(b"NCCL version 2.24.3+cuda12.7\n")
    assert not ras.is_answer(b'{"pg_config": {}}')


@pytest.mark.parametrize("text", ["{", "{}", '{"communicators": 3}', "NCCL version 2\nJob summary"])
def test_what_holds_no_communicator_is_an_error(text):
    with pytest.raises(ras.RasError):
        ras.read(text)


@pytest.mark.parametrize(
    "changed", [{"ranks": None}, {"ranks": [5, {"rank": "x"}]}, {"size": -4}, {"size": 1 << 60}]
)
def test_strange_fields_are_left_out(changed):
    (found,) = ras.read(answer(**changed))
    assert {2} == found.missing


@given(st.text(max_size=300))
@settings(derandomize=True, max_examples=examples(100))
def test_any_text_is_an_answer_or_an_error(text):
    try:
        ras.read(TEXT + text)
        ras.read(text)
    except ras.RasError:
        pass


def test_kinds_and_names_of_a_tenant_are_few_and_printable():
    kinds = {"AllReduce": 2, "\x1b[31m": 3, "<b>": 4}
    row = {"hash": "\x1b]0;x\x07", "size": 1, "ranks": [
        {"rank": 0, "host": "<h>\n", "pid": 1, "collective_counts": kinds}]}  # fmt: skip
    (found,) = ras.read(json.dumps({"communicators": [row]}))
    assert {"AllReduce": 2, "other": 7} == found.kinds[0]
    assert found.launched == {0: 9}
    assert (found.name + found.places[0].host).isprintable()


@pytest.mark.parametrize("number", ["9" * 5000, "\N{SUPERSCRIPT TWO}"])
def test_a_number_that_none_can_be_costs_its_line_only(number):
    unequal, _ = ras.read(TEXT.replace("GPU 2", f"GPU {number}"))
    assert None is unequal.places[2].device
    unequal, _ = ras.read(TEXT.replace("operation 6650", f"operation {number}"))
    assert {2: 6649, 5: 6649} == {rank: unequal.launched[rank] for rank in (2, 5)}
