"""One collector makes one incident of what several jobs blame, as several collectors do.

Detection is by hand, so that it needs no minutes of telemetry.
"""

from tests.collector.by_hand import by_hand

from rankscope.collector.pipeline.pipeline import DetectionPipeline
from rankscope.detectors.contract import Detector
from rankscope.formats.otlp import encode
from rankscope.formats.otlp.decode import MetricsDecoder
from rankscope.vocabulary.samples import Sample, TelemetryResource

START = 1_700_000_000.0
HOT_AT = 40
SECONDS = 90


class Hot(Detector):
    """Finds both devices of every job's first host hot from HOT_AT on."""

    name = "by-hand"
    kinds = ("job.slow", "rank.slow_compute", "gpu.throttled")

    def evaluate(self, window):
        """Return the same as long as it lasts."""
        if window.now < START + HOT_AT + 10:
            return ()
        topology, onset = window.topology, START + HOT_AT
        ranks = topology.ranks_of_host(min(topology.hosts))
        return [
            by_hand(window, "job.slow", topology.job_entity, onset),
            *(
                by_hand(window, "rank.slow_compute", topology.rank_entity(rank), onset)
                for rank in ranks
            ),
            *(by_hand(window, "gpu.throttled", topology.gpu_entity(rank), onset) for rank in ranks),
        ]


def _rank(job, rank, step):
    at, mine = START + step, (("rank", rank),)
    placed = (("hw.id", f"GPU-{job}-{rank}"), ("local_rank", rank % 2), ("pid", 100 + rank))
    info = tuple(sorted((*mine, *placed, ("world_size", 4))))
    return [
        Sample("training.step", float(step), at, mine),
        Sample("training.step.duration", 1.0, at, mine),
        Sample("training.compute.duration", 0.8, at, mine),
        Sample("hw.gpu.utilization", 1.0, at, (("hw.id", f"GPU-{job}-{rank}"),)),
        Sample("hw.temperature", 70.0, at, (("hw.id", f"GPU-{job}-{rank}"),)),
        Sample("hw.frequency", 1e9, at, (("hw.id", f"GPU-{job}-{rank}"),)),
        Sample("training.rank.info", 1.0, at, info),
    ]


def played(*switches):
    """Play two jobs whose first hosts are hot; it gives what is shown."""
    pipeline = DetectionPipeline(detectors=(Hot(),))
    decoder = MetricsDecoder(pipeline.table)
    changes = []
    for step in range(SECONDS):
        changes += pipeline.evaluate(START + step)
        for job, switch in zip(("run-1", "run-2"), switches, strict=True):
            for host in range(2):
                labels = (("network.switch", switch),)
                resource = TelemetryResource(f"{job}-host-{host}", job, extra=labels)
                rows = [row for n in (0, 1) for row in _rank(job, 2 * host + n, step)]
                body = encode.metrics_request([(resource, rows)])
                pipeline.metrics(decoder.protobuf(body), START + step + 0.1)
    return changes


def test_hosts_of_one_rack_in_two_jobs_are_one_incident_and_one_page():
    changes = played("leaf-1", "leaf-1")
    documents = {row.incident.id: row.incident for row in changes}
    (incident,) = documents.values()
    assert ("run-1", "run-2") == tuple(sorted(incident.jobs))
    assert "gpu.thermal_throttle" == incident.root_cause.hypotheses[0].fault
    assert 1 == [row.kind for row in changes].count("incident.opened")


def test_hosts_of_two_racks_are_two():
    changes = played("leaf-1", "leaf-2")
    assert 2 == len({row.incident.id for row in changes})
