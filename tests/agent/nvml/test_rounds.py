"""Devices ask one after the other, and what they found leaves in one write."""

import json
import os
import threading
import time

import pytest

from rankscope.agent.nvml.asking import PolledDevice
from rankscope.agent.nvml.device_poller import DevicePoller
from rankscope.agent.nvml.pipe import LinePipe
from rankscope.agent.nvml.rounds import PATIENCE_SECONDS, DeviceRounds
from rankscope.agent.nvml.subjects import READ


class NotedPipe(LinePipe):
    """Keeps what is written, one text a write."""

    def __init__(self):
        super().__init__(-1)
        self.writes: list[str] = []
        self.written = threading.Semaphore(0)

    def flush(self):
        with self._lock:
            if self._gathered:
                self.writes.append("\n".join(self._gathered))
                self._gathered.clear()
                self.written.release()


@pytest.fixture
def pipe():
    return NotedPipe()


class HandDevice(DevicePoller):
    """A device in the place of a poller: its call returns while `free` is set."""

    def __init__(self, number, pipe):
        self._number = number
        self._pipe = pipe
        self.asked = threading.Semaphore(0)
        self.free = threading.Event()
        self.free.set()

    def poll(self, now):
        self.asked.release()
        assert self.free.wait(10)
        self._pipe.gather(device=self._number)


def devices(text):
    return [json.loads(line)["device"] for line in text.splitlines()]


def late(rounds):
    """Let the round be out of patience: the seconds of its beat are over."""
    rounds._due -= PATIENCE_SECONDS


def written(pipe, count):
    """Return what was written once there are so many writes."""
    assert all(pipe.written.acquire(timeout=10) for _ in range(count))
    return [devices(text) for text in pipe.writes]


def test_what_all_devices_found_leaves_in_one_write(pipe):
    four = [HandDevice(number, pipe) for number in range(4)]
    rounds = DeviceRounds(four, pipe=pipe, pulse=600.0)
    rounds.start()
    assert written(pipe, 1) == [[0, 1, 2, 3]]


def test_a_device_whose_call_hangs_costs_that_device_only(pipe):
    four = [HandDevice(number, pipe) for number in range(4)]
    four[1].free.clear()
    rounds = DeviceRounds(four, pipe=pipe, pulse=600.0)
    rounds.start()
    assert four[1].asked.acquire(timeout=10)
    late(rounds)
    rounds.check()
    assert {number for row in written(pipe, 1) for number in row} <= {0, 2, 3}
    assert all(four[number].asked.acquire(timeout=10) for number in (0, 2, 3))

    while rounds._asked != {four[1]}:  # else one whose call is about to return is left out as well
        time.sleep(0.001)
    rounds._due -= 600.0  # the next beat: the device whose call is out is left out of it
    rounds._begin_thread()
    assert all(four[number].asked.acquire(timeout=10) for number in (0, 2, 3))
    assert not four[1].asked.acquire(blocking=False)

    four[1].free.set()
    while rounds._asked:
        time.sleep(0.001)
    rounds._due -= 600.0
    rounds._begin_thread()
    assert all(one.asked.acquire(timeout=10) for one in four)


def test_a_round_that_has_not_begun_is_waited_for(pipe):
    rounds = DeviceRounds([HandDevice(0, pipe)], pipe=pipe, pulse=600.0)
    late(rounds)
    due = rounds._due
    assert 0 < rounds.check() <= PATIENCE_SECONDS
    assert rounds._due == due


def test_values_that_are_what_they_were_are_not_written_again(pipe, monkeypatch):
    watts = iter([100.0, 100.0, 200.0])
    monkeypatch.setitem(READ, "gpu_power", lambda device: device.report("hw.power", next(watts)))
    device = PolledDevice(None, index=0, uuid="GPU-1")
    poller = DevicePoller(device, pipe=pipe, subjects=["gpu_power"], period=1.0, wall=lambda: 5.0)
    for now in (0.0, 10.0, 20.0):
        poller.poll(now)
        pipe.flush()
    rows = [json.loads(text)["readings"][0] for text in pipe.writes]
    assert rows == [
        ["gpu_power", 5.0, 1, [100.0], [["hw.power", []]]],
        ["gpu_power", 5.0, 1],
        ["gpu_power", 5.0, 1, [200.0]],
    ]


def test_lines_leave_whole_and_in_their_order():
    reading, writing = os.pipe()
    pipe = LinePipe(writing)
    pipe.gather(a=1)
    pipe.write(b=2)
    assert not pipe.waiting
    os.close(writing)
    with os.fdopen(reading) as out:
        assert out.read() == '{"a":1}\n{"b":2}\n'
