"""The hand-over to the agent: never in the way, and honest about what it lost."""

import socket
import threading
import time

import pytest

from rankscope.probe.agent_socket import AgentSocket
from rankscope.probe.event_message import EventMessage
from rankscope.probe.sender import QUEUE, DatagramSender
from rankscope.probe.step_record import StepRecord
from rankscope.vocabulary import datagram
from rankscope.vocabulary.identity import identify
from rankscope.vocabulary.samples import Event

WHO = identify({}, job="j", rank=3, world_size=4)


class Quiet:
    """A heartbeat with nothing to say."""

    def settled(self) -> bool:
        return True

    def descriptor(self) -> int | None:
        return None

    def __call__(self, now):
        return None


def sender_to(address: str, *, heartbeat=None, clock=time.time) -> DatagramSender:
    agent = AgentSocket({"RANKSCOPE_AGENT": address})
    return DatagramSender(
        agent=agent, identity=lambda: WHO, heartbeat=heartbeat or Quiet(), clock=clock
    )


def notice(number: int, at: float | None = None) -> EventMessage:
    return EventMessage("training.phase", at or time.time(), {"phase": "train", "step": number})


def test_messages_wait_for_an_agent_that_comes_later(tmp_path):
    path = tmp_path / "late.sock"
    sender = sender_to(f"unix://{path}")
    sender.start()
    sender.put(notice(1))
    time.sleep(0.3)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as agent:
        agent.bind(str(path))
        agent.settimeout(60)
        received = datagram.decode(agent.recv(65536))
    assert ("j", 3, 0, 0) == (received.job, received.rank, received.number, received.dropped)
    assert 1 == received.events[0].attributes["step"]
    sender.close()


def test_an_agent_that_was_restarted_is_found_again(tmp_path):
    path = tmp_path / "agent.sock"
    sender = sender_to(f"unix://{path}")
    sender.start()
    numbers: list[object] = []
    for life in range(2):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as agent:
            agent.bind(str(path))
            agent.settimeout(60)
            sender.put(notice(life))
            while not numbers or numbers[-1] != life:
                received = datagram.decode(agent.recv(65536))
                numbers.append(received.events[0].attributes["step"])
        path.unlink()
        sender.put(notice(100))  # meets a socket that nobody holds any more
        time.sleep(0.3)
    assert {0, 1} <= set(numbers)
    sender.close()


def test_a_full_queue_loses_its_oldest_and_counts_them(listener):
    sender = sender_to(f"unix://{listener.path}")
    for number in range(QUEUE + 50):
        sender.put(notice(number))
    assert 50 == sender.dropped
    sender.start()
    listener.until(lambda: len(listener.received) == QUEUE)
    assert 50 == listener.received[0].events[0].attributes["step"]
    assert 50 == listener.received[-1].dropped
    assert [*range(QUEUE)] == [each.number for each in listener.received]
    sender.close()


def test_what_is_too_old_to_matter_is_dropped_and_counted(listener):
    sender = sender_to(f"unix://{listener.path}")
    sender.put(notice(1, at=time.time() - 3600))
    sender.put(notice(2))
    sender.start()
    listener.until(lambda: listener.received)
    assert 2 == listener.received[0].events[0].attributes["step"]
    assert 1 == listener.received[0].dropped
    sender.close()


def test_a_receiver_that_never_reads_neither_blocks_nor_ends_the_thread(tmp_path):
    deaf = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    deaf.bind(str(tmp_path / "deaf.sock"))
    sender = sender_to(f"unix://{tmp_path}/deaf.sock")
    sender.start()
    for number in range(500):
        sender.put(notice(number))
    time.sleep(0.3)
    sender.put(notice(500))
    sender.close()
    assert 0 == sender.failures
    assert sender.dropped + len(sender._queue) > 0, "the socket holds fewer"
    deaf.close()


def test_a_message_that_cannot_be_said_costs_itself_only(listener):
    class Broken(EventMessage):
        def parts(self, rank):
            raise RuntimeError(rank)

    sender = sender_to(f"unix://{listener.path}")
    sender.put(Broken("x", time.time(), {}))
    sender.put(notice(2))
    sender.start()
    listener.until(lambda: listener.received)
    assert 2 == listener.received[0].events[0].attributes["step"]
    assert (1, 1) == (sender.failures, sender.dropped)
    sender.close()


def test_a_message_too_large_for_a_datagram_is_dropped_and_counted(listener):
    sender = sender_to(f"unix://{listener.path}")
    sender.put(EventMessage("process.stack", time.time(), {"text": "x" * 100_000}))
    sender.put(notice(2))
    sender.start()
    listener.until(lambda: listener.received)
    assert 1 == listener.received[0].dropped
    sender.close()


def test_a_pulse_that_fails_does_not_silence_the_steps(listener):
    class Broken(Quiet):
        def __call__(self, now):
            raise RuntimeError(now)

    sender = sender_to(f"unix://{listener.path}", heartbeat=Broken())
    sender.put(notice(2))
    sender.start()
    listener.until(lambda: listener.received)
    assert sender.failures
    sender.close()


def test_datagrams_go_over_udp_too():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as agent:
        agent.bind(("127.0.0.1", 0))
        agent.settimeout(60)
        sender = sender_to(f"udp://127.0.0.1:{agent.getsockname()[1]}")
        sender.put(notice(1))
        sender.start()
        assert 1 == datagram.decode(agent.recv(65536)).events[0].attributes["step"]
        sender.close()


def test_nobody_on_the_other_end_of_udp_is_survived():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    sender = sender_to(f"udp://127.0.0.1:{port}")
    sender.start()
    for number in range(5):
        sender.put(notice(number))
        time.sleep(0.15)
    assert 0 == sender.failures
    sender.close()


def test_an_address_that_makes_no_sense_is_said_at_once():
    with pytest.raises(ValueError, match="RANKSCOPE_AGENT"):
        AgentSocket({"RANKSCOPE_AGENT": "http://agent"})


def test_messages_of_many_threads_all_arrive(listener):
    sender = sender_to(f"unix://{listener.path}")
    sender.start()

    def speak(thread: int) -> None:
        for number in range(50):
            sender.put(notice(thread * 50 + number))

    threads = [threading.Thread(target=speak, args=(number,)) for number in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    listener.until(lambda: len(listener.received) == 200)
    assert {*range(200)} == {each.events[0].attributes["step"] for each in listener.received}
    sender.close()


class TellsOfEachStep:
    """Details of every step, as if each were suspicious."""

    def settle(self) -> None:
        pass

    def look(self, record, rank):
        return [Event("training.batch", record.at, {"rank": rank, "step": record.step})]


def test_no_step_is_lost_for_its_details_however_little_the_socket_holds(tmp_path):
    steps = 100
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as agent:
        agent.bind(str(tmp_path / "slow.sock"))
        agent.settimeout(60)
        sender = DatagramSender(
            agent=AgentSocket({"RANKSCOPE_AGENT": f"unix://{tmp_path}/slow.sock"}),
            identity=lambda: WHO,
            heartbeat=Quiet(),
            reports=TellsOfEachStep(),
        )
        for step in range(steps):
            sender.put(StepRecord(at=time.time(), step=step, duration=1.0))
        sender.start()
        time.sleep(0.3)  # until the socket holds no more
        received = [datagram.decode(agent.recv(65536)) for _ in range(2 * steps)]
        sender.close()
    told = [one.events[0].attributes["step"] for one in received if one.events]
    stepped = [
        sample.value
        for one in received
        for sample in one.samples
        if sample.metric == "training.step"
    ]
    assert [*range(steps)] == told == stepped
    assert 0 == sender.dropped
