"""Connections that keep the server waiting, on sockets: closed, counted, and in nobody's way."""

import contextlib
import re
import socket

import httpx
import pytest
from tests.waiting import PATIENCE_SECONDS, until

from rankscope.collector.api.http_protocol import MOST_PIPELINED

TOKEN = "a" * 20
HEAD = (
    "POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/x-protobuf\r\n"
    "Authorization: Bearer {token}\r\nContent-Length: {length}\r\n\r\n"
)
SHORT = {"head_seconds": 0.5, "body_seconds": 0.5, "answer_seconds": 0.5}


@pytest.fixture
def at(collector_at, tmp_path):
    """Return a context manager that runs a collector with a token."""

    def run(**sections):
        tokens = [{"token": TOKEN, "role": "ingest"}, {"token": "b" * 20, "role": "ingest"}]
        return collector_at(tmp_path / "data", api={"tokens": tokens}, **sections)

    return run


def connected(service):
    host, port = service.address.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=PATIENCE_SECONDS)


def head(path="/v1/metrics", token=TOKEN, length=10):
    return HEAD.format(path=path, token=token, length=length).encode()


def ended(connection):
    """Return whether the other side ends a connection, whatever it says before."""
    with contextlib.suppress(ConnectionError):
        while connection.recv(65536):
            pass
    return True


def counted(service, series):
    page = httpx.get(f"{service.address}/metrics").text
    found = re.search(rf"^{re.escape(series)} (\S+)$", page, re.MULTILINE)
    assert found, series
    return float(found[1])


def closed(service, reason):
    return counted(service, f'rankscope_collector_closed_connections_total{{reason="{reason}"}}')


def opened(service):
    """Return how many connections there are, that of the question among them."""
    return counted(service, "rankscope_collector_connections")


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        (b"", "head"),
        (b"POST /v1/metrics HTT", "head"),
        (b"POST /v1/metrics HTTP/1.1\r\nHost: x\r\n", "head"),
        (head() + b"abc", "body"),
        (head(length=100_000) + b"abc", "body"),
        (head(path="/api/v1/silences") + b"abc", "body"),
        (head(token="c" * 20) + b"abc", "body"),
    ],
)
def test_what_does_not_come_in_whole_ends_the_connection(at, sent, reason):
    with at(http={"listen": "127.0.0.1:0", **SHORT}) as service:
        with connected(service) as connection:
            connection.sendall(sent)
            assert ended(connection)
        assert 1 == closed(service, reason)


def test_empty_lines_between_requests_keep_no_connection_open(at):
    with (
        at(http={"listen": "127.0.0.1:0", **SHORT}) as service,
        connected(service) as connection,
    ):
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        assert connection.recv(65536).startswith(b"HTTP/1.1 200")
        connection.sendall(b"\r\n")
        assert ended(connection)
        assert 1 == closed(service, "head")


def test_a_connection_between_two_requests_is_kept(at, metrics_body):
    """The same seconds are none too few for who sends nothing because it has nothing to send."""
    body = metrics_body(1.0)
    with (
        at(http={"listen": "127.0.0.1:0", **SHORT}) as service,
        connected(service) as kept,
        connected(service) as stalled,
    ):
        for _ in range(2):
            kept.sendall(head(length=len(body)) + body)
            assert kept.recv(65536).startswith(b"HTTP/1.1 200")
            stalled.sendall(b"POST")
            assert ended(stalled)  # and so the seconds are over
        assert 1 == closed(service, "head")


def test_answers_that_nobody_takes_end_the_connection(at):
    with at(http={"listen": "127.0.0.1:0", **SHORT}) as service, connected(service) as connection:
        connection.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n" * MOST_PIPELINED)
        until(lambda: 1 == closed(service, "answer"))


def test_answers_that_are_taken_late_are_whole(at):
    asked = MOST_PIPELINED // 2
    with at() as service, connected(service) as connection:
        whole = httpx.get(f"{service.address}/openapi.json", headers={"accept-encoding": ""})
        connection.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n" * asked)
        until(lambda: 2 == opened(service))
        answered = b""
        while answered.count(whole.content) < asked:
            answered += connection.recv(1 << 20)


def test_more_requests_at_once_than_anybody_sends_end_the_connection(at, capfd):
    asked = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
    with at() as service:
        with connected(service) as connection:
            connection.sendall(asked * MOST_PIPELINED)
            answered = b""
            while answered.count(b'"ok"') < MOST_PIPELINED:
                answered += connection.recv(65536)
        with connected(service) as connection:
            connection.sendall(asked * (4 * MOST_PIPELINED))
            assert ended(connection)
        assert 1 == closed(service, "pipelined")
    # The answer that was under way found nobody, which is no failure of ours.
    printed = capfd.readouterr()
    assert "unexpected error" not in printed.out + printed.err
    assert "Exception in ASGI" not in printed.out + printed.err


@pytest.mark.parametrize(("token", "status"), [("wrong", 401), (TOKEN, 403)])
def test_a_body_without_a_valid_token_is_thrown_away(at, token, status):
    """It is refused as ever, and nothing of it is kept until it is."""
    with at() as service:
        answer = httpx.post(
            f"{service.address}/api/v1/silences",
            json={"reason": "x" * 50_000},
            headers={"Authorization": f"Bearer {token}"},
        )
        assert status == answer.status_code


def test_who_opens_many_connections_keeps_nobody_out(at, metrics_body):
    body = metrics_body(1.0)
    with (
        at(http={"listen": "127.0.0.1:0", "max_connections": 16}) as service,
        connected(service) as agent,
        contextlib.ExitStack() as many,
    ):
        agent.sendall(head(length=len(body)) + body)
        assert agent.recv(65536).startswith(b"HTTP/1.1 200")
        for number in range(64):
            one = many.enter_context(connected(service))
            one.sendall(b"GET / HTTP/1.1\r\n" if number % 2 else b"")
        agent.sendall(head(length=len(body)) + body)
        assert agent.recv(65536).startswith(b"HTTP/1.1 200")
        ready = httpx.get(f"{service.address}/readyz")
        assert 200 == ready.status_code
        assert "http.max_connections" in "".join(ready.json()["warnings"])
        assert 64 - 16 <= closed(service, "room")


def test_bodies_that_one_token_leaves_unfinished_take_no_room_of_others(at, metrics_body):
    body = metrics_body(1.0)
    with at(intake={"buffer_bytes": 200_000}) as service, contextlib.ExitStack() as many:
        for _ in range(40):
            one = many.enter_context(connected(service))
            one.sendall(head(length=10_000) + b"abc")
        with connected(service) as other:
            other.sendall(head(token="b" * 20, length=len(body)) + body)
            assert other.recv(65536).startswith(b"HTTP/1.1 200")
