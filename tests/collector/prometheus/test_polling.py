"""Polling a store: every sample once, every failure named, nothing without bounds."""

import json
from concurrent.futures import Future
from contextlib import contextmanager
from types import SimpleNamespace
from urllib.parse import parse_qs

import pytest
from pydantic import ValidationError
from tests.clocks import SetClock
from tests.serving import Answer, served

from rankscope.collector.health.health import CollectorHealth
from rankscope.collector.intake.payloads import PayloadOutcome
from rankscope.collector.intake.waiting import BusyError
from rankscope.collector.prometheus import past, selection
from rankscope.collector.prometheus.asking import REASONS, PrometheusClient, StoreQueryError
from rankscope.collector.prometheus.polling import StorePoller
from rankscope.collector.recordings.otlp_lines import RecordingError
from rankscope.collector.settings.prometheus import PrometheusSettings
from rankscope.formats.otlp.columns import SeriesTable
from rankscope.formats.remote_write import RemoteWriteDecoder

NOW = 1_790_000_015.0
SERIES = {
    "__name__": "DCGM_FI_DEV_GPU_TEMP", "Hostname": "gpu-1", "UUID": "GPU-1", "gpu": "0",
}  # fmt: skip


class Store:
    """A Prometheus API that answers as it is set to; `asked` holds the queries."""

    def __init__(self):
        self.address = ""
        self.asked = []
        self.samples = []
        self.names = {"DCGM_FI_DEV_GPU_TEMP": 1}
        self.more = {}
        self.broken = None
        self.separators = (",", ":")

    def answer(self, query):
        if self.broken is not None:
            return self.broken
        if query.startswith("count"):
            rows = [
                {"metric": {"__name__": name}, "value": [0, str(count)]}
                for name, count in self.names.items()
                if f'"{name}|' in query or f"|{name}|" in query or f'|{name}"' in query
            ]
        else:
            rows = [{"metric": SERIES, "values": self.samples}]
        body = {"status": "success", "data": {"result": rows}, **self.more}
        return (
            200,
            {"Content-Type": "application/json"},
            json.dumps(body, separators=self.separators).encode(),
        )


@contextmanager
def serving():
    double = Store()

    def answer(request):
        asked = parse_qs(request.body.decode())
        query = asked["query"][0]
        double.asked.append((query, float(asked["time"][0]), request.headers))
        status, headers, body = double.answer(query)
        return Answer(body, status=status, headers=headers)

    with served(answer) as double.address:
        yield double


@pytest.fixture
def store():
    with serving() as found:
        yield found


@pytest.fixture
def polled(store):
    """`make` makes a poller, `taken` lists (seconds, value) in the journal."""
    made: list[StorePoller] = []
    taken: list[tuple[float, float]] = []
    health = CollectorHealth()

    def make(submit=None, **settings):
        decoder = RemoteWriteDecoder(SeriesTable())

        def accept(payload):
            columns = decoder.plain(payload.body).columns
            rows = zip(columns.at.tolist(), columns.value.tolist(), strict=True)
            taken.extend(row for row in rows if row[1] != 1.0)
            future: Future[PayloadOutcome] = Future()
            future.set_result(PayloadOutcome(len(columns.at)))
            return future

        given = {"url": store.address, "name": "site", **settings}
        poller = StorePoller(
            PrometheusSettings.model_validate(given),
            submit=submit or accept, clock=SetClock(NOW), health=health,
        )  # fmt: skip
        made.append(poller)
        return poller

    yield SimpleNamespace(make=make, taken=taken, health=health)
    for poller in made:
        poller.stop()


def counted(health, name, **labels):
    return health.registry.get_sample_value(f"rankscope_collector_{name}", labels)


def test_every_sample_is_taken_once_with_the_time_of_its_scrape(store, polled):
    """Stretches overlap, so that what was stored late comes with the next poll."""
    poller = polled.make()
    store.samples = [[NOW - 13.5, "60"]]
    assert poller.step(NOW)
    store.samples = [[NOW - 13.5, "60"], [NOW - 6.0, "61"], [NOW + 1.5, "62"]]
    assert not poller.step(NOW + 1.0)  # not due
    assert poller.step(NOW + 15.0)
    assert polled.taken == [(NOW - 13.5, 60.0), (NOW - 6.0, 61.0), (NOW + 1.5, 62.0)]
    assert counted(polled.health, "polls_total", store="site", outcome="success") == 2.0
    assert poller.warnings() == []


def test_metrics_of_a_target_that_is_scraped_later_are_asked_for_soon(store, polled):
    """Targets that appear together are scraped one by one; later it is seldom asked what is new."""
    poller = polled.make(interval_seconds=15)
    asked = {}
    for poll in range(32):
        now = NOW + 15.0 * poll
        if poll == 1:
            store.names = {"DCGM_FI_DEV_GPU_TEMP": 1, "DCGM_FI_DEV_POWER_USAGE": 1}
        before = len(store.asked)
        assert poller.step(now)
        queries = [query for query, _, _ in store.asked[before:]]
        asked[poll] = any(query.startswith("count") for query in queries)
        assert ("DCGM_FI_DEV_POWER_USAGE" in queries[-1]) == (poll >= 1)
    assert [poll for poll, again in asked.items() if again] == [0, 1, 2, 4, 8, 16]


def test_queries_end_at_whole_intervals_behind_the_clock(store, polled):
    poller = polled.make(interval_seconds=15, delay_seconds=5, matchers=['cluster="a"'])
    poller.step(NOW)
    assert {at for _, at, _ in store.asked} == {1_790_000_010.0}
    query = store.asked[-1][0]
    assert query == '{__name__=~"DCGM_FI_DEV_GPU_TEMP",cluster="a"}[30000ms]'


@pytest.mark.parametrize(
    ("broken", "reason", "words"),
    [
        ((429, {"Retry-After": "60"}, b"{}"), "rate_limited", "429"),
        ((503, {}, b'{"error": "too busy"}'), "unavailable", "too busy"),
        ((200, {"Content-Type": "text/html"}, b"<html>login"), "not_json", "text/html, not JSON"),
        ((401, {}, b""), "forbidden", "check token"),
        ((422, {}, b'{"error": "bad range"}'), "refused", "bad range"),
        ((302, {"Location": "/login"}, b"{}"), "status", "302"),
        ((200, {}, b'{"data": []}'), "not_json", "not an answer of the Prometheus API"),
        ((200, {}, b"x" * 70_000), "too_large", "raise max_bytes"),
    ],
    ids=lambda value: value if isinstance(value, str) and "_" in value else "",
)
def test_a_failure_is_counted_said_and_made_good(store, polled, broken, reason, words):
    poller = polled.make(max_bytes=1 << 16)
    store.samples = [[NOW - 6.0, "61"]]
    store.broken = broken
    assert poller.step(NOW)
    assert reason in REASONS
    assert counted(polled.health, "polls_total", store="site", outcome=reason) == 1.0
    (warning,) = poller.warnings()
    assert words in warning
    store.broken = None
    assert poller.step(NOW + 61.0)
    assert polled.taken == [(NOW - 6.0, 61.0)]
    assert poller.warnings() == []


def test_retry_after_is_kept(store, polled):
    poller = polled.make()
    store.broken = (429, {"Retry-After": "60"}, b"{}")
    assert poller.step(NOW)
    assert not poller.step(NOW + 45.0)
    assert poller.step(NOW + 60.0)


def test_nobody_there_is_a_failure_too(polled):
    poller = polled.make(url="http://127.0.0.1:9")
    assert poller.step(NOW)
    assert "cannot be reached" in poller.warnings()[0]


def test_an_answer_that_drips_is_given_up(store):
    """Time is taken while the body is read, not only until it begins."""
    ticks = iter(range(0, 1000, 5))
    settings = PrometheusSettings(url=store.address, timeout_seconds=1)
    asking = PrometheusClient(settings, monotonic=lambda: float(next(ticks)))
    with pytest.raises(StoreQueryError, match="no answer within 1 s"):
        asking.query("up", NOW)
    asking.close()


def test_what_the_journal_does_not_take_is_asked_again(store, polled):
    full = [True]

    def submit(payload):
        if full[0]:
            raise BusyError("256 bytes wait already")
        return accept(payload)

    poller = polled.make(submit)
    accept = polled.make().__dict__["_submit"]
    store.samples = [[NOW - 6.0, "61"]]
    poller.step(NOW)
    assert counted(polled.health, "polls_total", store="site", outcome="journal") == 1.0
    full[0] = False
    poller.step(NOW + 2.0)
    assert poller.warnings() == []


def test_partial_answers_are_used_and_said(store, polled):
    poller = polled.make()
    store.samples = [[NOW - 6.0, "61"]]
    store.more = {"warnings": ["store-3 is away"], "isPartial": True}
    poller.step(NOW)
    assert len(polled.taken) == 1
    assert [warning.partition(": ")[2] for warning in poller.warnings()] == [
        "store-3 is away",
        "the answer is partial",
    ]
    assert counted(polled.health, "polls_total", store="site", outcome="partial") == 1.0


def test_time_that_is_too_long_ago_is_counted_as_missed(store, polled):
    poller = polled.make(catch_up_seconds=60)
    poller.step(NOW)
    poller.step(NOW + 600.0)
    assert counted(polled.health, "polled_missed_seconds_total", store="site") == 540.0


def test_a_million_series_are_bounded_and_the_most_telling_come_first(store, polled):
    store.names = {
        "node_procs_blocked": 150, "DCGM_FI_DEV_GPU_TEMP": 90, "DCGM_FI_DEV_SM_CLOCK": 80,
        "node_disk_io_time_seconds_total": 1_000_000,
    }  # fmt: skip
    poller = polled.make(max_series=330, page_series=100)
    poller.step(NOW)
    queries = [query for query, _, _ in store.asked if not query.startswith("count")]
    assert ["DCGM_FI_DEV_SM_CLOCK" in query for query in queries] == [True, False, False]
    assert not any("node_disk_io_time" in query for query in queries)
    assert "1 metrics are not asked for, more than 330 series: node_disk_io" in str(
        poller.warnings()
    )


def test_a_store_without_exporters_is_said(store, polled):
    store.names = {}
    poller = polled.make()
    poller.step(NOW)
    assert "has no metric that is known here" in poller.warnings()[0]


def test_rows_that_cannot_be_read_are_counted(store, polled):
    poller = polled.make()
    store.samples = [[NOW - 6.0, "x"]]
    poller.step(NOW)
    assert counted(polled.health, "polled_malformed_series_total", store="site") == 1.0


def test_an_answer_that_is_written_with_spaces_is_taken_as_well(store, polled):
    poller = polled.make()
    store.separators = (", ", ": ")
    store.samples = [[NOW - 13.5, "60"]]
    assert poller.step(NOW)
    store.samples = [[NOW - 13.5, "60"], [NOW - 6.0, "61"]]
    assert poller.step(NOW + 15.0)
    assert polled.taken == [(NOW - 13.5, 60.0), (NOW - 6.0, 61.0)]


def test_token_and_tenant_are_sent(store, polled):
    poller = polled.make(token="secret", tenant="team-a")
    poller.step(NOW)
    headers = store.asked[0][2]
    assert headers["authorization"] == "Bearer secret"
    assert headers["x-scope-orgid"] == headers["thanos-tenant"] == "team-a"


def test_names_with_numbers_are_discovered_by_pattern():
    queries = selection.discovery([])
    assert any("npu_chip_info_temperature" in query for query in queries)
    assert any("[0-9]+" in query for query in queries)
    assert max(map(len, queries)) < 16_384  # VictoriaMetrics refuses longer ones


@pytest.mark.parametrize("matcher", ['cluster="a"} or vector(1', "cluster=a", ""])
def test_a_matcher_that_is_none_is_refused(matcher):
    with pytest.raises(ValidationError):
        PrometheusSettings(url="http://p:9090", matchers=(matcher,))


@pytest.mark.parametrize(
    ("url", "label"),
    [
        ("http://u:p@prom:9090/", "prom:9090"),
        ("https://mimir/prometheus/api/v1", "mimir"),
    ],
)
def test_names_show_no_secret(url, label):
    assert PrometheusSettings(url=url).label == label


def test_the_past_comes_in_ticks_and_in_order(store):
    store.samples = [[NOW + number, str(60 + number)] for number in (1.0, 2.0, 7.0)]
    settings = PrometheusSettings(url=store.address)
    found = list(past.ticks(settings, NOW, NOW + 10, warn=pytest.fail))
    decoder = RemoteWriteDecoder(SeriesTable())
    assert [
        (now - NOW, [value for value in decoder.plain(body).columns.value if value != 1.0])
        for now, body in found
    ] == [(5.0, [61.0, 62.0]), (10.0, [67.0])]


def test_a_past_that_cannot_be_had_is_an_error(store):
    store.broken = (503, {}, b"")
    settings = PrometheusSettings(url=store.address, name="site")
    with pytest.raises(RecordingError, match="site: HTTP 503"):
        list(past.ticks(settings, NOW, NOW + 10, warn=pytest.fail))
