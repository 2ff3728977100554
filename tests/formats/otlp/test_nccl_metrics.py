"""The Inspector's own OTLP requests, as JSON: its figures come out in the vocabulary's terms."""

import json

import pytest

from rankscope.formats.otlp.columns import SeriesTable
from rankscope.formats.otlp.decode import MetricsDecoder

BUCKET = {"version": "v5.1", "node": "node-1", "gpu": "GPU3", "comm_name": "DP Group 0",
          "n_nodes": "2", "nranks": "8", "collective": "AllReduce", "message_size": "4-5GB",
          "algo_proto": "Ring_ll"}  # fmt: skip
SINGLE = BUCKET | {"version": "v5.2", "comm_id": "0x7f8c", "coll_sn": "1407"}


def decoded(name, labels, value, *, job="4711", **resource):
    """Return (metric, attributes, host, job, value) of the one point of a request."""

    def listed(pairs):
        return [{"key": key, "value": {"stringValue": text}} for key, text in pairs.items()]

    of = {"service.name": "nccl-inspector", "slurm.job.id": job} | resource
    metric = {"name": name, "unit": "GB/s", "gauge": {"dataPoints": [
        {"attributes": listed(labels), "timeUnixNano": "1755000000000000000", "asDouble": value}
    ]}}  # fmt: skip
    request = {"resourceMetrics": [{"resource": {"attributes": listed(of)},
                                    "scopeMetrics": [{"metrics": [metric]}]}]}  # fmt: skip
    table = SeriesTable()
    batch = MetricsDecoder(table).json(json.dumps(request))
    (series,), (found,) = batch.columns.series.tolist(), batch.columns.value.tolist()
    key = table[series]
    return key.metric, dict(key.attributes), key.resource.host, key.resource.job, found


def test_the_bandwidth_of_a_bucket_is_in_bytes_a_second():
    metric, pairs, host, job, value = decoded("nccl_bus_bandwidth_gbs", BUCKET, 678.0)
    assert ("collective.bus_bandwidth", 678e9) == (metric, value)
    assert ("AllReduce", 3, "inspector") == (pairs["op"], pairs["gpu"], pairs["source"])
    assert ("node-1", "4711") == (host, job)


def test_the_duration_of_one_operation_has_its_number():
    metric, pairs, _, _, value = decoded("nccl_collective_exec_time_microseconds", SINGLE, 250.0)
    assert ("collective.op.duration", 1407, "gpu") == (metric, pairs["seq"], pairs["clock"])
    assert pytest.approx(250e-6) == value
    assert "other:7f8c" == pairs["group"]
    assert "collective.duration" == decoded(
        "nccl_collective_exec_time_microseconds", BUCKET, 1.0)[0]  # fmt: skip


@pytest.mark.parametrize(("name", "labels"), [
    ("nccl_collective_algobw_gbs", SINGLE), ("nccl_bus_bandwidth_gbs", {"node": "node-1"}),
])  # fmt: skip
def test_what_has_no_place_or_is_somebody_else_s_stays_what_it_was(name, labels):
    metric, pairs, host, _, value = decoded(name, labels, 5.0, **{"host.name": "h"})
    assert (name, labels, "h", 5.0) == (metric, pairs, host, value)


def test_a_host_of_the_resource_goes_before_the_node_and_no_job_is_unknown():
    _, _, host, job, _ = decoded(
        "nccl_bus_bandwidth_gbs", BUCKET, 1.0, job="", **{"host.name": "h", "rankscope.job.id": "j"}
    )
    assert ("h", "j") == (host, job)
