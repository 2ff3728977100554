"""Telemetry of a device that falls off the bus, of its job's end, and of its return."""

import pytest

from rankscope.collector.pipeline.pipeline import DetectionPipeline
from rankscope.formats.otlp import encode
from rankscope.formats.otlp.decode import MetricsDecoder, logs_protobuf
from rankscope.vocabulary.samples import Event, Sample, TelemetryResource, attributes

START = 1_700_000_000.0
HOSTS = {"host-a": (0, 1), "host-b": (2, 3)}
LOST, LOST_AT, ENDED_AT = 2, 60, 62


class Cluster:
    """Two nodes of two devices, read each 5 s, and a job on them until one device is lost."""

    def __init__(self):
        self.pipeline = DetectionPipeline()
        self.decoder = MetricsDecoder(self.pipeline.table)
        self.now = 0

    def until(self, second, *, repaired=False, failed=False):
        """Go on to a second after START."""
        while self.now < second:
            self.pipeline.evaluate(START + self.now)
            for host, ranks in HOSTS.items():
                for rank in ranks:
                    self._rank(host, rank, repaired=repaired, failed=failed)
            self.now += 1

    def _rank(self, host, rank, *, repaired, failed):
        now, at, device = self.now, START + self.now, f"GPU-{rank}"
        working = now < LOST_AT or rank != LOST or repaired
        training = now < (LOST_AT if rank == LOST else ENDED_AT)
        samples = []
        if training:
            pairs = attributes({"rank": rank})
            samples += [
                Sample("training.step", now, at, pairs),
                Sample("training.step.duration", 1.0, at, pairs),
            ]
        if now % 5 == 0:
            where = {"hw.id": device, "gpu": rank % 2, **({"rank": rank} if training else {})}
            if training:
                info = {"pid": 100 + rank, "local_rank": rank % 2, "world_size": 4, "rank": rank}
                pairs = attributes({**info, "hw.id": device})
                samples.append(Sample("training.rank.info", 1, at, pairs))
            if working:
                samples += [
                    Sample("hw.power", 500.0, at, attributes(where)),
                    Sample("hw.gpu.utilization", 0.9, at, attributes(where)),
                ]
            if failed and rank == LOST:
                state = attributes({**where, "hw.state": "failed"})
                samples.append(Sample("hw.status", 1, at, state))
        resource = TelemetryResource(host, "run-1" if training else None)
        body = encode.metrics_request([(resource, samples)])
        self.pipeline.metrics(self.decoder.protobuf(body), at + 0.1)
        if now == LOST_AT and rank == LOST:
            code = {"hw.id": device, "code": "79", "class": "fatal", "text": "fallen off the bus"}
            event = Event("gpu.fault", at, code, TelemetryResource(host, None))
            logs = logs_protobuf(encode.logs_request([(TelemetryResource(host, None), [event])]))
            self.pipeline.events(logs.events, at + 0.1)

    def incident(self):
        """Return the one incident: first cause, entity, status, last entry of its timeline."""
        (one,) = self.pipeline.incidents.values()
        first = one.root_cause.hypotheses[0]
        return first.fault, first.entity.id, one.status, one.timeline[-1].text


@pytest.fixture
def cluster():
    return Cluster()


def test_an_incident_lasts_from_the_loss_of_a_device_to_its_return(cluster):
    cluster.until(80)
    assert cluster.incident()[:3] == ("gpu.lost", "GPU-2", "open")
    cluster.until(500)
    fault, device, status, text = cluster.incident()
    assert (fault, device, status) == ("gpu.lost", "GPU-2", "open")
    assert text.startswith("the job ended without a restart; open until gpu GPU-2 on host-b")
    cluster.until(530, repaired=True)
    assert cluster.incident()[2:] == ("resolved", "gpu GPU-2 on host-b gives readings again")


def test_a_device_that_counts_as_failed_is_not_back(cluster):
    cluster.until(500)
    cluster.until(530, repaired=True, failed=True)
    assert cluster.incident()[2] == "open"
