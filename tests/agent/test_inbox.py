import json
import os
import select
import socket
import subprocess
import sys

import pytest

from rankscope.agent import claims
from rankscope.agent.inbox import ProbeInbox
from rankscope.probe.agent_socket import AgentSocket
from rankscope.vocabulary import datagram, udp_keys
from rankscope.vocabulary.samples import Event, Sample, attributes


@pytest.fixture
def line(folder):
    """Return the agent's end and a connected sender."""
    held = claims.claim(folder / "probe.sock", {})
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.connect(str(held.path))
        yield held.socket, sender
    held.release()


def taken(source, health):
    inbox = ProbeInbox(health=health)
    inbox.fetch(source)
    return list(inbox.read())


def said(**changes) -> datagram.ProbeDatagram:
    mine = attributes({"rank": 3})
    parts = {
        "job": "job-1",
        "attempt": 2,
        "rank": 3,
        "pid": os.getpid(),
        "number": 7,
        "samples": (Sample("training.loss", float("nan"), 1000.5, mine),),
        "events": (Event("training.phase", 1000.0, {"rank": 3, "phase": "train"}),),
    }
    return datagram.ProbeDatagram(**{**parts, **changes})


def test_a_datagram_comes_out_as_it_was_sent(line, health):
    agent, sender = line
    sender.send(datagram.encode(said(samples=(Sample("training.loss", 0.25, 1000.5),))))
    (received,) = taken(agent, health)
    assert received.datagram.samples == (Sample("training.loss", 0.25, 1000.5),)
    assert (received.datagram.job, received.datagram.attempt) == ("job-1", 2)
    assert (received.datagram.rank, received.datagram.number) == (3, 7)
    assert received.datagram.events[0].attributes["phase"] == "train"
    assert health.counted("datagrams_received", "unix") == 1


def test_the_user_is_the_kernels(line, health):
    agent, sender = line
    sender.send(datagram.encode(said()))
    (received,) = taken(agent, health)
    assert os.geteuid() == received.uid


def test_the_pid_is_the_kernels_and_not_the_claimed_one(line, health, folder):
    agent, _ = line
    code = (
        "import socket, sys; from rankscope.vocabulary import datagram;"
        "line = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); line.connect(sys.argv[1]);"
        "line.send(datagram.encode(datagram.ProbeDatagram('job-1', 0, 0, 1)))"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(folder / "probe.sock")]) as process:
        assert process.wait(60) == 0
    (received,) = taken(agent, health)
    assert received.pid == process.pid
    assert received.datagram.pid == 1


def test_over_udp_no_pid_is_believed(health):
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as agent,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender,
    ):
        agent.bind(("127.0.0.1", 0))
        agent.setblocking(False)
        sender.sendto(datagram.encode(said()), agent.getsockname())
        select.select([agent], [], [], 5)
        (received,) = taken(agent, health)
    assert received.pid is None
    assert received.origin == "udp:127.0.0.1"
    assert health.counted("datagrams_received", "udp") == 1


def bad(**changes) -> bytes:
    body = {"v": 1, "job": "j", "attempt": 0, "rank": 0, "pid": 1, "n": 0, "samples": []}
    return json.dumps({**body, **changes}).encode()


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "form"),
        (b"\x80\x04pickle", "form"),
        (b"[" * 50_000, "form"),
        (b'{"v": 1' + b" " * 59_993, "form"),
        (b" " * 60_001, "form"),
        (bad(v=2), "form"),
        (bad(job=""), "form"),
        (bad(rank=-1), "form"),
        (bad(samples=[["training.loss", 1.0, -5.0]]), "time"),
        (bad(samples=[["training.loss", 1.0, float("nan")]]), "time"),
        (bad(samples=[["training.loss", 1.0, 1e300]]), "time"),
        (bad(events=[["training.phase", -1, {}]]), "time"),
        (bad(samples=[["training.loss", 10**400, 1.0]]), "number"),
        (bad(samples=[["training.loss", 1.0, 1.0, {"rank": 2**63}]]), "number"),
        (bad(events=[["training.phase", 1, {"step": -(2**63) - 1}]]), "number"),
        (bad(pid=2**64), "number"),
        (bad(job="j" * 9000), "name"),
        (bad(samples=[["training.loss", 1.0, 1.0, {"scope": "s" * 9000}]]), "name"),
        (bad(job="\ud800"), "text"),
        (bad(samples=[["training.loss", 1.0, 1.0, {"scope": "\udfff"}]]), "text"),
        (bad(events=[["\ud800", 1.0, {}]]), "text"),
        (b'{"v":1,"job":"\xed\xa0\x80","rank":0,"pid":1,"n":0}', "text"),
    ],
)
def test_what_cannot_be_taken_is_counted_by_its_reason_and_the_next_one_is_read(
    line, health, data, reason
):
    agent, sender = line
    sender.send(data)
    sender.send(datagram.encode(said()))
    received = taken(agent, health)
    assert [one.datagram.number for one in received] == [7]
    assert health.counted("datagrams_bad", reason) == 1
    assert health.counted("datagrams_bad") == 1


def test_texts_beyond_ascii_are_welcome(line, health):
    agent, sender = line
    sender.send(bad(job="训练 🚂"))
    sender.send('{"v":1,"job":"训练","rank":0,"pid":1,"n":0}'.encode())
    received = taken(agent, health)
    assert [one.datagram.job for one in received] == ["训练 🚂", "训练"]


def test_a_flood_is_taken_in_portions(line, health):
    agent, sender = line
    for _ in range(5):
        sender.send(datagram.encode(said()))
    inbox = ProbeInbox(health=health)
    inbox.fetch(agent, limit=3)
    assert len(list(inbox.read())) == 3
    inbox.fetch(agent, limit=3)
    assert len(list(inbox.read())) == 2


def test_an_empty_socket_yields_nothing_and_does_not_wait(line, health):
    assert taken(line[0], health) == []


def test_a_socket_that_fails_is_counted_and_not_raised(health):
    broken = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    broken.close()
    assert taken(broken, health) == []
    assert health.counted("datagrams_bad", "socket") == 1


def test_a_datagram_with_an_event_is_urgent_and_steps_may_wait(line, health):
    agent, sender = line
    inbox = ProbeInbox(health=health)
    sender.send(datagram.encode(said(events=())))
    assert inbox.fetch(agent) is False
    sender.send(bad())
    assert inbox.fetch(agent) is False
    sender.send(datagram.encode(said()))
    assert inbox.fetch(agent) is True
    assert inbox.unread == 3
    assert len(list(inbox.read())) == 3
    assert inbox.unread == 0


def test_of_a_long_text_the_beginning_is_taken_and_of_what_is_read_at_once_all(line, health):
    agent, sender = line
    ranks = ",".join(map(str, range(2000)))
    samples = (Sample("collective.group.info", 1.0, 1000.5, (("ranks", ranks),)),)
    text = "é" * 5000
    events = (
        Event("log.fault", 1000.5, {"text": text, "rank": 3}),
        Event("collective.operations", 1000.5, {"text": "o" * 9000}),
    )
    sender.send(datagram.encode(said(samples=samples, events=events)))
    (received,) = taken(agent, health)
    first, second = received.datagram.events
    assert "é" * 4096 == first.attributes["text"]
    assert 3 == first.attributes["rank"]
    assert 9000 == len(str(second.attributes["text"]))
    assert samples == received.datagram.samples
    assert 1 == health.counted("texts_cut")


def test_many_unread_datagrams_are_urgent_whatever_they_say(line, health):
    agent, sender = line
    inbox = ProbeInbox(health=health)
    urgent = []
    for _ in range(256):
        sender.send(datagram.encode(said(events=())))
        urgent.append(inbox.fetch(agent))
    assert urgent == [False] * 255 + [True]


def large(number):
    """Return a datagram of 50 kB, as a collective's records may be."""
    texts = [attributes({"rank": 3, "layer": f"{number}-{name}".ljust(400)}) for name in range(100)]
    return datagram.encode(
        said(samples=tuple(Sample("training.loss", 1, 1.0, one) for one in texts))
    )


def test_who_floods_gets_no_more_than_it_leaves_to_the_others(line, health, folder):
    """A flood is dropped unread, and another process is heard beside it."""
    agent, sender = line
    at = [0.0]
    size = len(large(10))
    inbox = ProbeInbox(health=health, bytes_per_second=10 * size, now=lambda: at[0])
    for number in range(10, 20):
        sender.send(large(number))
        inbox.fetch(agent)
    assert 5 == len(list(inbox.read()))
    assert 5 == health.counted("datagrams_bad", "flood")
    code = (
        "import socket, sys; line = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM);"
        "line.connect(sys.argv[1]); line.send(sys.stdin.buffer.read())"
    )
    command = [sys.executable, "-c", code, str(folder / "probe.sock")]
    subprocess.run(command, input=large(20), check=True)
    inbox.fetch(agent)
    assert 1 == len(list(inbox.read()))
    at[0] += 1.0
    sender.send(large(21))
    inbox.fetch(agent)
    assert 1 == len(list(inbox.read()))


@pytest.mark.parametrize(("characters", "taken_in"), [(500, 1), (900, 0)])
def test_texts_that_a_series_would_keep_are_bounded(line, health, characters, taken_in):
    agent, sender = line
    mine = attributes({"rank": 3, "layer": "x" * characters})
    sender.send(datagram.encode(said(samples=(Sample("training.loss", 0.5, 1000.5, mine),))))
    assert taken_in == len(taken(agent, health))
    assert 1 - taken_in == health.counted("datagrams_bad", "name")


def test_an_event_may_say_more_than_a_series(line, health):
    agent, sender = line
    sender.send(datagram.encode(said(events=(Event("log.fault", 1.0, {"text": "x" * 9000}),))))
    assert 1 == len(taken(agent, health))


def test_who_names_more_jobs_than_he_may_is_refused_new_ones_only(line, health):
    source, sender = line
    clock = [0.0]
    inbox = ProbeInbox(health=health, jobs_of_sender=2, now=lambda: clock[0])

    def jobs(*names):
        for name in names:
            sender.send(datagram.encode(said(job=name)))
        inbox.fetch(source)
        return [one.datagram.job for one in inbox.read()]

    assert ["a", "b", "a"] == jobs("a", "b", "c", "a", "d")
    assert health.counted("datagrams_bad", "jobs") == 2
    clock[0] = 700.0  # those of ten minutes ago do not count any more
    assert ["e", "f"] == jobs("e", "f", "a")


@pytest.fixture
def udp():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as source:
        source.bind(("127.0.0.1", 0))
        source.settimeout(10)
        yield source


def test_over_udp_what_is_signed_with_the_key_is_taken_and_nothing_else(udp, health, tmp_path):
    (tmp_path / "key").write_text("sixteen bytes at least")
    (tmp_path / "other").write_text("sixteen bytes or more")
    key = udp_keys.read(tmp_path / "key")
    data = datagram.encode(said())
    for name in ("key", "other", None):
        environ = {"RANKSCOPE_AGENT": f"udp://127.0.0.1:{udp.getsockname()[1]}"}
        if name is not None:
            environ[udp_keys.VARIABLE] = str(tmp_path / name)
        probe = AgentSocket(environ)
        assert probe.open(1e9)
        assert probe.send(data)
        probe.close()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(b"", udp.getsockname())
    udp.setblocking(False)
    inbox = ProbeInbox(health=health, udp_key=key)
    inbox.fetch(udp)
    assert [3] == [received.datagram.rank for received in inbox.read()]
    assert 3 == health.counted("datagrams_bad", "key")


def test_a_key_is_asked_of_nobody_at_the_socket(line, health):
    agent, sender = line
    sender.send(datagram.encode(said()))
    inbox = ProbeInbox(health=health, udp_key=32 * b"k")
    inbox.fetch(agent)
    assert 1 == len(list(inbox.read()))
