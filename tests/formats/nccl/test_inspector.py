"""NCCL Inspector's lines: operations that ended, in seconds and bytes."""

import json

import pytest

from rankscope.formats.nccl import inspector

LINE = {
    "header": {"id": "0x7f8c496ae9f661", "comm_name": "DP Group 0", "rank": 2, "n_ranks": 8},
    "metadata": {"inspector_output_format_version": "v4.0", "hostname": "h", "pid": 1639453,
                 "dump_timestamp_us": 1748030377748202},
    "coll_perf": {"coll": "AllReduce", "coll_sn": 1407, "coll_msg_size_bytes": 17179869184,
                  "coll_exec_time_us": 61974, "coll_timing_source": "kernel_gpu",
                  "coll_algobw_gbs": 277.21, "coll_busbw_gbs": 485.12},
}  # fmt: skip


def only(line):
    (found,) = inspector.read([json.dumps(line)])
    return found


def test_a_collective_is_read_with_its_rank_in_the_communicator():
    found = only(LINE)
    assert ("AllReduce", 1407, 2, 8) == (found.op, found.sequence, found.rank, found.ranks)
    assert found.seconds == pytest.approx(0.061974)
    assert found.bus_bandwidth == pytest.approx(485.12e9)
    assert (17179869184, "gpu", False) == (found.size, found.clock, found.p2p)
    assert found.at == pytest.approx(1748030377.748202)


def test_an_older_line_without_a_name_is_read_too():
    header = {name: value for name, value in LINE["header"].items() if name != "comm_name"}
    assert "" == only(LINE | {"header": header}).name


def test_a_send_is_no_collective():
    perf = {"p2p": "Send", "p2p_sn": 3, "p2p_peer": 1, "p2p_msg_size_bytes": 10,
            "p2p_exec_time_us": 5, "p2p_timing_source": "collective_cpu"}  # fmt: skip
    line = {name: LINE[name] for name in ("header", "metadata")} | {"p2p_perf": perf}
    found = only(line)
    assert ("Send", True, "host") == (found.op, found.p2p, found.clock)


@pytest.mark.parametrize("line", ["{", "[]", "{}", '{"coll_perf": {"coll_sn": "x"}}'])
def test_what_holds_no_operation_is_none(line):
    assert [None] == list(inspector.read([line, ""]))


def test_the_form_is_known_by_how_a_file_begins():
    assert inspector.is_record(json.dumps(LINE).encode())
    assert not inspector.is_record(b'{"pg_config": {}}')


def test_names_of_a_tenant_are_short_and_do_nothing_to_a_terminal_or_a_page():
    header = LINE["header"] | {"comm_name": "\x1b[2J<script>" + "x" * 999, "id": "\x1b]0;a\x07"}
    found = only(LINE | {"header": header, "coll_perf": LINE["coll_perf"] | {"coll": "\x1b[31m"}})
    assert found.op == "other"
    for text in (found.name, found.communicator):
        assert text.isprintable()
        assert len(text) <= 128
        assert not set("<>") & set(text)
