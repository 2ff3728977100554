"""What of a payload goes to which partition: a job's with the job, a host's with the jobs on it."""

import pytest

from rankscope.collector.cluster import names
from rankscope.collector.cluster.routing import PayloadRouter
from rankscope.collector.intake.decoding import PayloadDecoder
from rankscope.collector.intake.payloads import Payload
from rankscope.collector.journal.kinds import PayloadKind
from rankscope.formats.otlp import encode
from rankscope.formats.otlp.columns import SeriesTable
from rankscope.formats.otlp.errors import UndecodableError
from rankscope.formats.remote_write import WriteRequest
from rankscope.formats.remote_write.encode import encoded_labels
from rankscope.vocabulary.samples import Event, Sample, TelemetryResource

PARTITIONS = 8
AT = 1_700_000_000.0


class Hosts:
    """The jobs' partitions by host, without a bucket."""

    def __init__(self) -> None:
        self.seen: dict[str, set[int]] = {}

    def learn(self, host: str, partition: int) -> None:
        self.seen.setdefault(host, set()).add(partition)

    def partitions(self, host: str) -> frozenset[int]:
        return frozenset(self.seen.get(host, ()))


@pytest.fixture
def router():
    return PayloadRouter(PARTITIONS, Hosts())


def _metrics(*resources: TelemetryResource) -> bytes:
    return encode.metrics_request(
        [(row, [Sample("system.cpu.utilization", 0.5, AT)]) for row in resources]
    )


def _hosts(kind: PayloadKind, body: bytes) -> list[str]:
    """Return the hosts of the samples or events in a payload."""
    table = SeriesTable()
    decoded = PayloadDecoder(table).decode(Payload(kind, body))
    if decoded.metrics is None:
        return sorted(event.resource.host for event in decoded.events)
    return sorted(table[int(one)].resource.host for one in decoded.metrics.columns.series)


def _of(job: str) -> int:
    return names.of_job(job, PARTITIONS)


def _two_jobs() -> tuple[str, str]:
    """Return jobs of different partitions."""
    other = next(f"run-{n}" for n in range(2, 99) if _of(f"run-{n}") != _of("run-1"))
    return "run-1", other


def test_a_payload_of_one_job_goes_to_its_partition_byte_for_byte(router):
    body = _metrics(TelemetryResource("a", "run-1"), TelemetryResource("b", "run-1"))
    assert router.split(PayloadKind.METRICS_PROTOBUF, body) == {_of("run-1"): body}


def test_node_telemetry_goes_with_the_job_that_reports_from_the_same_host(router):
    body = _metrics(TelemetryResource("a"), TelemetryResource("a", "run-1"))
    assert router.split(PayloadKind.METRICS_PROTOBUF, body) == {_of("run-1"): body}
    later = _metrics(TelemetryResource("a"))
    assert router.split(PayloadKind.METRICS_PROTOBUF, later) == {_of("run-1"): later}


def test_node_telemetry_of_a_host_with_two_jobs_goes_to_both(router):
    first, second = _two_jobs()
    router.split(
        PayloadKind.METRICS_PROTOBUF,
        _metrics(TelemetryResource("a", first), TelemetryResource("a", second)),
    )
    found = router.split(PayloadKind.METRICS_PROTOBUF, _metrics(TelemetryResource("a")))
    assert set(found) == {_of(first), _of(second)}


def test_equal_job_ids_of_two_clusters_are_in_one_partition_under_either_name(router):
    """There they are told apart, as `run-1@east` and `run-1@west`; requests name them like that."""
    east, west = (
        TelemetryResource(f"host-{name}", "run-1", cluster=name) for name in ("east", "west")
    )
    body = _metrics(east, west)
    assert router.split(PayloadKind.METRICS_PROTOBUF, body) == {_of("run-1"): body}
    assert _of("run-1") == _of("run-1@east") == _of("run-1@west")


def test_a_host_without_a_job_has_a_partition_of_its_own(router):
    found = router.split(PayloadKind.METRICS_PROTOBUF, _metrics(TelemetryResource("idle")))
    assert set(found) == {names.of_host("idle", PARTITIONS)}


@pytest.mark.parametrize("kind", [PayloadKind.METRICS_PROTOBUF, PayloadKind.METRICS_JSON])
def test_a_payload_of_two_jobs_is_divided_and_nothing_of_it_is_lost(router, kind):
    first, second = _two_jobs()
    body = _metrics(
        TelemetryResource("a", first), TelemetryResource("b", second), TelemetryResource("c", first)
    )
    if kind is PayloadKind.METRICS_JSON:
        body = _as_json(first, second)
    found = router.split(kind, body)
    assert _hosts(kind, found[_of(first)]) == ["a", "c"]
    assert _hosts(kind, found[_of(second)]) == ["b"]
    assert len(found) == 2


def _as_json(first: str, second: str) -> bytes:
    def one(host: str, job: str) -> str:
        return (
            '{"resource": {"attributes": ['
            f'{{"key": "host.name", "value": {{"stringValue": "{host}"}}}}, '
            f'{{"key": "rankscope.job.id", "value": {{"stringValue": "{job}"}}}}]}}, '
            '"scopeMetrics": [{"metrics": [{"name": "system.cpu.utilization", "gauge": '
            '{"dataPoints": [{"timeUnixNano": "1700000000000000000", "asDouble": 0.5}]}}]}]}'
        )

    rows = ", ".join((one("a", first), one("b", second), one("c", first)))
    return f'{{"resourceMetrics": [{rows}]}}'.encode()


def test_events_that_name_neither_job_nor_host_go_everywhere(router):
    event = Event("log.fault", AT, {"signature": "x"}, TelemetryResource(""))
    found = router.split(
        PayloadKind.LOGS_PROTOBUF, encode.logs_request([(TelemetryResource(""), [event])])
    )
    assert set(found) == set(range(PARTITIONS))


def test_remote_write_is_divided_by_the_job_and_host_of_its_series(router):
    first, second = _two_jobs()
    request = WriteRequest()
    for host, job in (("a", first), ("b", second)):
        labels = {"__name__": "training_step", "host_name": host, "job_id": job, "rank": "0"}
        request.add(encoded_labels(labels), int(AT * 1000), 1.0)
    found = router.split(PayloadKind.REMOTE_WRITE, request.body())
    assert _hosts(PayloadKind.REMOTE_WRITE, found[_of(first)]) == ["a"]
    assert _hosts(PayloadKind.REMOTE_WRITE, found[_of(second)]) == ["b"]


def test_what_is_no_request_is_refused(router):
    with pytest.raises(UndecodableError):
        router.split(PayloadKind.METRICS_PROTOBUF, b"\xff\xff\xff")


def test_with_one_partition_nothing_is_taken_apart():
    body = _metrics(TelemetryResource("a", "run-1"), TelemetryResource("b", "run-2"))
    assert PayloadRouter(1, Hosts()).split(PayloadKind.METRICS_PROTOBUF, body) == {0: body}
