"""Small payloads that are taken without the framework, on sockets as senders have them.

Each is answered as it is the ordinary way, which a header in another form (a second space) takes.
"""

import gzip
import socket
import time

import cramjam
import httpx
import pytest
from tests.waiting import until

from rankscope.collector.api.direct_intake import LARGEST, DirectIntake
from rankscope.collector.api.http_protocol import MOST_STALLED_BYTES
from rankscope.collector.intake.waiting import BusyError
from rankscope.collector.journal import journal as journals
from rankscope.collector.journal.kinds import PayloadKind

PROTOBUF = {"Content-Type": "application/x-protobuf"}


@pytest.fixture
def taken(monkeypatch):
    """Return the list of the payloads that are taken directly."""
    kinds = []
    submit = DirectIntake.submit

    def noted(self, admitted, body, connection):
        kinds.append(admitted.kind)
        return submit(self, admitted, body, connection)

    monkeypatch.setattr(DirectIntake, "submit", noted)
    return kinds


def entries(folder):
    found = journals.read(folder / "journal")
    return [entry for entry in found if entry.kind is not PayloadKind.STOP]


def told(answer):
    """Return all of an answer but the second in which it was given."""
    headers = {name: text for name, text in answer.headers.items() if name != "date"}
    return answer.status_code, headers, answer.content


def both(address, path, body, headers):
    """Return the answers of the short way and of the ordinary one."""
    short = httpx.post(address + path, content=body, headers=headers)
    pairs = [*headers.items(), ("X-Twice", "1"), ("X-Twice", "2")]
    return told(short), told(httpx.post(address + path, content=body, headers=pairs))


@pytest.mark.parametrize(
    ("encoding", "pack"),
    [
        ("", bytes),
        ("gzip", gzip.compress),
        ("zstd", lambda body: bytes(cramjam.zstd.compress(body))),
    ],
)
def test_what_an_agent_pushes_is_kept_and_answered_as_ever(
    collector, taken, tmp_path, metrics_body, encoding, pack
):
    body = metrics_body(1.0, 2.0)
    headers = PROTOBUF | ({"Content-Encoding": encoding} if encoding else {})
    short, ordinary = both(collector.address, "/v1/metrics", pack(body), headers)
    assert ordinary == short
    assert [PayloadKind.METRICS_PROTOBUF] == taken
    assert [body, body] == [entry.body for entry in entries(tmp_path / "data")]


@pytest.mark.parametrize("body", [b"\xff\xff\xff", b"\x0a\x06\x12\x04\x12\x02\x10\x01"])
@pytest.mark.parametrize("path", ["/v1/metrics", "/v1/logs"])
def test_what_cannot_be_taken_is_answered_the_same_both_ways(collector, taken, path, body):
    short, ordinary = both(collector.address, path, body, PROTOBUF)
    assert ordinary == short
    assert 1 == len(taken)


@pytest.mark.parametrize("version", ["", ";proto=io.prometheus.write.v2.Request"])
def test_remote_write_is_answered_the_same_both_ways(collector, taken, version):
    headers = {"Content-Type": "application/x-protobuf" + version, "Content-Encoding": "snappy"}
    for body in (bytes(cramjam.snappy.compress_raw(b"")), b"no snappy"):
        short, ordinary = both(collector.address, "/api/v1/write", body, headers)
        assert ordinary == short
    assert 2 == len(taken)


@pytest.mark.parametrize(
    "changed",
    [
        {"Content-Type": "application/json"},
        {"Content-Encoding": "br"},
        {"Host": "collector.example"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Expect": "100-continue"},
    ],
)
def test_what_is_not_beyond_question_goes_the_ordinary_way(collector, taken, changed):
    short, ordinary = both(collector.address, "/v1/metrics", b"{}", PROTOBUF | changed)
    assert ordinary == short
    assert [] == taken


def test_a_body_that_is_not_small_goes_the_ordinary_way(collector, taken, tmp_path, metrics_body):
    body = metrics_body(*(float(number) for number in range(LARGEST // 16)))
    answer = httpx.post(f"{collector.address}/v1/metrics", content=body, headers=PROTOBUF)
    assert 200 == answer.status_code
    assert [] == taken
    assert [body] == [entry.body for entry in entries(tmp_path / "data")]


def test_tokens_are_asked_for_both_ways(collector_at, tmp_path, taken, metrics_body):
    tokens = [{"token": "a" * 20, "role": "ingest"}]
    with collector_at(tmp_path, api={"tokens": tokens}) as service:
        for token, status in (("a" * 20, 200), ("b" * 20, 401)):
            headers = PROTOBUF | {"Authorization": f"Bearer {token}"}
            short, ordinary = both(service.address, "/v1/metrics", metrics_body(1.0), headers)
            assert (ordinary, status) == (short, short[0])
    assert 1 == len(taken)


def test_a_full_queue_is_503_with_retry_after(collector, taken, monkeypatch, metrics_body):
    def full(_payload):
        raise BusyError("full")

    monkeypatch.setattr(collector._stages, "submit", full)
    short, ordinary = both(collector.address, "/v1/metrics", metrics_body(1.0), PROTOBUF)
    assert ordinary == short
    assert (503, "2") == (short[0], short[1]["retry-after"])
    assert 1 == len(taken)


def request(body, *, path="/v1/metrics", more=""):
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/x-protobuf\r\n"
        f"Content-Length: {len(body)}\r\n{more}\r\n"
    )
    return head.encode() + body


def connected(collector):
    host, port = collector.address.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=20)


def answers(connection, count):
    """Return the status lines of so many answers without a body."""
    read = b""
    while read.count(b"\r\n\r\n") < count:
        more = connection.recv(65536)
        if not more:
            break
        read += more
    return [part.split(b"\r\n")[0] for part in read.split(b"\r\n\r\n") if part]


def test_requests_that_do_not_wait_for_answers_are_answered_in_order(
    collector, taken, tmp_path, metrics_body
):
    bodies = [metrics_body(float(number)) for number in range(5)]
    with connected(collector) as connection:
        connection.sendall(b"".join(map(request, bodies)))
        assert [b"HTTP/1.1 200 OK"] * 5 == answers(connection, 5)
    assert 1 <= len(taken)
    assert bodies == [entry.body for entry in entries(tmp_path / "data")]


def test_a_request_may_come_a_byte_at_a_time(collector, taken, metrics_body):
    with connected(collector) as connection:
        for byte in request(metrics_body(1.0)):
            connection.send(bytes([byte]))
        assert [b"HTTP/1.1 200 OK"] == answers(connection, 1)
    assert 1 == len(taken)


def test_a_connection_that_is_to_be_closed_is(collector, metrics_body):
    with connected(collector) as connection:
        connection.sendall(request(metrics_body(1.0), more="Connection: close\r\n"))
        assert [b"HTTP/1.1 200 OK"] == answers(connection, 1)
        assert b"" == connection.recv(1)


def test_a_sender_that_goes_away_in_the_middle_gives_its_room_back(collector, metrics_body):
    body = metrics_body(1.0)
    with connected(collector) as connection:
        connection.sendall(request(body)[:-3])
        time.sleep(0.05)
    counted = "rankscope_collector_client_disconnects_total 1.0"
    until(lambda: counted in httpx.get(f"{collector.address}/metrics").text)
    assert 0 == collector._server.config.app.state.direct_intake._intake.room._used


def test_a_head_without_an_end_is_refused(collector):
    with connected(collector) as connection:
        connection.sendall(b"POST /v1/metrics HTTP/1.1\r\nX-Long: ")
        try:
            for _ in range(MOST_STALLED_BYTES // 1024 + 64):
                connection.sendall(b"x" * 1024)
            status = connection.recv(64)
        except ConnectionError:
            status = b"HTTP/1.1 400 closed"
        assert status.startswith(b"HTTP/1.1 400")
