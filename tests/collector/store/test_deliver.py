"""Delivery over real HTTP, to receivers that verify with the standardwebhooks library."""

import functools
import logging
import socket
import ssl
import subprocess
import threading
import time
from email.utils import formatdate

import pytest
from tests.clocks import ShiftedClock
from tests.waiting import until

from rankscope.alerts.notify import answers, webhook
from rankscope.alerts.ports import DeliveryOutcome, HttpPost
from rankscope.collector.store import schedule, sending
from rankscope.collector.store.deliver import OutboxDeliverer


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.long)])
def url(request, url_of):
    """Return the URL of an empty store: what is delivered is the same, whatever database it is."""
    return url_of(request.param)


@pytest.fixture
def clock():
    """Return a clock that runs, so that receivers find the signatures fresh, and can be put on."""
    return ShiftedClock()


@pytest.fixture
def deliverer(store, clock):
    made = OutboxDeliverer(outbox=store, clock=clock)
    yield made
    made.stop()


@pytest.fixture
def deliver(deliverer, clock):
    """Return a function that delivers what is due and waits for it."""

    def run():
        deliverer.run_once(clock.now())
        deliverer.settle(timeout_seconds=60)

    return run


def test_a_message_arrives_signed_and_as_the_contract_says(
    store, add_webhook, changed, new_receiver, deliver, queued
):
    receiver = new_receiver()
    add_webhook(url=receiver.url, secret=receiver.secret)
    store.commit([changed("opened")], 0.0)
    deliver()
    (message,) = receiver.got
    assert set(message.body) == {"type", "timestamp", "data"}
    assert message.body["type"] == "incident.opened"
    assert message.body["timestamp"] == message.body["data"]["updated_at"]
    assert message.body["data"] == store.incident("a1".ljust(20, "0"))
    assert message.headers["content-type"] == "application/json"
    assert queued() == [("opened", "delivered")]


@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
def test_any_2xx_is_success(store, add_webhook, changed, new_receiver, deliver, queued, status):
    receiver = new_receiver(answer=lambda _: (status, {}))
    add_webhook(url=receiver.url, secret=receiver.secret)
    store.commit([changed("opened")], 0.0)
    deliver()
    assert queued() == [("opened", "delivered")]


def test_a_redirect_is_a_failure_and_not_followed(
    store, add_webhook, changed, new_receiver, deliver, queued
):
    elsewhere = new_receiver()
    receiver = new_receiver(answer=lambda _: (302, {"location": elsewhere.url}))
    add_webhook(url=receiver.url, secret=receiver.secret)
    store.commit([changed("opened")], 0.0)
    deliver()
    assert queued() == [("opened", "pending")]
    assert elsewhere.got == []
    assert "redirects are not followed" in store.deliveries("wh_1")[0].last_error


def test_attempts_share_the_id_and_the_body_and_are_signed_anew(
    store, add_webhook, changed, new_receiver, deliver, clock
):
    receiver = new_receiver(answer=lambda number: (500 if number < 3 else 200, {}))
    add_webhook(url=receiver.url, secret=receiver.secret)
    store.commit([changed("opened")], 0.0)
    for ahead in (4.0, 14.0, 100.0):
        deliver()
        clock.ahead = ahead
    assert len(receiver.got) == 3
    assert len(set(receiver.ids)) == 1
    assert receiver.got[0].body == receiver.got[2].body
    assert int(receiver.got[2].timestamp) > int(receiver.got[0].timestamp)


def test_a_message_is_given_up_after_three_days_of_attempts(
    store, add_webhook, changed, clock, queued
):
    add_webhook(url="http://127.0.0.1:9/hook")
    refused = []

    def refuse(request, *, outcome, now):
        refused.append(request.url)
        return DeliveryOutcome(None, "connection refused")

    deliverer = OutboxDeliverer(outbox=store, clock=clock, send=refuse)
    store.commit([changed("opened")], 0.0)
    for _ in range(30):
        deliverer.run_once(clock.now())
        deliverer.settle()
        clock.ahead += 27 * 3600
    deliverer.stop()
    assert len(refused) == len(schedule.DELAYS_SECONDS)
    assert queued() == [("opened", "dead")]


def test_a_message_that_cannot_be_written_holds_only_itself_back(
    store, add_webhook, changed, new_receiver, deliver, monkeypatch, queued
):
    receiver = new_receiver()
    add_webhook(url=receiver.url, secret=receiver.secret)
    real = webhook.request

    def request(endpoint, notice, at):
        if notice.data["id"].startswith("a"):
            raise KeyError("summary")
        return real(endpoint, notice, at)

    monkeypatch.setattr(webhook, "request", request)
    store.commit([changed("opened", identity="a"), changed("opened", identity="b")], 0.0)
    deliver()
    assert [("opened", "pending"), ("opened", "delivered")] == queued()
    assert "the message cannot be written: KeyError" == store.deliveries("wh_1")[1].last_error


@pytest.mark.parametrize("status", [429, 502, 503, 504])
@pytest.mark.parametrize("as_date", [False, True])
def test_a_busy_receiver_is_left_alone_for_as_long_as_it_asks(
    store, add_webhook, changed, new_receiver, deliver, clock, status, as_date
):
    after = formatdate(time.time() + 120, usegmt=True) if as_date else "120"
    receiver = new_receiver(answer=lambda _: (status, {"retry-after": after}))
    add_webhook(url=receiver.url, secret=receiver.secret)
    store.commit([changed("opened", identity="a"), changed("opened", identity="b")], 0.0)
    deliver()
    clock.ahead = 110.0
    deliver()
    assert len(receiver.got) == 1
    clock.ahead = 125.0
    deliver()
    assert len(receiver.got) > 1


def test_a_receiver_that_is_gone_is_asked_no_more(
    store, add_webhook, changed, new_receiver, deliver, clock
):
    receiver = new_receiver(answer=lambda _: (410, {}))
    add_webhook(url=receiver.url, secret=receiver.secret)
    store.commit([changed("opened", identity="a"), changed("opened", identity="b")], 0.0)
    deliver()
    clock.ahead = 100.0
    deliver()
    assert len(receiver.got) == 1
    assert not store.webhook("wh_1").endpoint.enabled


def test_a_slow_receiver_delays_no_other(
    store, add_webhook, changed, new_receiver, deliverer, clock
):
    slow = new_receiver(stuck=True)
    quick = new_receiver()
    add_webhook("wh_1", url=slow.url, secret=slow.secret)
    add_webhook("wh_2", url=quick.url, secret=quick.secret)

    def arrived(number):
        # Looked for again each time, as in service: the thread of the message before may still run.
        deliverer.run_once(clock.now())
        return len(quick.got) > number

    for number in range(20):
        store.commit([changed("opened", identity=f"{number:02}")], 0.0)
        until(functools.partial(arrived, number), f"message {number}")
    assert 20 == len(quick.got)
    assert len(slow.got) == 1
    slow.let_go.set()


def test_everything_waits_for_a_receiver_that_was_away_and_comes_in_order(
    store, add_webhook, changed, new_receiver, deliver, clock
):
    away = True
    receiver = new_receiver(answer=lambda _: (503 if away else 200, {}))
    add_webhook(url=receiver.url, secret=receiver.secret)
    for number in range(5):
        for kind, at in (("opened", 10), ("updated", 20), ("resolved", 30)):
            change = changed(kind, identity=f"{number}", updated_at=1_700_000_000.0 + at)
            store.commit([change], 0.0)
    deliver()
    assert len(receiver.got) == 1  # its attempt stands for all that wait
    away = False
    receiver.got.clear()
    clock.ahead = 8.0
    deliver()
    deliver()
    assert len(receiver.got) == 15
    for number in range(5):
        mine = [row.body for row in receiver.got if row.body["data"]["id"][0] == str(number)]
        assert [body["type"] for body in mine] == [
            "incident.opened",
            "incident.updated",
            "incident.resolved",
        ]


def test_it_delivers_by_itself_and_leaves_the_rest_for_the_next_start(
    store, add_webhook, changed, new_receiver, clock, queued
):
    receiver = new_receiver()
    add_webhook(url=receiver.url, secret=receiver.secret)
    first = OutboxDeliverer(outbox=store, clock=clock)
    store.subscribe(lambda _: first.wake())
    first.start()
    store.commit([changed("opened", identity="a")], 0.0)
    until(lambda: queued() == [("opened", "delivered")])
    first.stop()
    store.commit([changed("opened", identity="b")], 0.0)
    second = OutboxDeliverer(outbox=store, clock=clock)
    second.start()
    until(lambda: queued() == [("opened", "delivered")] * 2)
    second.stop()


def test_secrets_stay_out_of_logs_errors_and_history(
    store, add_webhook, changed, new_receiver, deliver, caplog, capfd
):
    caplog.set_level(logging.DEBUG)
    receiver = new_receiver(answer=lambda _: (500, {}))
    url = receiver.url.replace("http://", "http://ada:hunter2@") + "?key=hunter3"
    add_webhook("wh_1", url=url, secret=receiver.secret)
    add_webhook("wh_2", url="http://ada:hunter2@127.0.0.1:9/?key=hunter3", secret=receiver.secret)
    store.commit([changed("opened")], 0.0)
    deliver()
    assert receiver.got[0].headers["authorization"].startswith("Basic ")
    valid = caplog.text + "".join(capfd.readouterr())
    valid += str(store.deliveries("wh_1")) + str(store.deliveries("wh_2"))
    for secret in ("hunter2", "hunter3", receiver.secret, receiver.secret[6:]):
        assert secret not in valid


def _send(url, *, headers=None, body=b"{}", **more):
    given = {"outcome": lambda status, _: answers.by_status(status), "now": time.time, **more}
    return sending.send(HttpPost(url, headers or {}, body), **given)


def test_a_receiver_that_drips_is_left_when_the_time_is_up(tarpit):
    """Each single read succeeds in time: only an end for the whole attempt ends it."""
    outcome = _send(tarpit, timeout_seconds=0.5)
    assert outcome.error == "no answer within 0.5 s"


def test_the_connection_goes_to_the_address_that_was_checked(new_receiver):
    """A name that would resolve to something else at its second look-up is not looked up again."""
    receiver = new_receiver()
    looked_up = []

    def resolve(host, _port):
        looked_up.append(host)
        return ["127.0.0.1"] if len(looked_up) == 1 else ["169.254.169.254"]

    url = receiver.url.replace("127.0.0.1", "receiver.test")
    body, secret = b'{"a":1}', receiver.secret
    headers = webhook.signed(secret, "msg_1", body, time.time())
    assert _send(url, headers=headers, body=body, resolve=resolve).accepted
    assert looked_up == ["receiver.test"]
    assert receiver.got[0].headers["host"] == f"receiver.test:{receiver.port}"


def test_the_next_address_of_a_name_is_tried_when_the_first_refuses(new_receiver):
    receiver = new_receiver()
    url = receiver.url.replace("127.0.0.1", "receiver.test")
    headers = webhook.signed(receiver.secret, "msg_1", b"{}", time.time())
    outcome = _send(url, headers=headers, resolve=lambda _h, _p: ["127.0.0.2", "127.0.0.1"])
    assert outcome.accepted


def test_a_forbidden_address_is_not_even_connected_to(monkeypatch):
    monkeypatch.setattr(sending, "_post", pytest.fail)
    outcome = _send("http://x.test/", resolve=lambda _h, _p: ["169.254.169.254"])
    assert outcome.status is None
    assert "metadata" in outcome.error


def test_a_name_that_is_not_known_is_an_outcome():
    def resolve(_host, _port):
        raise socket.gaierror(-2, "Name or service not known")

    outcome = _send("http://x.test/", resolve=resolve)
    assert outcome.error == "the receiver's name is not known: Name or service not known"


@pytest.mark.parametrize(
    ("after", "seconds"),
    [("7", 7.0), (" 7 ", 7.0), ("-7", None), ("soon", None), ("1e9", None), ("9" * 400, 86400.0),
     ("Thu, 01 Jan 1970 00:01:40 GMT", 40.0), ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0)],
)  # fmt: skip
def test_retry_after_is_read_as_seconds_or_a_date_and_bounded(new_receiver, after, seconds):
    assert sending._retry_after(after, 60.0) == seconds


@pytest.fixture
def secure(tmp_path, program, monkeypatch):
    """Return the port of a TLS server that proves, by a known authority, to be receiver.test."""
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subprocess.run(
        [program("openssl"), "req", "-x509", "-newkey", "ec", "-pkeyopt",
         "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=receiver.test",
         "-addext", "subjectAltName=DNS:receiver.test", "-keyout", key, "-out", certificate],
        check=True, capture_output=True,
    )  # fmt: skip
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    sending._trust.cache_clear()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    listener = socket.create_server(("127.0.0.1", 0))

    def serve():
        while True:
            try:
                plain, _ = listener.accept()
            except OSError:
                return
            try:
                with context.wrap_socket(plain, server_side=True) as connection:
                    got = b""
                    while not got.endswith(b"{}"):  # all of it: what is unread resets the line
                        got += connection.recv(65536)
                    connection.send(b"HTTP/1.1 204 No Content\r\n\r\n")
            except OSError:
                continue

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield listener.getsockname()[1]
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join(60)
    sending._trust.cache_clear()


def test_the_certificate_must_be_the_names_though_an_address_is_connected_to(secure):
    send = functools.partial(_send, resolve=lambda _h, _p: ["127.0.0.1"])
    assert send(f"https://receiver.test:{secure}/").status == 204
    other = send(f"https://other.test:{secure}/")
    assert other.status is None
    assert "certificate" in other.error
