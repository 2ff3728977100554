"""Series of exporters in remote write: the agent's tables, one series at a time."""

import json
import struct

import pytest

from rankscope.formats import exporters, wire
from rankscope.formats.otlp.columns import SeriesTable
from rankscope.formats.otlp.errors import UndecodableError
from rankscope.formats.remote_write import RemoteWriteDecoder, WriteRequest
from rankscope.formats.remote_write import labels as naming
from rankscope.formats.remote_write.encode import encoded_labels

AT_MS = 1_790_000_000_125
GPU = {"UUID": "GPU-1", "gpu": "3", "Hostname": "gpu-12", "instance": "10.0.0.12:9400"}


def read(*rows, decoder=None):
    """Return what (name, labels, value) become: by metric and attributes beside the device's."""
    decoder = decoder or RemoteWriteDecoder(SeriesTable())
    request = WriteRequest()
    for name, labels, value in rows:
        request.add(encoded_labels({**labels, "__name__": name}), AT_MS, value)
    batch = decoder.plain(request.body())
    return batch, named(batch, decoder)


def named(batch, decoder):
    table = decoder._table
    found = {}
    for series, value in zip(batch.columns.series, batch.columns.value, strict=True):
        one = table[series]
        place = ("gpu", "hw.id", "hw.vendor", "source")
        words = [str(text) for name, text in one.attributes if name not in place]
        found["|".join([one.metric, *words])] = float(value)
    return found


@pytest.mark.parametrize(
    ("name", "value", "metric", "expected"),
    [
        ("DCGM_FI_DEV_SM_CLOCK", 1755.0, "hw.frequency|sm", 1.755e9),
        ("DCGM_FI_DEV_SM_CLOCK_HERTZ", 1.755e9, "hw.frequency|sm", 1.755e9),
        ("DCGM_FI_DEV_GPU_UTIL", 99.0, "hw.gpu.utilization", 0.99),
        ("DCGM_FI_DEV_POWER_USAGE", 600.5, "hw.power", 600.5),
        ("DCGM_FI_DEV_ROW_REMAP_FAILURE", 3.0, "hw.gpu.row_remap|failed", 1.0),
    ],
)
def test_both_generations_of_dcgm_names_are_read(name, value, metric, expected):
    batch, found = read((name, GPU, value))
    assert found[metric] == pytest.approx(expected)
    assert found["hw.gpu.info"] == 1.0
    assert (batch.rejected, batch.written, batch.scraped) == (0, 1, True)


def test_a_set_of_reasons_becomes_one_series_a_reason():
    _, found = read(("DCGM_FI_DEV_CLOCKS_EVENT_REASONS", GPU, 0x48))
    held = {name for name, value in found.items() if value and "throttle" in name}
    assert held == {"hw.gpu.throttle|thermal_hw", "hw.gpu.throttle|slowdown_hw"}


@pytest.mark.parametrize("blank", [2147483632.0, 1.8e19, float("inf"), float("nan")])
def test_what_an_exporter_writes_for_nothing_is_no_reading(blank):
    _, found = read(("DCGM_FI_DEV_MEM_COPY_UTIL", GPU, blank))
    assert not any("utilization" in name for name in found)


def test_other_vendors_and_hosts_are_read_too():
    npu = {"id": "0", "vdie_id": "V-1", "instance": "npu-3:8082", "model_name": "910B"}
    host = {"instance": "gpu-12:9100"}
    _, found = read(
        ("npu_chip_info_temperature", npu, 61.0),
        ("node_procs_blocked", host, 2.0),
        ("node_memory_MemTotal_bytes", host, 8e11),
        ("node_memory_MemAvailable_bytes", host, 6e11),
    )
    assert found["hw.temperature|gpu"] == 61.0
    assert found["system.processes.blocked"] == 2.0
    assert found["system.memory.limit"] == 8e11
    assert found["system.memory.usage"] == 2e11


def test_a_sum_whose_parts_come_apart_is_left_out():
    """Parts come in one request as a rule; half a sum would be wrong."""
    _, found = read(("node_memory_MemAvailable_bytes", {"instance": "h:9100"}, 6e11))
    assert found == {}


def test_a_device_or_host_that_no_label_names_is_counted():
    nowhere = {"UUID": "GPU-1", "gpu": "3"}
    nothing = {"Hostname": "gpu-12"}
    batch, _ = read(
        ("DCGM_FI_DEV_SM_CLOCK", nowhere, 1.0),
        ("DCGM_FI_DEV_SM_CLOCK", nothing, 1.0),
        ("node_procs_blocked", {}, 1.0),
        ("DCGM_FI_DEV_SM_CLOCK", GPU, 1.0),
    )
    assert batch.rejected == 3
    assert batch.reason == "samples of a host or device that no label names: 3"


@pytest.mark.parametrize(
    ("labels", "job"),
    [
        ({"hpc_job": "4711"}, "4711"),
        ({"exported_pod": "llama-worker-12", "exported_namespace": "train"}, "train/llama"),
        ({"pod": "llama-0-x7k2p", "namespace": "train"}, "train/llama"),
        ({"pod": "notebook", "namespace": "lab"}, "lab/notebook"),
        ({"exported_pod": "a-7", "label_job_name": "tune", "namespace": "b"}, "b/tune"),
        ({"pod": "dcgm-exporter-9xk2p", "namespace": "gpu-operator"}, "unassigned"),
        ({"pod": "dcgm-exporter-9xk2p", "cluster": "east"}, "unassigned/east"),
        ({}, "unassigned"),
    ],
)
def test_labels_give_a_device_to_a_job(labels, job):
    """A pod's name is that of the exporter itself where its labels were not honoured."""
    found = naming.resource_of_device({**labels, "Hostname": "gpu-12"})
    assert found is not None
    assert found.job == job


def test_known_series_and_new_ones_read_alike():
    """The second request takes the quick way, zeros and several samples included."""
    decoder = RemoteWriteDecoder(SeriesTable())
    rows = [("DCGM_FI_DEV_GPU_TEMP", GPU, 55.0), ("DCGM_FI_DEV_PCIE_REPLAY_COUNTER", GPU, 0.0)]
    first, again = (read(*rows, decoder=decoder)[1] for _ in range(2))
    assert first == again
    assert again["hw.gpu.pcie.replays"] == 0.0


def test_bytes_that_only_look_like_a_sample_are_read_exactly():
    """Known labels with 18 bytes behind them that are something else: an exemplar."""
    decoder = RemoteWriteDecoder(SeriesTable())
    labels = encoded_labels({"__name__": "training_loss"})
    sample = wire.block(2, b"\x09" + struct.pack("<d", 2.0) + b"\x10" + wire.signed(AT_MS))
    assert len(decoder.plain(wire.block(1, labels + sample)).columns) == 1
    exemplar = wire.block(3, bytes(16))
    with pytest.raises(UndecodableError):
        decoder.plain(wire.block(1, labels + wire.block(2, b"\x00" * 16)))
    assert len(decoder.plain(wire.block(1, labels + wire.block(3, b"\x08\x01" * 8))).columns) == 0
    assert len(exemplar) == 18


def request2(symbols, *series):
    """Return a Request of 2.0: references and samples of each series."""
    body = b"".join(wire.block(4, text.encode()) for text in symbols)
    for refs, samples in series:
        packed = b"".join(wire.varint(ref) for ref in refs)
        body += wire.block(5, wire.block(1, packed) + b"".join(samples))
    return body


def sample2(value, at_ms=AT_MS):
    return wire.block(2, b"\x09" + struct.pack("<d", value) + b"\x10" + wire.signed(at_ms))


def test_version_2_reads_as_version_1_does():
    labels = {**GPU, "__name__": "DCGM_FI_DEV_SM_CLOCK"}
    symbols = ["", *(text for pair in sorted(labels.items()) for text in pair)]
    decoder = RemoteWriteDecoder(SeriesTable())
    for _ in range(2):
        body = request2(symbols, (range(1, len(symbols)), [sample2(1755.0)]))
        batch = decoder.plain2(body)
        assert named(batch, decoder)["hw.frequency|sm"] == 1.755e9
        assert batch.written == 1


@pytest.mark.parametrize(
    "body",
    [
        request2(["x", "y"], ([0, 1], [sample2(1.0)])),
        request2(["", "y"], ([0, 7], [sample2(1.0)])),
        request2(["", "y"], ([0, 1, 1], [sample2(1.0)])),
        b"\xff\xff",
    ],
    ids=["the first symbol", "a reference", "an odd number", "garbage"],
)
def test_a_request_of_version_2_that_is_none_is_refused(body):
    with pytest.raises(UndecodableError):
        RemoteWriteDecoder(SeriesTable()).plain2(body)


def test_native_histograms_of_version_2_are_counted():
    body = wire.block(4, b"") + wire.block(5, wire.block(1, b"") + wire.block(3, b""))
    batch = RemoteWriteDecoder(SeriesTable()).plain2(body)
    assert (batch.rejected, batch.reason) == (1, "samples of native histograms: 1")


def test_what_is_written_is_what_a_prometheus_writes():
    request = WriteRequest()
    request.add(encoded_labels({"b": "2", "a": "1", "c": ""}), AT_MS, 0.0)
    written = request.body()
    assert written.index(b"a") < written.index(b"b")
    assert b"c" not in written.replace(b"\x0a\x01c", b"")
    assert json.dumps(request.samples) == "1"


def test_metrics_that_no_table_has_read_no_table_anew(monkeypatch):
    """A Prometheus that sends everything has thousands of them, each once a set of labels."""
    loaded = []
    load = exporters.load

    def counted(vendor):
        loaded.append(vendor)
        return load(vendor)

    monkeypatch.setattr(exporters, "load", counted)
    batch, found = read(*((f"node_other_{number}", GPU, 1.0) for number in range(50)))
    assert (0, {}) == (batch.rejected, found)
    _, found = read(("DCGM_FI_DEV_POWER_USAGE", GPU, 600.5))
    assert 600.5 == found["hw.power"]
    assert len(loaded) <= len(exporters.VENDORS)
