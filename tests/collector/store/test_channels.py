"""Delivery over real HTTP to doubles of the channels, which check what the real ones check.

Each answers its documented errors: a wrong signature, an old one, too many messages, a body that it
cannot read. Signatures are checked by code of this file alone.
"""

import base64
import contextlib
import hashlib
import hmac
import json
import socket
import threading
import time
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from tests.clocks import ShiftedClock
from tests.serving import Answer, served

from rankscope.alerts import notify
from rankscope.alerts.ports import HttpPost
from rankscope.collector.store import sending
from rankscope.collector.store.deliver import OutboxDeliverer

SECRET = "SEC-of-the-bot"
KEY = "R" * 32
TOLERANCE_SECONDS = 3600


def _mac(key, message):
    return base64.b64encode(hmac.new(key, message, hashlib.sha256).digest()).decode()


def _feishu(bot, _query, body):
    signed = f"{body.get('timestamp')}\n{bot.secret}".encode()
    if bot.secret and body.get("sign") != _mac(signed, b""):
        return 200, {"code": 19021, "msg": "sign match fail or timestamp is not within one hour"}
    if bot.secret and abs(time.time() - int(body["timestamp"])) > TOLERANCE_SECONDS:
        return 200, {"code": 19021, "msg": "sign match fail or timestamp is not within one hour"}
    if bot.full:
        return 200, {"code": 11232, "msg": "create message trigger psm frequency limit"}
    if body.get("msg_type") != "interactive" or not body["card"]["elements"]:
        return 200, {"code": 9499, "msg": "Bad Request"}
    return 200, {"StatusCode": 0, "StatusMessage": "success", "code": 0, "msg": "success"}


def _dingtalk(bot, query, body):
    if query.get("access_token") != ["token"]:
        return 200, {"errcode": 300001, "errmsg": "token is not exist"}
    stamp = query.get("timestamp", ["0"])[0]
    if query.get("sign") != [_mac(bot.secret.encode(), f"{stamp}\n{bot.secret}".encode())]:
        return 200, {"errcode": 310000, "errmsg": "sign not match"}
    if abs(time.time() * 1000 - int(stamp)) > TOLERANCE_SECONDS * 1000:
        return 200, {"errcode": 310000, "errmsg": "invalid timestamp"}
    if bot.full:
        return 200, {"errcode": 130101, "errmsg": "send too fast, exceed 20 times per minute"}
    if body.get("msgtype") != "text" or not body["text"]["content"]:
        return 200, {"errcode": 400002, "errmsg": "invalid argument"}
    return 200, {"errcode": 0, "errmsg": "ok"}


def _wecom(bot, query, body):
    if query.get("key") != ["key"]:
        return 200, {"errcode": 93000, "errmsg": "invalid webhook url"}
    if bot.full:
        return 200, {"errcode": 45009, "errmsg": "api freq out of limit"}
    if len(body["text"]["content"].encode()) > 2048:
        return 200, {"errcode": 40058, "errmsg": "text content exceed max length 2048"}
    return 200, {"errcode": 0, "errmsg": "ok"}


def _slack(bot, _query, body):
    if bot.full:
        return 429, ""
    if not body.get("text") or len(body["blocks"]) > 50:
        return 400, "invalid_payload"
    return 200, "ok"


def _pagerduty(bot, _query, body):
    if bot.full:
        return 429, {"status": "throttle exceeded"}
    if body.get("routing_key") != KEY:
        return 400, {"status": "invalid event", "errors": ["'routing_key' is invalid"]}
    payload = body.get("payload", {})
    if body["event_action"] == "trigger" and not {"summary", "source", "severity"} <= set(payload):
        return 400, {"status": "invalid event", "errors": ["'payload' is missing or blank"]}
    return 202, {"status": "success", "dedup_key": body["dedup_key"]}


DOUBLES = {
    "feishu": (_feishu, "/open-apis/bot/v2/hook/token", SECRET),
    "dingtalk": (_dingtalk, "/robot/send?access_token=token", SECRET),
    "wecom": (_wecom, "/cgi-bin/webhook/send?key=key", ""),
    "slack": (_slack, "/services/T0/B0/token", ""),
    "pagerduty": (_pagerduty, "/v2/enqueue", KEY),
}


class Bot:
    """One channel's double: what it accepted, what it answered; `full` refuses for the rate."""

    def __init__(self, name):
        self.answer, self.path, self.secret = DOUBLES[name]
        self.full = False
        self.accepted: list[dict[str, Any]] = []
        self.answers: list[tuple[int, Any]] = []
        self._closing = contextlib.ExitStack()
        self.url = self._closing.enter_context(served(self._taken)) + self.path

    def _taken(self, request):
        body = json.loads(request.body)
        status, answer = self.answer(self, parse_qs(urlsplit(request.path).query), body)
        self.answers.append((status, answer))
        if status < 300 and not (isinstance(answer, dict) and _code(answer)):
            self.accepted.append(body)
        text = answer if isinstance(answer, str) else json.dumps(answer)
        return Answer(text.encode(), status=status)

    def close(self):
        self._closing.close()


def _code(answer):
    return answer.get("code") or answer.get("errcode")


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.long)])
def url(request, url_of):
    """Return the URL of an empty store: what is sent is the same, whatever database it is."""
    return url_of(request.param)


@pytest.fixture(params=list(DOUBLES))
def name(request):
    return request.param


@pytest.fixture
def bot(name):
    made = Bot(name)
    yield made
    made.close()


@pytest.fixture
def deliver(store):
    """Return a function that delivers what is due, with the machine's clock put ahead."""
    clock = ShiftedClock()
    deliverer = OutboxDeliverer(outbox=store, clock=clock)

    def run(ahead=0.0):
        clock.ahead = ahead
        deliverer.run_once(clock.now())
        deliverer.settle(timeout_seconds=60)

    yield run
    deliverer.stop()


@pytest.fixture
def endpoint(add_webhook, name, bot):
    return add_webhook(url=bot.url, secret=bot.secret, format=name)


def test_the_channel_accepts_every_kind_of_message(
    store, bot, endpoint, changed, deliver, queued, name
):
    """Alone, a digest, and the ends, each signed as the channel checks it."""
    store.commit([changed("opened", identity="a")], time.time())
    deliver()
    store.commit([changed("opened", identity=one) for one in "bc"], time.time())
    deliver(70.0)
    ends = [changed("resolved", identity=one, updated_at=1_700_000_090.0) for one in "abc"]
    store.commit(ends, time.time())
    deliver(150.0)
    deliver(230.0)
    assert {"delivered"} == {state for _, state in queued()}
    assert len(bot.accepted) == len(bot.answers) == (4 if name == "pagerduty" else 3)


@pytest.mark.parametrize("name", ["feishu", "dingtalk", "pagerduty"])
def test_a_wrong_secret_is_a_failure_with_its_reason(
    store, bot, endpoint, changed, deliver, name, queued
):
    bot.secret = "another"
    store.commit([changed("opened")], time.time())
    if name == "pagerduty":
        bot.answer = lambda *_: (400, {"status": "invalid event", "errors": ["'routing_key'"]})
    deliver()
    assert [("opened", "pending")] == queued()
    error = store.deliveries("wh_1")[0].last_error
    assert {"feishu": "19021", "dingtalk": "310000", "pagerduty": "routing_key"}[name] in error


def test_a_full_channel_is_tried_again_and_loses_nothing(
    store, bot, endpoint, changed, deliver, queued
):
    bot.full = True
    store.commit([changed("opened")], time.time())
    deliver()
    assert [("opened", "pending")] == queued()
    bot.full = False
    deliver(700.0)
    assert [("opened", "delivered")] == queued()
    assert 1 == len(bot.accepted)


@pytest.mark.parametrize("name", ["feishu", "dingtalk"])
def test_a_clock_that_is_hours_off_is_named_as_the_reason(
    store, bot, endpoint, changed, deliver, name
):
    store.commit([changed("opened")], time.time())
    deliver(2 * 3600.0)
    error = store.deliveries("wh_1")[0].last_error
    assert ("clock" if name == "feishu" else "310000") in error


def test_an_answer_is_read_to_its_first_kilobytes_only(store, changed, deliver, add_webhook):
    made = Bot("wecom")
    made.answer = lambda *_: (200, {"pad": "x" * 1_000_000, "errcode": 0})
    add_webhook(url=made.url, secret="", format="wecom")
    store.commit([changed("opened")], time.time())
    deliver()
    made.close()
    assert "no code" in store.deliveries("wh_1")[0].last_error


# Servers that keep a connection and give nothing for it


@pytest.fixture
def silent():
    """Return a function that starts a server which sends so many bytes and then nothing more."""
    opened, threads = [], []
    over = threading.Event()

    def start(first=b""):
        listener = socket.create_server(("127.0.0.1", 0))

        def accept():
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                opened.append(connection)
                if first:
                    connection.sendall(first)

        threads.append(threading.Thread(target=accept, daemon=True))
        threads[-1].start()
        opened.append(listener)
        return f"http://127.0.0.1:{listener.getsockname()[1]}/"

    yield start
    over.set()
    for one in opened:
        with contextlib.suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
        one.close()
    for thread in threads:
        thread.join(60)


HEAD = b"HTTP/1.1 200 OK\r\ncontent-length: 20\r\n\r\n"


@pytest.mark.parametrize("first", [b"", b"HTTP/1.1 200 OK\r\nx: ", HEAD, HEAD + b'{"errcode"'])
def test_a_half_open_connection_ends_when_the_time_is_up(silent, first):
    outcome = sending.send(
        HttpPost(silent(first), {}, b"{}"),
        outcome=notify.FORMATS["wecom"].outcome,
        now=time.time,
        timeout_seconds=0.5,
    )
    assert "no answer within 0.5 s" == outcome.error
    assert outcome.unavailable


@pytest.fixture
def until_all_ended(store):
    """Return a deliverer whose deliveries end before the store does, and after the servers."""
    deliverer = OutboxDeliverer(outbox=store, clock=ShiftedClock())
    yield deliverer
    deliverer.stop(timeout_seconds=60)


def test_half_open_and_dripping_endpoints_delay_no_other(
    store, until_all_ended, add_webhook, changed, silent, tarpit
):
    """Twelve endpoints that never end an answer, and one that does: it gets its message at once."""
    for number, first in enumerate(
        [b"", b"HTTP/1.1 200 OK\r\nx: ", HEAD, HEAD + b'{"errcode"'] * 2
    ):
        add_webhook(f"open{number}", url=silent(first), secret="", format="wecom")
    for number in range(4):
        add_webhook(f"tarpit{number}", url=tarpit, secret="", format="wecom")
    made = Bot("slack")
    add_webhook("quick", url=made.url, secret="", format="slack")
    arrived = threading.Event()

    def answer(*_arguments):
        arrived.set()
        return 200, "ok"

    made.answer = answer
    store.commit([changed("opened")], time.time())
    until_all_ended.run_once(time.time())
    assert arrived.wait(60)
    made.close()
