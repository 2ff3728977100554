"""What is derived arrives in real stores, whatever they answer meanwhile."""

import operator
import time
import urllib.parse
from functools import partial

import httpx
import pytest
from prometheus_client import CollectorRegistry
from tests.clocks import SetClock
from tests.waiting import get, until

from rankscope.collector.long_term.sending import LongTerm
from rankscope.collector.settings.long_term import LongTermSettings
from rankscope.formats.otlp import encode
from rankscope.lab.demo.processes import DemoProcesses
from rankscope.lab.demo.stage import clean_environment, free_port
from rankscope.vocabulary.samples import Sample, TelemetryResource, attributes

STEPS, RANKS = 60, 8


def query(address, expression):
    """Return the series of an instant query, by name, as sets of labels and values."""
    words = urllib.parse.urlencode({"query": expression})
    return get(address, f"/api/v1/query?{words}")["data"]["result"]


def lately(address, series):
    """Return the newest values, of a series that has ended meanwhile too."""
    return query(address, f"last_over_time({series}[10m])")


def train(address, now):
    """Send a job in which rank 3 has been slow for half a minute."""
    samples = []
    for step in range(STEPS):
        at = now - (STEPS - step)
        for rank in range(RANKS):
            own = 1.3 if rank == 3 and step > 30 else 0.8
            whole = 1.35 if step > 30 else 0.85
            pairs = attributes({"rank": rank})
            samples += [
                Sample("training.step", step, at, pairs),
                Sample("training.step.duration", whole, at, pairs),
                Sample("training.compute.duration", own, at, pairs),
                Sample("training.comm.duration", whole - own, at, pairs),
            ]
    body = encode.metrics_request([(TelemetryResource("gpu-1", "run-1"), samples)])
    headers = {"Content-Type": "application/x-protobuf"}
    assert httpx.post(f"{address}/v1/metrics", content=body, headers=headers).status_code == 200


@pytest.fixture(params=["prometheus", "victoria-metrics"])
def store(request, program, tmp_path):
    """Run a real store that takes remote write; yield its address."""
    listen = f"127.0.0.1:{free_port()}"
    (tmp_path / "prometheus.yml").write_text("{}\n", encoding="utf-8")
    command = {
        "prometheus": [
            "--web.enable-remote-write-receiver", f"--web.listen-address={listen}",
            f"--config.file={tmp_path / 'prometheus.yml'}",
            f"--storage.tsdb.path={tmp_path / 'tsdb'}",
        ],
        "victoria-metrics": [
            f"-httpListenAddr={listen}", f"-storageDataPath={tmp_path / 'data'}",
            "-search.latencyOffset=1s",
        ],
    }[request.param]  # fmt: skip
    with DemoProcesses(tmp_path) as processes:
        processes.start(
            request.param, [program(request.param), *command], environ=clean_environment()
        )
        until(lambda: query(f"http://{listen}", "vector(1)"), request.param)
        yield f"http://{listen}"


@pytest.mark.programs
def test_jobs_findings_and_own_time_are_in_a_real_store(store, collector_at, tmp_path):
    settings = {
        "url": f"{store}/api/v1/write", "interval_seconds": 1, "labels": {"collector": "a"},
    }  # fmt: skip
    with collector_at(tmp_path / "collector", long_term=settings) as service:
        train(service.address, time.time())
        found = [
            until(partial(lately, store, series), series)
            for series in (
                'rankscope_job_info{job_id="run-1",collector="a"}',
                'rankscope_finding_score{job_id="run-1",entity="3"}',
                'rankscope_rank_own_seconds{job_id="run-1",rank="3"}',
                'rankscope_job_own_seconds{job_id="run-1",quantile="0.5"}',
            )
        ]
        _, _, (slow,), (usual,) = found
        assert float(slow["value"][1]) == pytest.approx(1.3, rel=0.05)
        assert float(usual["value"][1]) == pytest.approx(0.8, rel=0.05)
        until(lambda: get(service.address, "/readyz")["warnings"], "no warning", operator.not_)


class Store:
    """A store that answers as it is set to; `bodies` are those it took."""

    def __init__(self):
        self.status, self.headers, self.bodies = 204, {}, []
        self.error = None

    def __call__(self, request):
        if self.error is not None:
            raise self.error
        if self.status < 300:
            self.bodies.append(request.content)
        return httpx.Response(self.status, headers=self.headers, text="no room")


@pytest.fixture
def writer():
    """Make writers of one body a round, without their threads."""
    store, registry = Store(), CollectorRegistry()
    made = []

    def make(**settings):
        rounds = iter(range(1000))
        one = LongTerm(
            LongTermSettings(url="http://user:word@store/api/v1/write?x=1", **settings),
            gather=lambda _: [(b"%d" % next(rounds) * 2000, 10)],
            clock=SetClock(1_790_000_000.0),
            registry=registry,
            transport=httpx.MockTransport(store),
        )
        made.append(one)
        return one

    yield (
        make,
        store,
        lambda name, **labels: registry.get_sample_value(
            f"rankscope_collector_long_term_{name}", labels
        ),
    )
    for one in made:
        one.stop()


def test_what_a_store_does_not_take_is_sent_again_in_order(writer):
    make, store, counted = writer
    long_term = make(interval_seconds=15)
    store.status = 503
    long_term.step(0.0)
    long_term.step(15.0)
    assert "503" in long_term.warnings()[0]
    assert "word" not in long_term.warnings()[0]
    store.status = 204
    long_term.step(30.0)
    assert len(store.bodies) == 3
    assert long_term.warnings() == []
    assert counted("samples_total", outcome="sent") == 30.0
    assert counted("failures_total", reason="unavailable") == 2.0
    assert counted("queue_bytes") == 0.0


def test_retry_after_is_kept_and_waits_grow(writer):
    make, store, _ = writer
    long_term = make(interval_seconds=1)
    store.status, store.headers = 429, {"Retry-After": "20"}
    long_term.step(0.0)
    store.status = 204
    long_term.step(19.0)
    assert store.bodies == []
    long_term.step(20.0)
    assert len(store.bodies) == 3


@pytest.mark.parametrize(
    ("error", "reason"),
    [(httpx.ConnectError("nobody"), "connection"), (httpx.ReadTimeout("slow"), "timeout")],
)
def test_a_store_that_is_away_is_counted_by_reason(writer, error, reason):
    make, store, counted = writer
    long_term = make()
    store.error = error
    long_term.step(0.0)
    assert counted("failures_total", reason=reason) == 1.0
    assert len(long_term.warnings()) == 1


def test_what_a_store_refuses_for_good_is_counted_and_not_sent_again(writer):
    make, store, counted = writer
    long_term = make(interval_seconds=15)
    store.status = 400
    long_term.step(0.0)
    store.status = 204
    long_term.step(15.0)
    assert len(store.bodies) == 1
    assert counted("samples_total", outcome="rejected") == 10.0


def test_the_oldest_goes_first_when_there_is_no_room(writer):
    make, store, counted = writer
    long_term = make(interval_seconds=1, queue_bytes=1 << 16)
    store.status = 503
    long_term._gather = lambda at: [(bytes(i * 7 % 251 ^ int(at) for i in range(9000)), 10)] * 2
    for second in range(200):
        long_term.step(float(second))
    assert counted("queue_bytes") <= 1 << 16
    assert counted("samples_total", outcome="dropped") > 0


def test_nothing_is_written_unless_an_address_is_set(collector):
    assert collector._connected == []


@pytest.mark.parametrize("labels", [{"1a": "x"}, {"__name__": "x"}])
def test_a_label_that_is_none_is_refused(labels):
    with pytest.raises(ValueError, match="not a label name"):
        LongTermSettings(labels=labels)
