"""`rankscope collector` as a process of its own: what it prints, how it ends, what survives."""

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager

import httpx
import pytest

from rankscope.collector.journal import journal as journals
from rankscope.collector.journal.kinds import PayloadKind

COMMAND = [sys.executable, "-m", "rankscope.cli.main", "collector"]
PROTOBUF = {"Content-Type": "application/x-protobuf"}


@pytest.fixture
def environ(tmp_path):
    mine = {name: text for name, text in os.environ.items() if not name.startswith("RANKSCOPE_")}
    return mine | {"RANKSCOPE_DATA_DIR": str(tmp_path), "RANKSCOPE_HTTP__LISTEN": "127.0.0.1:0"}


@pytest.fixture
def started(environ):
    """Return a context manager that gives a running process and its address."""

    @contextmanager
    def run():
        with subprocess.Popen(
            COMMAND, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            try:
                found = re.search(r"http://[\d.:]+", process.stdout.readline())
                assert found, process.stderr.read()
                yield process, found[0]
            finally:
                process.kill()

    return run


def test_it_says_where_it_listens_and_ends_cleanly_when_told_to(started, tmp_path, metrics_body):
    with started() as (process, address):
        httpx.post(f"{address}/v1/metrics", content=metrics_body(1.0), headers=PROTOBUF)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
        assert "Traceback" not in process.stderr.read()
    kinds = [entry.kind for entry in journals.read(tmp_path / "journal")]
    assert kinds == [PayloadKind.METRICS_PROTOBUF, PayloadKind.STOP]


def test_it_ends_though_a_reader_and_a_sender_keep_their_connections_waiting(started, tmp_path):
    with started() as (process, address), contextlib.ExitStack() as waiting:
        host, port = address.removeprefix("http://").split(":")
        for sent in (
            b"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n",
            b"POST /v1/metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\nhalf",
            b"POST /v1/metrics HT",
        ):
            opened = socket.create_connection((host, int(port)))
            waiting.enter_context(opened).sendall(sent)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0


def test_a_second_one_on_the_same_folder_says_so_and_exits_2(started, environ):
    with started():
        second = subprocess.run(
            COMMAND, env=environ, capture_output=True, text=True, timeout=60, check=False
        )
    assert second.returncode == 2
    assert "RANKSCOPE_DATA_DIR" in second.stderr


def test_what_was_acknowledged_survives_kill_9(started, tmp_path, metrics_body):
    bodies = [metrics_body(float(number)) for number in range(20)]
    with started() as (process, address), httpx.Client() as client:
        for body in bodies:
            answer = client.post(f"{address}/v1/metrics", content=body, headers=PROTOBUF)
            assert answer.status_code == 200
        process.kill()
    with started():
        assert [entry.body for entry in journals.read(tmp_path / "journal")] == bodies
