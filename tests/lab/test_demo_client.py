"""What the laboratory's client makes of a collector that is killed while it answers."""

import socket
import threading

import pytest

from rankscope.lab.demo.client import DemoClient


@pytest.fixture
def answering():
    """Return a function that starts a server which sends these bytes to each request and closes."""
    listeners, threads = [], []

    def start(data):
        listener = socket.create_server(("127.0.0.1", 0))

        def serve():
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection:
                    connection.recv(65536)
                    connection.sendall(data)

        listeners.append(listener)
        threads.append(threading.Thread(target=serve, daemon=True))
        threads[-1].start()
        return DemoClient(f"http://127.0.0.1:{listener.getsockname()[1]}")

    yield start
    for listener in listeners:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
    for thread in threads:
        thread.join(60)


@pytest.mark.parametrize(
    "data",
    [b"", b"HTTP/1.1 200 OK\r\nconte", b"HTTP/1.1 200 OK\r\ncontent-length: 31\r\n\r\n{"],
    ids=["no answer", "half a head", "half a body"],
)
def test_an_answer_that_breaks_off_is_none(answering, data):
    client = answering(data)
    assert client.incidents("run-1") == []
    assert client.ask("/api/v1/incidents") is None
