"""One rank's dump: groups, counters, operations, however the version spells them."""

import json
import pickle

import pytest

from rankscope.formats.flight_recorder import DumpError, read

from .recorder import dump, fields, operation


def test_groups_counters_and_operations_are_read():
    found = read(dump(8, 7, [operation(8)]))
    (group,) = found.groups
    assert ("world", (0, 1, 2, 3)) == (group.kind, group.ranks)
    assert (8, 7) == (found.counters[group].enqueued, found.counters[group].completed)
    (entry,) = found.entries
    assert (8, "all_reduce", 60.0, False) == (entry.sequence, entry.op, entry.timeout, entry.done)
    assert ("step (train.py:7)",) == entry.frames


def test_the_json_form_with_numbers_as_text_reads_the_same():
    plain = fields(8, 7, [operation(8)])
    plain["pg_status"]["0"] = {name: str(n) for name, n in plain["pg_status"]["0"].items()}
    found, usual = read(json.dumps(plain).encode()), read(dump(8, 7, [operation(8)]))
    assert usual.counters == found.counters
    assert usual.entries == found.entries


def test_counters_of_complete_groups_are_found_by_the_order_of_the_groups():
    """The recorder may keep open operations only: nothing else names the number of a group."""
    groups = (("0", "default_pg", (0, 1)), ("7", "TENSOR_MODEL_PARALLEL_GROUP", (0, 1)),
              ("33", "DATA_PARALLEL_GROUP", (0, 1)))  # fmt: skip
    plain = fields(5, 5, groups=groups)
    plain["pg_status"]["1"]["last_enqueued_collective"] = 70
    plain["pg_status"]["2"]["last_enqueued_collective"] = 330
    found = read(pickle.dumps(plain))
    assert {"world": 5, "tp": 70, "dp": 330} == {
        group.kind: counts.enqueued for group, counts in found.counters.items()
    }


def test_what_an_entry_says_of_a_number_goes_before_the_order():
    groups = (("0", "default_pg", (0, 1)), ("7", "TENSOR_MODEL_PARALLEL_GROUP", (0, 1)))
    entry = operation(9, pg_id=1, process_group=("0", "default_pg"))
    plain = fields(5, 5, [entry], groups=groups)
    plain["pg_status"] = {"1": plain["pg_status"]["1"] | {"last_enqueued_collective": 9}}
    found = read(pickle.dumps(plain))
    assert {"world": 9} == {group.kind: n.enqueued for group, n in found.counters.items()}


def test_the_nameless_group_of_gloo_takes_the_description_of_its_entries():
    plain = fields(8, 7, [operation(8)])
    plain["pg_config"] = {"": {"name": "", "desc": "", "ranks": "[0, 1, 2, 3]"}}
    found = read(pickle.dumps(plain))
    assert ["world"] == [group.kind for group in found.groups]
    assert [8] == [entry.sequence for entry in found.entries]
    assert [8] == [counts.enqueued for counts in found.counters.values()]


def test_two_groups_of_the_same_members_are_told_apart():
    groups = (("1", "dp", (0, 1)), ("2", "dp", (0, 1)))
    assert ["dp", "dp#2"] == [
        group.desc for group in read(pickle.dumps(fields(1, 1, groups=groups))).groups
    ]


def test_sends_and_receives_count_for_themselves():
    entry = operation(3, "send 0->1", is_p2p=True, p2p_seq_id=17)
    (found,) = read(dump(3, 3, [entry])).entries
    assert ("send", 17, True) == (found.op, found.sequence, found.p2p)


@pytest.mark.parametrize("backend", ["nccl", "hccl", "xccl", "gloo"])
def test_an_operation_is_called_alike_whichever_library_runs_it(backend):
    """RCCL is torch's backend `nccl`. The others have a hook: no duration, done when `retired`."""
    entry = operation(3, profiling_name=f"{backend}:_all_gather_base", retired=True)
    (found,) = read(dump(3, 3, [entry])).entries
    assert ("all_gather_base", True, None) == (found.op, found.done, found.completed)


@pytest.mark.parametrize(
    ("changed", "count"),
    [
        ({"process_group": None, "pg_id": 5}, 0),
        ({"process_group": ("99", "unknown"), "pg_id": None}, 0),
        ({"collective_seq_id": "many"}, 0),
        ({"time_created_ns": "yesterday", "timeout_ms": -5, "frames": 3}, 1),
        ({"input_sizes": None, "state": 5}, 1),
    ],
)
def test_entries_with_strange_fields_are_left_out_or_read_as_far_as_they_go(changed, count):
    assert count == len(read(dump(8, 7, [operation(8, **changed)])).entries)


@pytest.mark.parametrize("body", [b"", b"{}", b"[1]", pickle.dumps({"entries": []}), b"no dump"])
def test_what_is_no_dump_is_an_error_that_says_so(body):
    with pytest.raises(DumpError, match=r"no Flight Recorder dump|neither a pickle nor JSON"):
        read(body)


def test_what_a_tenant_names_is_short_and_does_nothing_to_a_terminal():
    row = operation(8) | {"profiling_name": "nccl:\x1b[31m", "input_sizes": [[9] * 5000]}
    row["frames"] = [{"name": "\x1b]0;x\x07" + "n" * 999, "filename": "train.py", "line": 7}]
    (entry,) = read(dump(8, 7, [row])).entries
    assert entry.op == "other"
    assert len(entry.shape) <= 400
    assert all(frame.isprintable() and len(frame) <= 300 for frame in entry.frames)


@pytest.mark.parametrize("number", ["\N{SUPERSCRIPT TWO}", "9" * 5000, "-0", ""])
def test_what_only_looks_like_a_number_is_none(number):
    """A dump is a tenant's file: whatever it says, it is read or refused with a DumpError."""
    plain = fields(5, 5, groups=(("0", "default_pg", (0, 1)),))
    plain["pg_config"][number] = {"desc": "odd", "ranks": [0, number]}
    assert {(0, 1), (0,)} == {group.ranks for group in read(pickle.dumps(plain)).groups}
    plain["pg_config"][number]["ranks"] = f"[0, {number}]"
    assert {(0, 1), (0,)} >= {group.ranks for group in read(pickle.dumps(plain)).groups}
