import email.utils
import gzip
import time
from typing import Any

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceResponse,
)

from rankscope.agent.outgoing import LOGS, METRICS
from rankscope.agent.push import PushAnswer, PushConnection, SpoolSender, UnreachableError


@pytest.fixture
def senders():
    """Hold the senders that `send` started."""
    return []


@pytest.fixture
def send(spool, health, intake, senders):
    """Start a sender to the intake; batches go into the spool through what it returns."""

    def start(**more):
        post = PushConnection(intake.endpoint, timeout=60, **more)
        sender = SpoolSender(
            spool=spool, post=post, health=health, now=time.time, jitter=lambda: 0.0
        )
        sender.start()
        senders.append(sender)

        def put(text: str, kind: int = METRICS) -> None:
            spool.append(kind, 1, gzip.compress(text.encode()))
            sender.wake()

        return put

    yield start
    for sender in senders:
        sender.stop(timeout=60)


def texts(intake) -> list[str]:
    return [body.decode() for _, body in list(intake.taken)]


def test_batches_arrive_in_order_each_at_its_path(send, intake, until):
    put = send()
    put("a")
    put("b", LOGS)
    put("c")
    until(lambda: len(intake.taken) == 3)
    assert intake.taken == [("/v1/metrics", b"a"), ("/v1/logs", b"b"), ("/v1/metrics", b"c")]
    headers = intake.asked[0][1]
    assert headers["Content-Type"] == "application/x-protobuf"
    assert "Authorization" not in headers


def test_a_token_is_sent_as_bearer(send, intake, until):
    send(token="secret")("a")
    until(lambda: intake.taken)
    assert intake.asked[0][1]["Authorization"] == "Bearer secret"


def test_a_collector_that_goes_away_gets_everything_in_order_when_it_is_back(
    send, intake, until, health, spool
):
    put = send()
    put("0")
    until(lambda: spool.records == 0)
    intake.close()
    for number in range(1, 50):
        put(str(number))
    until(lambda: health.counted("push_failures"))
    assert spool.records == 49
    intake.open()
    until(lambda: spool.records == 0)
    assert texts(intake) == [str(number) for number in range(50)]
    assert health.counted("push_batches") == 50


@pytest.mark.parametrize(("rejected", "counted"), [(0, 0), (3, 1)])
def test_points_that_the_collector_rejects_are_told_and_the_batch_is_done(
    send, intake, until, health, spool, rejected, counted
):
    answer = ExportMetricsServiceResponse()
    answer.partial_success.rejected_data_points = rejected
    answer.partial_success.error_message = "no time" if rejected else ""
    intake.body = answer.SerializeToString()
    send()("a")
    until(lambda: health.counted("push_batches") and spool.records == 0)
    assert health.counted("push_partial") == counted


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504, 401, 403, 404, 301])
def test_a_collector_in_trouble_is_asked_again_and_loses_nothing(
    send, intake, until, health, status
):
    answers: Any = iter([(status, {}), (status, {"Retry-After": "0"})])
    intake.answer = lambda: next(answers, (200, {}))
    put = send()
    put("a")
    put("b")
    until(lambda: len(intake.taken) == 2)
    assert texts(intake) == ["a", "b"]
    assert health.counted("push_failures", f"status_{status}") == 2
    assert health.counted("push_refused") == 0


@pytest.mark.parametrize("status", [400, 413, 415])
def test_a_batch_that_would_always_be_refused_is_dropped_counted_and_logged_once(
    send, intake, until, health, caplog, status
):
    answers: Any = iter([(status, {}), (status, {})])
    intake.answer = lambda: next(answers, (200, {}))
    put = send()
    for text in "abc":
        put(text)
    until(lambda: intake.taken)
    assert texts(intake) == ["c"]
    assert health.counted("push_refused", str(status)) == 2
    assert [record.levelname for record in caplog.records].count("ERROR") == 1


def test_a_batch_that_breaks_the_collector_each_time_does_not_stand_in_the_way_for_ever(
    send, intake, until, health
):
    intake.answer = lambda: (500, {"Retry-After": "0"}) if len(intake.asked) <= 21 else (200, {})
    put = send()
    put("poison")
    put("next")
    until(lambda: intake.taken)
    assert texts(intake) == ["next"]
    assert health.counted("push_refused", "500") == 1


def test_retry_after_is_waited_for(send, intake, until):
    times = []

    def answer():
        times.append(time.monotonic())
        return (503, {"Retry-After": "1"}) if len(times) == 1 else (200, {})

    intake.answer = answer
    send()("a")
    until(lambda: intake.taken)
    assert times[1] - times[0] >= 1.0


@pytest.mark.parametrize(
    ("header", "least", "most"),
    [
        (lambda now: "7", 7, 7),
        (lambda now: email.utils.formatdate(now + 60, usegmt=True), 50, 61),
        (lambda now: email.utils.formatdate(now - 60, usegmt=True), 0, 0),
        (lambda now: "999999", 300, 300),
    ],
)
def test_retry_after_is_seconds_or_a_date_and_bounded(intake, header, least, most):
    intake.answer = lambda: (503, {"Retry-After": header(time.time())})
    post = PushConnection(intake.endpoint, timeout=60)
    answer = post.send(METRICS, b"")
    post.close()
    assert answer.status == 503
    assert least <= answer.retry_after <= most


@pytest.mark.parametrize("header", ["soon", "-1", ""])
def test_a_retry_after_that_makes_no_sense_is_passed_over(intake, header):
    intake.answer = lambda: (503, {"Retry-After": header})
    post = PushConnection(intake.endpoint, timeout=60)
    assert post.send(METRICS, b"") == PushAnswer(503, None)
    post.close()


def test_a_kept_connection_that_the_server_closed_is_no_failure(intake):
    post = PushConnection(intake.endpoint, timeout=60)
    assert post.send(METRICS, gzip.compress(b"a")).status == 200
    intake.close()
    intake.open()
    assert post.send(METRICS, gzip.compress(b"b")).status == 200
    post.close()


def test_pushes_share_a_connection(intake, monkeypatch):
    post = PushConnection(intake.endpoint, timeout=60)
    opened = []
    real = post._opened

    def open_():
        opened.append(1)
        return real()

    monkeypatch.setattr(post, "_opened", open_)
    for _ in range(5):
        post.send(METRICS, gzip.compress(b"a"))
    post.close()
    assert len(opened) == 1


def test_a_path_in_the_endpoint_is_kept(intake):
    post = PushConnection(f"{intake.endpoint}/otlp/", timeout=60)
    post.send(METRICS, gzip.compress(b"a"))
    post.close()
    assert intake.taken[0][0] == "/otlp/v1/metrics"


@pytest.mark.parametrize(
    ("endpoint", "reason"),
    [("http://127.0.0.1:1", "refused"), ("http://no-such-host.invalid:80", "name")],
)
def test_why_a_collector_cannot_be_reached_is_one_word(endpoint, reason):
    with pytest.raises(UnreachableError) as caught:
        PushConnection(endpoint, timeout=60).send(METRICS, b"")
    assert caught.value.reason == reason


def test_a_server_that_never_answers_is_a_timeout(intake):

    def slowly():
        time.sleep(1.0)
        return 200, {}

    intake.answer = slowly
    post = PushConnection(intake.endpoint, timeout=0.2)
    with pytest.raises(UnreachableError) as caught:
        post.send(METRICS, gzip.compress(b"a"))
    assert caught.value.reason == "timeout"


def test_pauses_grow_to_a_limit_and_start_small_again_after_a_success(spool, health):
    post = PushConnection("http://127.0.0.1:1", timeout=1)
    sender = SpoolSender(spool=spool, post=post, health=health, now=time.time, jitter=lambda: 1.0)
    pauses = [sender._backoff() for _ in range(9)]
    assert pauses == [0.5, 1, 2, 4, 8, 16, 30, 30, 30]


def test_stopping_sends_what_waits(send, intake, senders):
    put = send()
    for number in range(20):
        put(str(number))
    senders[0].stop(timeout=60)
    assert texts(intake) == [str(number) for number in range(20)]


def test_stopping_does_not_wait_for_a_collector_that_is_away(
    send, intake, until, health, spool, senders
):
    intake.close()
    put = send()
    put("a")
    until(lambda: health.counted("push_failures"))
    senders[0].stop(timeout=60)
    assert not senders[0]._thread.is_alive()
    assert spool.records == 1
