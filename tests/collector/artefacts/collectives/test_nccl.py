"""What NCCL's Inspector wrote: operations that take one rank's peers long."""

import json

import pytest

BEGAN = 1_755_000_000.0


@pytest.fixture
def operations(tmp_path):
    """Return Inspector's files of four ranks: two hundred collectives."""
    for rank in range(4):
        lines = []
        for number in range(200):
            at = BEGAN + number
            perf = {"coll": "AllReduce", "coll_sn": number, "coll_msg_size_bytes": 1 << 20,
                    "coll_exec_time_us": 1000 + rank, "coll_timing_source": "kernel_gpu",
                    "coll_busbw_gbs": 100.0}  # fmt: skip
            lines.append({
                "header": {"id": "0x1", "rank": rank, "n_ranks": 4},
                "metadata": {"hostname": f"node-{rank // 2}", "pid": 100 + rank,
                             "dump_timestamp_us": int(at * 1e6)},
                "coll_perf": perf,
            })  # fmt: skip
        text = "\n".join(map(json.dumps, lines)) + "\ntorn"
        (tmp_path / f"inspector-{rank}.log").write_text(text)
    return tmp_path


def test_operations_become_durations_by_rank_and_host(explain, operations):
    found = explain(operations).found
    assert "NCCL Inspector, 200 operations, 1 lines not read" == found.read["inspector-2.log"]
    durations = [
        (resource.host, sample.value)
        for resource, sample in found.samples
        if sample.metric == "collective.op.duration" and dict(sample.attributes)["rank"] == 3
    ]
    assert [("node-1", pytest.approx(0.001003))] * 200 == durations


def test_each_interval_has_its_figures(explain, operations):
    found = explain(operations).found
    counts = [s.value for _, s in found.samples if s.metric == "collective.count"]
    assert 800 == sum(counts)
    bandwidth = {s.value for _, s in found.samples if s.metric == "collective.bus_bandwidth"}
    assert {100e9} == bandwidth
