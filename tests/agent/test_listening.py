import socket

import pytest

from rankscope.agent import listening


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (":9470", ("", 9470)),
        ("127.0.0.1:0", ("127.0.0.1", 0)),
        ("[::1]:9470", ("::1", 9470)),
        ("node-1:80", ("node-1", 80)),
    ],
)
def test_an_address_is_a_host_and_a_port(text, expected):
    assert listening.parse(text) == expected


@pytest.mark.parametrize("text", ["", "9470", "host:", "host:port", ":70000", "::1:9470", ":-1"])
def test_what_is_no_address_says_how_to_write_one(text):
    with pytest.raises(ValueError, match="write"):
        listening.parse(text)


def test_no_host_means_every_address():
    with listening.bound(":0", socket.SOCK_STREAM) as opened:
        opened.listen()
        port = opened.getsockname()[1]
        socket.create_connection(("127.0.0.1", port), timeout=60).close()


def test_a_taken_address_is_an_error_that_says_so():
    with listening.bound("127.0.0.1:0", socket.SOCK_DGRAM) as opened:
        port = opened.getsockname()[1]
        with pytest.raises(OSError, match="in use"):
            listening.bound(f"127.0.0.1:{port}", socket.SOCK_DGRAM)
