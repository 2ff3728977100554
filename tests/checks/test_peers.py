"""Two hosts meet, whoever comes first, and nobody else takes the peer's place."""

import socket
import threading
import time

import pytest

from rankscope.checks import peers
from rankscope.checks.peers import PeerError

LOOPBACK = "127.0.0.1"


def free_port():
    with socket.create_server((LOOPBACK, 0)) as taken:
        return taken.getsockname()[1]


def meeting(*, delay=0.0):
    """Return both ends of a connection; the second side begins so much later."""
    ports = (free_port(), free_port())
    found: dict[int, peers.PeerConnection] = {}

    def side(number):
        time.sleep(number * delay)
        found[number] = peers.meet(
            LOOPBACK,
            own_name=f"host-{number}",
            port=ports[number],
            call_port=ports[1 - number],
            seconds=20.0,
        )

    threads = [threading.Thread(target=side, args=(number,)) for number in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    return found[0], found[1]


@pytest.mark.parametrize("delay", [0.0, 0.5])
def test_both_meet_and_one_of_them_was_called(delay):
    one, other = meeting(delay=delay)
    with one.socket, other.socket:
        assert {True, False} == {one.first, other.first}
        assert ("host-1", "host-0") == (one.name, other.name)
        one.send({"value": 1})
        assert {"value": 1} == other.receive(5.0)


def test_both_have_the_same_offset_of_their_clocks_with_opposite_signs():
    one, other = meeting()
    with one.socket, other.socket:
        found: dict[str, float] = {}
        ask = threading.Thread(target=lambda: found.update(there=other.clock_offset()))
        ask.start()
        here = one.clock_offset()
        ask.join(10)
        assert here == pytest.approx(-found["there"])
        assert abs(here) < 0.5


def test_a_peer_that_does_not_come_is_answered_with_what_to_run_there():
    with pytest.raises(PeerError, match="run `rankscope check --peer here` there"):
        peers.meet(LOOPBACK, own_name="here", port=free_port(), call_port=free_port(), seconds=0.2)


def test_a_name_that_is_not_resolved_is_said():
    with pytest.raises(PeerError, match=r"nobody\.invalid is not resolved"):
        peers.meet("nobody.invalid", own_name="here", port=free_port(), seconds=0.2)


def test_a_port_that_is_taken_is_said():
    with (
        socket.create_server(("", 0)) as taken,
        pytest.raises(PeerError, match="is not free"),
    ):
        peers.meet(LOOPBACK, own_name="here", port=taken.getsockname()[1], seconds=0.2)


def test_whoever_is_no_check_is_not_the_peer():
    port, called = free_port(), free_port()
    problems = []

    def meet():
        try:
            peers.meet(LOOPBACK, own_name="here", port=port, call_port=called, seconds=3.0)
        except PeerError as error:
            problems.append(str(error))

    waiting = threading.Thread(target=meet)
    waiting.start()
    time.sleep(0.5)
    with socket.create_connection((LOOPBACK, port), 2.0) as stranger:
        stranger.sendall(b"GET / HTTP/1.1\r\n\r\n")
        waiting.join(20)
    assert len(problems) == 1


def test_an_answer_that_is_late_or_endless_or_none_is_no_answer():
    here, there = socket.socketpair()
    with here, there:
        connection = peers.PeerConnection(here, first=True, address=LOOPBACK)
        with pytest.raises(PeerError, match="did not answer"):
            connection.receive(0.1)
        there.sendall(b"[1]\n")
        with pytest.raises(PeerError, match="is no rankscope check"):
            connection.receive(1.0)
        there.close()
        with pytest.raises(PeerError, match="went away"):
            connection.receive(1.0)
