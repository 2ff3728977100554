"""Flight Recorder dumps of a dead job: who stopped, on which side, and what is not there."""

import re

import pytest
from tests.formats.flight_recorder.recorder import dump, operation

LAST = 1000.0


@pytest.fixture
def folder(tmp_path, written):
    """Return a function that writes one dump a rank, made two minutes after the last operation."""

    def write(*bodies):
        for rank, body in enumerate(bodies):
            if body is not None:
                (tmp_path / f"trace_rank_{rank}").write_bytes(body)
        written(tmp_path, LAST + 120)
        return tmp_path

    return write


def suspects(diagnosis):
    return diagnosis.document()["root_cause"]["hypotheses"][0]["entity"]["ranks"]


@pytest.mark.parametrize("name", ["gpu_error_1st", "lock_gil_1st"])
def test_the_culprits_of_real_hangs_stand_first_with_their_side(explain, real_data, name):
    path = real_data(f"flight_recorder/{name}")
    logged = (path / "fault_injection.log").read_text()
    culprits = {int(rank) for rank in re.findall(r"Rank (\d+),", logged)}
    document = explain(path).document()
    first = document["root_cause"]["hypotheses"][: len(culprits)]
    named = {rank for one in first for rank in one["entity"]["ranks"]}
    assert culprits == named
    side = {"GPU_ERROR": "completed", "LOCK_GIL": "enqueued"}[logged.rsplit(" ", 1)[1].strip()]
    texts = [e["text"] for e in first[0]["evidence"] if e["signal"] == f"collective.{side}"]
    assert texts
    assert "critical" == document["severity"]


def test_the_layout_comes_out_of_the_groups(explain, real_data):
    layout = explain(real_data("flight_recorder/lock_gil_1st")).found.layout
    assert ["0-3", "4-7", "8-11", "12-15"] == layout["tp"]
    assert 8 == len(layout["pp"])


def test_a_rank_that_did_not_enter_is_named(explain, folder):
    path = folder(*(dump(8, 7, [operation(8)]) for _ in range(2)), dump(7, 7),
                  dump(8, 7, [operation(8)]))  # fmt: skip
    assert [2] == suspects(explain(path))


def test_a_rank_that_entered_and_never_came_out_alone_is_named(explain, folder):
    path = folder(*(dump(9, 8, [operation(9)]) for _ in range(3)), dump(9, 7, [operation(9)]))
    assert [3] == suspects(explain(path))


def test_the_minority_that_called_something_else_is_named(explain, folder):
    usual = dump(8, 7, [operation(8)])
    path = folder(usual, dump(8, 7, [operation(8, "broadcast")]), usual, usual)
    diagnosis = explain(path)
    assert [1] == suspects(diagnosis)
    first = diagnosis.document()["root_cause"]["hypotheses"][0]
    assert "software.collective_mismatch" == first["fault"]


@pytest.mark.parametrize("size", [2, 4])
def test_halves_that_called_other_kinds_under_one_number_differ_for_sure(explain, folder, size):
    usual, other = dump(8, 7, [operation(8)]), dump(8, 7, [operation(8, "broadcast")])
    first = explain(folder(*[usual, other] * (size // 2))).document()["root_cause"]["hypotheses"]
    named = [one["entity"]["ranks"] for one in first if "mismatch" in one["fault"]]
    assert [[rank] for rank in range(size)] == sorted(named)[:size]
    assert "software.collective_mismatch" == first[0]["fault"]


def test_halves_that_gave_other_sizes_accuse_nobody(explain, folder):
    """Members of a gather may give as much as they have."""
    usual = dump(8, 7, [operation(8, "all_gather")])
    other = dump(8, 7, [operation(8, "all_gather", input_sizes=[[8]])])
    document = explain(folder(usual, other)).document()
    assert "unknown" == document["root_cause"]["hypotheses"][0]["fault"]


def test_where_all_are_inside_nobody_is_accused(explain, folder):
    path = folder(*(dump(8, 7, [operation(8)]) for _ in range(4)))
    diagnosis = explain(path)
    first = diagnosis.document()["root_cause"]["hypotheses"][0]
    assert "job" == first["entity"]["type"]


def test_a_rank_without_a_dump_is_missing_and_said_to_be(explain, folder):
    entered = dump(8, 7, [operation(8)])
    diagnosis = explain(folder(entered, entered, None, entered))
    assert ["no Flight Recorder dump of ranks 2, which groups name"] == diagnosis.found.missing
    assert [2] == suspects(diagnosis)


def test_a_dump_that_cannot_be_read_does_not_hide_the_others(explain, folder):
    entered = dump(8, 7, [operation(8)])
    path = folder(entered, entered, b"\x80\x04torn", dump(7, 7))
    diagnosis = explain(path)
    assert "torn" in diagnosis.found.unread["trace_rank_2"]
    assert 3 in suspects(diagnosis)


def test_dumps_of_a_job_that_moved_a_moment_ago_show_no_fault(explain, folder, written):
    path = folder(*(dump(8, 7, [operation(8)]) for _ in range(4)))
    written(path, LAST + 1)
    assert explain(path).incident is None


def test_dumps_of_ranks_that_completed_all_alike_say_of_no_stall(explain, folder, written):
    done = operation(8) | {"retired": True}
    path = folder(*(dump(8, 8, [done]) for _ in range(4)))
    (path / "job.log").write_text("".join(f"iter {n}: loss 0.5, time 300.0ms\n" for n in range(9)))
    written(path, LAST + 3000)
    assert explain(path).incident is None


def test_ranks_whose_dumps_lie_beside_as_many_time_outs_of_no_rank_had_waited(explain, folder):
    done = [
        operation(n) | {"retired": True, "time_created_ns": int((LAST - 0.8 + n / 10) * 1e9)}
        for n in range(1, 9)
    ]
    path = folder(dump(8, 8, done), dump(8, 8, done), None, dump(8, 8, done))
    (path / "job.log").write_text(
        "[/gloo/transport/tcp/unbound_buffer.cc:78] Timed out waiting 60000ms for recv operation "
        "to complete\n" * 3
    )
    assert [2] == suspects(explain(path))
