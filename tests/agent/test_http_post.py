"""Answers as servers and proxies write them."""

import socket
import threading

import pytest

from rankscope.agent.http_post import (
    ClosedError,
    HttpAnswerError,
    HttpConnection,
    header_lines,
)


@pytest.fixture
def answering():
    """Return a connection to a server that says this, in these pieces, and what it was asked."""
    listener = socket.create_server(("127.0.0.1", 0))
    made: list[HttpConnection] = []
    asked: list[bytes] = []

    def start(*pieces: bytes) -> HttpConnection:
        def serve() -> None:
            other, _ = listener.accept()
            with other:
                asked.append(other.recv(65536))
                for piece in pieces:
                    other.sendall(piece)

        threading.Thread(target=serve, daemon=True).start()
        made.append(HttpConnection("127.0.0.1", listener.getsockname()[1], timeout=10))
        return made[-1]

    start.asked = asked  # type: ignore[attr-defined]
    yield start
    for one in made:
        one.close()
    listener.close()


@pytest.mark.parametrize(
    ("pieces", "status", "body", "closes"),
    [
        ([b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"], 200, b"ok", False),
        ([b"HTTP/1.1 200 OK\r\nContent-", b"Length: 2\r\n\r\n", b"o", b"k"], 200, b"ok", False),
        ([b"HTTP/1.1 200\r\ncontent-length: 0\r\nConnection: close\r\n\r\n"], 200, b"", True),
        (
            [
                b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 503 Wait\r\n",
                b"Content-Length: 0\r\n\r\n",
            ],
            503,
            b"",
            False,
        ),
        (
            [
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
                b"3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nTrailer: t\r\n\r\n",
            ],
            200,
            b"abcde",
            False,
        ),
        ([b"HTTP/1.1 200 OK\r\n\r\nto the end"], 200, b"to the end", True),
        ([b"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx"], 200, b"x", True),
        ([b"HTTP/1.1 204 No Content\r\n\r\n"], 204, b"", False),
    ],
)
def test_an_answer_is_read_in_each_form(answering, pieces, status, body, closes):
    answer = answering(*pieces).post("/v1/metrics", b"payload", "A: b\r\n")
    assert (answer.status, answer.body, answer.closes) == (status, body, closes)


def test_a_request_has_its_host_its_headers_and_its_length(answering):
    connection = answering(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    connection.post("/x", b"payload", header_lines({"Authorization": "Bearer t\n"}))
    head, _, body = answering.asked[0].partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    assert first == "POST /x HTTP/1.1"
    assert {"Authorization: Bearer t", "Content-Length: 7"} <= set(lines)
    assert any(line.startswith("Host: 127.0.0.1:") for line in lines)
    assert body == b"payload"


@pytest.mark.parametrize(
    "pieces",
    [
        [b"SSH-2.0-OpenSSH\r\n\r\n"],
        [b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab"],
        [b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"],
        [b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n"],
    ],
)
def test_what_is_no_answer_is_an_error(answering, pieces):
    with pytest.raises(HttpAnswerError):
        answering(*pieces).post("/", b"", "")


def test_a_connection_that_ends_without_a_word_is_told_apart(answering):
    with pytest.raises(ClosedError):
        answering().post("/", b"", "")


@pytest.mark.parametrize("value", ["a\r\nB: c", "schlüssel"])
def test_a_header_that_is_none_is_refused(value):
    with pytest.raises(ValueError, match="header"):
        header_lines({"Authorization": value})
