"""What real senders do with what the collector answers when it cannot take a payload."""

import logging
import threading

import pytest
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from tests.collector.service.test_sdk_exporter import sent_over_grpc
from tests.collector.service.test_senders import command
from tests.serving import Answer, served
from tests.waiting import get, until

from rankscope.collector.intake.decoding import PayloadDecoder
from rankscope.collector.journal import journal as journals
from rankscope.collector.journal.interface import AppendOutcome
from rankscope.collector.journal.kinds import PayloadKind
from rankscope.lab.demo.processes import DemoProcesses
from rankscope.lab.demo.stage import clean_environment

TELEMETRY = {PayloadKind.METRICS_PROTOBUF, PayloadKind.REMOTE_WRITE}
LABELS = 'UUID="GPU-1",gpu="0",Hostname="gpu-1",namespace="train",pod="run-worker-0"'


@pytest.fixture
def full_disk(monkeypatch):
    """Return a function that lets so many writes of telemetry fail; `refused` counts them."""
    write = journals.FileJournal.write
    left = {"writes": 0, "refused": 0}

    def refusing(self, entries):
        if left["writes"] and any(entry.kind in TELEMETRY for entry in entries):
            left["writes"] -= 1
            left["refused"] += 1
            return AppendOutcome(0, 0, OSError(28, "No space left on device"))
        return write(self, entries)

    monkeypatch.setattr(journals.FileJournal, "write", refusing)
    return left


def metrics_of(folder):
    """Return how many payloads of OTLP metrics the journal has."""
    entries = journals.read(folder / "journal")
    return sum(entry.kind is PayloadKind.METRICS_PROTOBUF for entry in entries)


@pytest.mark.programs
def test_a_batch_of_the_sdk_outlives_a_disk_that_is_full_for_its_first_tries(
    collector, tmp_path, full_disk, caplog
):
    """Two of the tries that its ten seconds have room for are refused; the next one is taken."""
    caplog.set_level(logging.CRITICAL)
    full_disk["writes"] = 2
    exporter = OTLPMetricExporter(f"{collector.address}/v1/metrics")
    reader = PeriodicExportingMetricReader(exporter, export_interval_millis=3_600_000)
    provider = MeterProvider([reader], shutdown_on_exit=False)
    provider.get_meter("trainer").create_gauge("training.loss").set(2.5)
    sending = threading.Thread(target=provider.force_flush)
    sending.start()
    sending.join(60)
    assert (full_disk["refused"], metrics_of(tmp_path / "data")) == (2, 1)
    exporter.shutdown()


@pytest.mark.programs
def test_a_batch_of_the_sdk_outlives_a_full_disk_over_grpc(collector_at, tmp_path, full_disk):
    full_disk["writes"] = 2
    with collector_at(tmp_path / "data", intake={"grpc_listen": "127.0.0.1:0"}) as service:
        (intake,) = service._connected
        sent_over_grpc(intake, "metrics")
    assert (full_disk["refused"], metrics_of(tmp_path / "data")) == (2, 1)


@pytest.fixture
def scraped(program, collector, tmp_path):
    """Return a function that starts a sender, which scrapes a page every second."""
    text = f"# TYPE DCGM_FI_DEV_GPU_TEMP gauge\nDCGM_FI_DEV_GPU_TEMP{{{LABELS}}} 61\n".encode()
    with served(lambda _: Answer(text)) as address, DemoProcesses(tmp_path) as processes:
        target = address.removeprefix("http://")

        def start(kind):
            config = {
                "global": {"scrape_interval": "1s", "scrape_timeout": "1s"},
                "scrape_configs": [
                    {
                        "job_name": "dcgm",
                        "honor_labels": True,
                        "static_configs": [{"targets": [target]}],
                    }
                ],
            }
            url = f"{collector.address}/api/v1/write"
            words = command(kind, program, tmp_path, config, url)
            processes.start(kind, words, environ=clean_environment())

        yield start


def known(collector):
    """Return the jobs that the collector has seen."""
    return [row["job"] for row in get(collector.address, "/api/v1/jobs")["items"]]


@pytest.mark.programs
@pytest.mark.parametrize("kind", ["prometheus", "vmagent"])
def test_a_sender_of_remote_write_keeps_what_a_full_disk_refused(
    kind, scraped, collector, full_disk
):
    full_disk["writes"] = 2
    scraped(kind)
    until(lambda: known(collector), "the job", lambda found: "train/run" in found)
    assert full_disk["refused"] == 2


@pytest.mark.programs
@pytest.mark.parametrize("kind", ["prometheus", "vmagent"])
def test_a_payload_that_no_decoder_survives_holds_nothing_up(kind, scraped, collector, monkeypatch):
    """The sender drops it and goes on: whoever is answered 500 repeats it for ever."""
    decode = PayloadDecoder.decode
    died = []

    def dying(self, payload):
        if payload.kind is PayloadKind.REMOTE_WRITE and died in ([], [payload.body]):
            died[:] = [payload.body]
            raise ZeroDivisionError
        return decode(self, payload)

    monkeypatch.setattr(PayloadDecoder, "decode", dying)
    scraped(kind)
    until(lambda: known(collector), "the job", lambda found: "train/run" in found)
    assert died
