"""Pages of exporters that an OpenTelemetry Collector scraped are as remote write brings them."""

import json

import pytest
from google.protobuf import json_format
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)

from rankscope.formats.otlp.columns import SeriesTable
from rankscope.formats.otlp.decode import MetricsDecoder
from rankscope.formats.otlp.errors import UndecodableError
from rankscope.formats.remote_write import PassedOnDecoder, RemoteWriteDecoder

AT = 1_790_000_000
DEVICE = {"gpu": "3", "UUID": "GPU-1", "Hostname": "gpu-07"}
POD = {"namespace": "train", "pod": "llama-worker-2"}
TARGET = {"service.name": "dcgm", "service.instance.id": "10.0.0.7:9400"}

both = pytest.mark.parametrize("kind", ["json", "protobuf"])


def point(value, labels, **more):
    pairs = [{"key": key, "value": {"stringValue": text}} for key, text in labels.items()]
    return {"timeUnixNano": str(AT * 10**9), "asDouble": value, "attributes": pairs, **more}


def of(target, *metrics):
    pairs = [{"key": key, "value": {"stringValue": text}} for key, text in target.items()]
    listed = [{"name": name, "gauge": {"dataPoints": points}} for name, *points in metrics]
    return {"resource": {"attributes": pairs}, "scopeMetrics": [{"metrics": listed}]}


def decoded(kind, *of_resources):
    table = SeriesTable()
    decoder = PassedOnDecoder(MetricsDecoder(table), RemoteWriteDecoder(table))
    request = {"resourceMetrics": list(of_resources)}
    if kind == "json":
        return decoder.json(json.dumps(request).encode()), table
    message = json_format.ParseDict(request, ExportMetricsServiceRequest())
    return decoder.protobuf(message.SerializeToString()), table


def rows(batch, table):
    """Return (metric, host, job, device, value) of every point but what a device is."""
    keys = [table[one] for one in batch.columns.series.tolist()]
    return [
        (one.metric, one.resource.host, one.resource.job, dict(one.attributes).get("hw.id"), value)
        for one, value in zip(keys, batch.columns.value.tolist(), strict=True)
        if one.metric != "hw.gpu.info"
    ]


@both
def test_a_page_of_dcgm_exporter_is_in_our_terms(kind):
    page = of(TARGET, ("DCGM_FI_DEV_SM_CLOCK", point(1755.0, DEVICE | POD)))
    batch, table = decoded(kind, page)
    assert [("hw.frequency", "gpu-07", "train/llama", "GPU-1", 1.755e9)] == rows(batch, table)
    assert {float(AT)} == set(batch.columns.at.tolist())
    assert batch.scraped


@both
def test_the_page_says_whose_device_it_is_and_the_collector_only_where_it_runs_itself(kind):
    target = TARGET | {"host.name": "gateway-1", "rankscope.cluster": "fra2"}
    page = of(target, ("DCGM_FI_DEV_GPU_TEMP", point(61.0, DEVICE)))
    batch, table = decoded(kind, page)
    assert [("hw.temperature", "gpu-07", "unassigned/fra2", "GPU-1", 61.0)] == rows(batch, table)


@both
def test_without_a_label_the_target_is_the_host(kind):
    named = {key: text for key, text in DEVICE.items() if key != "Hostname"}
    page = of(TARGET | {"host.name": "gpu-09"}, ("DCGM_FI_DEV_GPU_TEMP", point(61.0, named)))
    batch, table = decoded(kind, page)
    assert ["gpu-09"] == [host for _, host, *_ in rows(batch, table)]


@both
def test_what_others_send_in_the_same_request_is_read_as_ever(kind):
    page = of(TARGET, ("DCGM_FI_DEV_GPU_TEMP", point(61.0, DEVICE)))
    agent = of({"host.name": "gpu-07"}, ("system.clock.offset", point(0.25, {})))
    batch, table = decoded(kind, agent, page)
    found = [(metric, value) for metric, *_, value in rows(batch, table)]
    assert [("hw.temperature", 61.0), ("system.clock.offset", 0.25)] == found
    assert not batch.scraped


@both
def test_a_series_that_has_ended_has_no_value(kind):
    page = of(TARGET, ("DCGM_FI_DEV_GPU_TEMP", point(0.0, DEVICE, flags=1)))
    batch, table = decoded(kind, page)
    assert [] == rows(batch, table)


def test_a_page_that_is_none_is_refused_with_the_place():
    page = of(TARGET, ("DCGM_FI_DEV_GPU_TEMP", point(61.0, DEVICE)))
    page["scopeMetrics"].append("nothing")
    with pytest.raises(UndecodableError, match=r"resourceMetrics\[0\].*scopeMetrics"):
        decoded("json", page)
