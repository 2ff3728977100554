"""Traces of torch.profiler: what ran, for how long, and what nobody did."""

import json

import pytest

from rankscope.formats.chrome_trace import TraceAmount, TraceError, summary

SPAN = {
    "ph": "X", "cat": "Trace", "name": "PyTorch Profiler (0)", "ts": 0, "dur": 1000, "tid": "P",
}  # fmt: skip


def ran(category: str, name: str, ts: object, dur: object, tid: int = 1) -> dict[str, object]:
    return {"ph": "X", "cat": category, "name": name, "ts": ts, "dur": dur, "tid": tid}


def written(*events: object) -> str:
    return json.dumps({"schemaVersion": 1, "traceEvents": [SPAN, *events]}, indent=1)


def test_operators_in_operators_count_once_and_the_rest_of_the_time_is_gaps():
    found = summary(
        written(
            ran("cpu_op", "aten::linear", 0, 200),
            ran("cpu_op", "aten::addmm", 50, 100),
            ran("cpu_op", "aten::sum", 600, 100),
            ran("cpu_op", "aten::other_thread", 0, 900, tid=2),
        )
    )
    assert found.seconds == pytest.approx(1e-3)
    assert found.kinds["compute"].count == 2
    assert found.kinds["compute"].seconds == pytest.approx(300e-6)
    assert found.kinds["gaps"].count == 2
    assert found.kinds["gaps"].seconds == pytest.approx(700e-6)


def test_where_there_is_a_device_its_gaps_count_and_its_collectives_are_no_kernels():
    found = summary(
        written(
            ran("cuda_runtime", "cudaLaunchKernel", 0, 5),
            ran("kernel", "ampere_sgemm", 100, 300, tid=7),
            ran("kernel", "ncclDevKernel_AllReduce_Sum_f32", 300, 300, tid=8),
            ran("gpu_memcpy", "Memcpy HtoD", 700, 100, tid=7),
            ran("cpu_op", "aten::mm", 0, 1000),
        )
    )
    seconds = {kind: row.seconds for kind, row in found.kinds.items()}
    assert seconds == pytest.approx(
        {
            "compute": 1e-3, "kernels": 300e-6, "launches": 5e-6, "copies": 100e-6,
            "collectives": 300e-6, "gaps": 400e-6,
        }
    )  # fmt: skip


def test_gloo_collectives_are_found_on_whatever_thread_they_run():
    found = summary(
        written(ran("user_annotation", "gloo:all_reduce", 0, 400, 9), ran("cpu_op", "a", 0, 1))
    )
    assert TraceAmount(1, 400e-6) == found.kinds["collectives"]
    assert ("collectives", "gloo:all_reduce") in found.names
    assert found.kinds["gaps"].seconds == pytest.approx(600e-6)  # who waits for others has none


@pytest.mark.parametrize(
    "text",
    ["", "{}", '{"traceEvents": [', '{"traceEvents": [{"ph": ', '{"traceEvents": []}',
     '{"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "a", "ts": NaN, "dur": 1}]}'],
)  # fmt: skip
def test_what_is_no_trace_is_refused(text):
    with pytest.raises(TraceError):
        summary(text)


def test_times_that_are_none_are_left_out():
    bad = [ran("cpu_op", "b", "0", 1), ran("cpu_op", "c", 0, True), ran("cpu_op", "d", 1e30, 1)]
    found = summary(written(ran("cpu_op", "a", 0, 10), *bad))
    assert found.kinds["compute"].count == 1


@pytest.mark.parametrize("tid", [[1], {"a": 1}, None, 1.5])
def test_a_thread_of_any_shape_and_a_number_of_any_size_are_read(tid):
    """A trace is a tenant's file: none may raise anything but TraceError."""
    odd = {**ran("cpu_op", "aten::sum", 0, 100), "tid": tid}
    endless = ran("cpu_op", "aten::mm", 10**400, 10**400)
    assert {"compute": 1, "gaps": 1} == {
        kind: amount.count for kind, amount in summary(written(odd, endless)).kinds.items()
    }
