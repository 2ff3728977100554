"""What a rank says whether it steps or not, and when it takes itself for stuck."""

import sys
import threading

import pytest

from rankscope.probe.heartbeat import RankHeartbeat, stack_text
from rankscope.probe.placement import ProcessPlacement
from rankscope.vocabulary.identity import identify


class Steady:
    def __init__(self) -> None:
        self.time = 1000.0

    def __call__(self) -> float:
        return self.time


@pytest.fixture
def steady():
    return Steady()


def heartbeat_of(steady, **known) -> RankHeartbeat:
    who = identify({"RANKSCOPE_JOB_ID": "j"}, rank=2, world_size=8)
    return RankHeartbeat(
        placement=ProcessPlacement(who, known, steady=steady), sources=(), steady=steady
    )


def test_every_five_seconds_it_says_who_it_is_and_how_long_it_has_not_stepped(steady):
    heartbeat = heartbeat_of(steady, framework="torch", tp=1, pp=None)
    samples, events = heartbeat(50.0) or ([], [])
    assert ["training.rank.info", "training.progress.age"] == [each.metric for each in samples]
    said = dict(samples[0].attributes)
    assert (2, 0, 8, "torch", 1) == tuple(
        said[name] for name in ("rank", "local_rank", "world_size", "framework", "tp")
    )
    assert "pp" not in said
    assert not events
    steady.time += 3
    assert heartbeat(53.0) is None
    steady.time += 2
    samples, _events = heartbeat(55.0) or ([], [])
    assert 5.0 == samples[1].value


def test_a_clock_set_back_does_not_silence_it(steady):
    heartbeat = heartbeat_of(steady)
    assert heartbeat(10_000.0)
    assert heartbeat(5_000.0)


def test_a_stalled_rank_sends_its_main_threads_stack_and_repeats_it_rarely(steady):
    heartbeat = heartbeat_of(steady)
    for _ in range(5):
        steady.time += 1.0
        heartbeat.step_ended(1.0)
    received = []
    for second in range(100):
        _samples, events = heartbeat(float(second)) or ([], [])
        received += [(second, event) for event in events]
        steady.time += 1.0
    assert [11, 41, 71] == [second for second, _event in received]
    event = received[0][1]
    assert "process.stack" == event.name
    assert "test_a_stalled_rank" in str(event.attributes["text"])
    assert "test_heartbeat.py" in str(event.attributes["text"])
    steady.time += 1.0
    heartbeat.step_ended(1.0)
    assert not heartbeat.stalled()


def test_long_steps_make_it_patient(steady):
    heartbeat = heartbeat_of(steady)
    for _ in range(5):
        steady.time += 60.0
        heartbeat.step_ended(60.0)
    steady.time += 299.0
    assert not heartbeat.stalled()
    steady.time += 2.0
    assert heartbeat.stalled()


def test_before_the_first_step_it_waits_a_minute(steady):
    heartbeat = heartbeat_of(steady)
    steady.time += 59.0
    assert not heartbeat.stalled()
    steady.time += 2.0
    assert heartbeat.stalled()


def test_a_source_that_fails_leaves_the_sign_of_life(steady):
    class Broken:
        def samples(self, at, rank):
            raise RuntimeError

    who = identify({}, rank=0)
    heartbeat = RankHeartbeat(
        placement=ProcessPlacement(who, {}, steady=steady), sources=(Broken(),), steady=steady
    )
    samples, _events = heartbeat(0.0) or ([], [])
    assert 2 == len(samples)
    assert 1 == heartbeat.failures


def test_a_stack_names_functions_files_and_lines_and_never_values():
    frames = []

    def inner(secret):
        frames.append(stack_text(sys._getframe()))
        return secret

    thread = threading.Thread(target=inner, args=("hunter2",))
    thread.start()
    thread.join()
    last = frames[0].splitlines()[-1]
    assert "never_values.<locals>.inner (test_heartbeat.py:" in last
    assert "hunter2" not in frames[0]
    assert "/" not in frames[0]


def test_a_process_nobody_launched_waits_for_its_process_group_before_it_sends(steady):
    placement = ProcessPlacement(identify({}), {}, steady=steady)
    assert not placement.settled(stepped=False)
    steady.time += 11
    assert placement.settled(stepped=False)
    again = ProcessPlacement(identify({}), {}, steady=steady)
    assert again.settled(stepped=True)
    assert ProcessPlacement(identify({"RANK": "0"}), {}, steady=steady).settled(stepped=False)
