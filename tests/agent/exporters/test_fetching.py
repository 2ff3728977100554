import gzip
import threading

import pytest

from rankscope.agent.exporters.fetching import FetchError, PageClient

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"


def fetched(client):
    return b"".join(client.pieces())


def leaves(handler, text):
    handler.wfile.write(text)
    handler.close_connection = True


@pytest.fixture
def client(exporter):
    one = PageClient(exporter.url, timeout=60)
    yield one
    one.close()


def test_one_connection_serves_page_after_page(exporter, client):
    exporter.says("up 1\n")
    assert [fetched(client) for _ in range(3)] == [b"up 1\n"] * 3
    assert exporter.connections == 1
    assert "gzip" in exporter.requests[0]["Accept-Encoding"]


def test_a_connection_that_was_closed_meanwhile_is_opened_anew(exporter, client):
    def once(handler):
        handler.send_response(200)
        handler.send_header("Content-Length", "5")
        handler.end_headers()
        handler.wfile.write(b"up 1\n")
        handler.close_connection = True  # without saying so

    exporter.does(once)
    assert [fetched(client) for _ in range(3)] == [b"up 1\n"] * 3
    assert exporter.connections == 3


def test_pages_of_unknown_length_are_read_to_their_end(exporter, client):
    def chunked(handler):
        handler.wfile.write(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
        handler.wfile.write(b"3\r\nup \r\n2\r\n1\n\r\n0\r\n\r\n")

    exporter.does(chunked)
    assert [fetched(client), fetched(client)] == [b"up 1\n"] * 2


def test_packed_pages_are_unpacked_in_pieces(exporter, client):
    page = b"up 1\n" * 200_000
    exporter.says(gzip.compress(page), Content_Encoding="gzip")
    pieces = list(client.pieces())
    assert b"".join(pieces) == page
    assert max(len(piece) for piece in pieces) <= 64 << 10


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (lambda one: one.says("busy", status=503), "http_503"),
        (lambda one: one.says("gone", status=404), "http_404"),
        (lambda one: one.says("", status=302, Location="/login"), "http_302"),
        (lambda one: one.says(gzip.compress(b"up 1\n")[:-9], Content_Encoding="gzip"), "cut"),
        (lambda one: one.says(b"no gzip at all", Content_Encoding="gzip"), "connection"),
        (
            lambda one: one.does(
                lambda handler: leaves(handler, HEAD + b"Content-Length: 100\r\n\r\nup 1\n")
            ),
            "cut",
        ),
        (
            lambda one: one.does(lambda handler: leaves(handler, b"SSH-2.0-OpenSSH_9.2\r\n")),
            "connection",
        ),
    ],
)
def test_a_failure_has_a_reason_and_the_next_page_is_read(answer, reason, exporter, client):
    answer(exporter)
    with pytest.raises(FetchError) as caught:
        fetched(client)
    assert caught.value.reason == reason
    exporter.says("up 1\n")
    assert fetched(client) == b"up 1\n"


def test_nothing_listening_is_refused(exporter):
    exporter.close()
    with pytest.raises(FetchError, match="running") as caught:
        fetched(PageClient(exporter.url, timeout=60))
    assert caught.value.reason == "refused"


@pytest.mark.parametrize(
    ("head", "drop"),
    [
        (HEAD + b"Content-Length: 1000000\r\n\r\n", b"x"),
        (b"HTTP/1.1 200 OK\r\nX-Slow: ", b"x"),
        (b"", b""),
    ],
    ids=["body", "headers", "silence"],
)
def test_a_byte_now_and_then_does_not_hold_us_past_the_deadline(head, drop, exporter):
    exporter.drips(head, drop)
    client = PageClient(exporter.url, timeout=0.4)
    with pytest.raises(FetchError) as caught:
        fetched(client)
    assert caught.value.reason == "timeout"  # the drip itself goes on for ever


def test_proxies_of_the_environment_are_not_used(exporter, client, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    exporter.says("up 1\n")
    assert fetched(client) == b"up 1\n"


def test_an_exporter_that_closes_each_connection_is_cut_off_at_the_deadline_too(exporter):
    exporter.drips(b"HTTP/1.0 200 OK\r\n\r\n", b"x")
    exporter_gives_up = threading.Timer(10.0, exporter.ended.set)
    exporter_gives_up.start()
    with pytest.raises(FetchError) as caught:
        fetched(PageClient(exporter.url, timeout=0.4))
    exporter_gives_up.cancel()
    assert caught.value.reason == "timeout"
    assert not exporter.ended.is_set()
