"""Fault codes of scraped exporters: an event when one appears, and none for one that stands."""

import pickle

import pytest

from rankscope.collector.windows import TelemetryWindows
from rankscope.collector.windows.exporter_faults import ExporterFaults
from rankscope.detectors.hardware.fault_codes import FaultCodesDetector
from rankscope.formats.otlp.columns import SeriesTable
from rankscope.formats.remote_write import RemoteWriteDecoder, WriteRequest
from rankscope.formats.remote_write.encode import encoded_labels
from rankscope.vocabulary.samples import Event, TelemetryResource

START = 1_790_000_000.0
XID, COUNT = "DCGM_FI_DEV_XID_ERRORS", "DCGM_EXP_XID_ERRORS_TOTAL"
HEALTH = "DCGM_EXP_GPU_HEALTH_STATUS"


class Cluster:
    """What a Prometheus sends of one device of a job."""

    def __init__(self):
        self.table = SeriesTable()
        self.windows = TelemetryWindows(self.table)
        self.decoder = RemoteWriteDecoder(self.table)

    def scrape(self, at, *rows, late=2.0):
        request = WriteRequest()
        for name, value, more in (("DCGM_FI_DEV_GPU_TEMP", 60.0, {}), *rows):
            labels = {
                "__name__": name, "Hostname": "a", "gpu": "0", "UUID": "GPU-a-0",
                "exported_pod": "run-worker-0", **more,
            }  # fmt: skip
            request.add(encoded_labels(labels), int((START + at) * 1000), value)
        self.windows.metrics(self.decoder.plain(request.body()), START + at + late)

    def window(self, at=600.0):
        attempt = self.windows.attempt("run")
        assert attempt is not None
        return self.windows.window(attempt, START + at)

    def faults(self):
        return [
            (event.at - START, event.attributes["code"], event.attributes.get("count", 1))
            for event in self.window().events
            if event.name == "gpu.fault"
        ]


@pytest.fixture
def cluster():
    return Cluster()


def test_a_code_that_appears_is_an_event_of_its_device(cluster):
    for at, xid in ((0, 0.0), (15, 0.0), (30, 79.0), (45, 79.0), (60, 79.0)):
        cluster.scrape(at, (XID, xid, {}))
    assert cluster.faults() == [(30.0, "79", 1)]
    (event,) = (event for event in cluster.window().events if event.name == "gpu.fault")
    assert event.attributes["hw.id"] == "GPU-a-0"
    assert event.attributes["source"] == "exporter"
    assert event.attributes["class"] == "fatal"
    kinds = [
        (found.kind, found.entity.id) for found in FaultCodesDetector().evaluate(cluster.window())
    ]
    assert ("gpu.lost", "GPU-a-0") in kinds


def test_a_code_that_stands_when_a_device_is_first_read_is_no_news(cluster):
    """It may be weeks old: an exporter shows the last one until its host is started anew."""
    for at in (0, 15, 30):
        cluster.scrape(at, (XID, 79.0, {}))
    assert cluster.faults() == []


def test_another_code_is_another_event(cluster):
    for at, xid in ((0, 13.0), (15, 13.0), (30, 48.0), (45, 63.0)):
        cluster.scrape(at, (XID, xid, {}))
    assert cluster.faults() == [(30.0, "48", 1), (45.0, "63", 1)]


def test_a_count_that_grows_is_an_event_and_a_restart_of_the_exporter_is_none(cluster):
    for at, count in ((0, 2.0), (15, 2.0), (30, 5.0), (45, 0.0), (60, 0.0), (75, 1.0)):
        cluster.scrape(at, (COUNT, count, {"xid": "94"}))
    assert cluster.faults() == [(30.0, "94", 3), (75.0, "94", 1)]


def test_a_counter_that_begins_with_a_fault_is_news_of_a_device_that_is_known(cluster):
    cluster.scrape(0)
    cluster.scrape(15, (COUNT, 1.0, {"xid": "94"}))
    assert cluster.faults() == [(15.0, "94", 1)]


def test_one_fault_in_two_ways_is_one_event(cluster):
    cluster.scrape(0, (XID, 0.0, {}), (COUNT, 0.0, {"xid": "48"}))
    cluster.scrape(15, (XID, 48.0, {}), (COUNT, 1.0, {"xid": "48"}))
    assert [code for _, code, _ in cluster.faults()] == ["48"]


def test_what_an_agent_reported_is_not_reported_again(cluster):
    cluster.scrape(0, (XID, 0.0, {}))
    pairs = {"hw.id": "GPU-a-0", "code": "79", "source": "kmsg"}
    event = Event("gpu.fault", START + 14, pairs, TelemetryResource("a"))
    cluster.windows.events([event], START + 14)
    cluster.scrape(15, (XID, 79.0, {}))
    assert cluster.faults() == [(14.0, "79", 1)]


def test_a_verdict_on_now_is_news_also_when_first_read(cluster):
    for at in (0, 15):
        cluster.scrape(at, (HEALTH, 20.0, {"health_error_code": "DCGM_FR_VOLATILE_DBE_DETECTED"}))
    assert len(cluster.faults()) == 1


def test_samples_that_come_late_and_twice_are_seen_once(cluster):
    """A catch-up poll brings several scrapes of one series in a payload."""
    cluster.scrape(0, (XID, 0.0, {}))
    request = WriteRequest()
    labels = encoded_labels(
        {"__name__": XID, "Hostname": "a", "gpu": "0", "UUID": "GPU-a-0",
         "exported_pod": "run-worker-0"}
    )  # fmt: skip
    for at in (45, 30, 15, 30):
        request.add(labels, int((START + at) * 1000), 62.0)
    cluster.windows.metrics(cluster.decoder.plain(request.body()), START + 50)
    assert cluster.faults() == [(15.0, "62", 1)]


def test_a_snapshot_keeps_what_was_seen(cluster):
    for at, xid in ((0, 0.0), (15, 79.0)):
        cluster.scrape(at, (XID, xid, {}))
    again = pickle.loads(pickle.dumps(cluster))  # noqa: S301  our own
    again.scrape(30, (XID, 79.0, {}))
    assert again.faults() == [(15.0, "79", 1)]


def test_forgotten_series_are_no_registers_any_more(cluster):
    cluster.scrape(0, (XID, 13.0, {}))
    faults: ExporterFaults = cluster.windows._faults
    assert len(faults._registers) == 1
    cluster.windows.forget(START + 13 * 3600)
    assert not faults._registers


def test_a_fault_of_a_device_that_labels_give_to_a_job_is_that_jobs_alone(cluster):
    cluster.windows.metrics(*other_job(cluster))
    for at, xid in ((0, 0.0), (15, 79.0)):
        cluster.scrape(at, (XID, xid, {}))
    assert cluster.faults() == [(15.0, "79", 1)]
    other = cluster.windows.attempt("other")
    assert () == cluster.windows.window(other, START + 20).events


def test_a_fault_of_a_device_of_no_job_is_its_hosts(cluster):
    cluster.windows.metrics(*other_job(cluster))
    for at, xid in ((0, 0.0), (15, 79.0)):
        cluster.scrape(at, (XID, xid, {"exported_pod": ""}), ("DCGM_FI_DEV_GPU_TEMP", 60.0, {}))
    other = cluster.windows.attempt("other")
    events = cluster.windows.window(other, START + 20).events
    assert ["79"] == [event.attributes["code"] for event in events]


def other_job(cluster):
    """Return a batch of another job on the same host, and when it came."""
    decoder = RemoteWriteDecoder(cluster.table)
    request = WriteRequest()
    labels = {
        "__name__": "DCGM_FI_DEV_GPU_TEMP", "Hostname": "a", "gpu": "1", "UUID": "GPU-a-1",
        "exported_pod": "other-worker-0",
    }  # fmt: skip
    request.add(encoded_labels(labels), int(START * 1000), 60.0)
    return decoder.plain(request.body()), START


def test_what_a_job_says_of_a_device_keeps_no_exporter_from_being_heard_by_others(cluster):
    """An agent's own event and the exporter's are one fault to the job, whichever came first."""
    cluster.windows.metrics(*other_job(cluster))
    pairs = {"hw.id": "GPU-a-0", "code": "79", "source": "kmsg"}
    event = Event("gpu.fault", START + 14, pairs, TelemetryResource("a", "other", None))
    cluster.windows.events([event], START + 14)
    cluster.scrape(0, (XID, 0.0, {}))
    cluster.scrape(15, (XID, 79.0, {}))
    assert cluster.faults() == [(15.0, "79", 1)]
    own = Event("gpu.fault", START + 16, pairs, TelemetryResource("a", "run", None))
    cluster.windows.events([own], START + 16)
    assert cluster.faults() == [(16.0, "79", 1)]
