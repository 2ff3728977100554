"""Devices ask one after the other, and what they found leaves in one write."""

import json
import os
import threading
import time

import pytest

from rankscope.agent.nvml.asking import PolledDevice
from rankscope.agent.nvml.device_poller import DevicePoller
from rankscope.agent.nvml.pipe import LinePipe
from rankscope.agent.nvml.subjects import READ
from rankscope.agent.nvml.turns import DeviceTurns


class NotedPipe(LinePipe):
    """Keeps what is written, one text a write."""

    def __init__(self):
        super().__init__(-1)
        self.writes: list[str] = []

    def flush(self):
        if self._gathered:
            self.writes.append("\n".join(self._gathered))
            self._gathered.clear()


@pytest.fixture
def pipe():
    return NotedPipe()


def test_what_devices_found_while_others_waited_leaves_in_one_write(pipe):
    turns, begun, go = DeviceTurns(pipe), threading.Event(), threading.Event()

    def first():
        begun.set()
        go.wait(10)
        pipe.gather(device=0)

    threads = [threading.Thread(target=turns.take, args=(first,))]
    threads[0].start()
    begun.wait(10)
    for number in range(1, 4):
        threads.append(
            threading.Thread(target=turns.take, args=(lambda n=number: pipe.gather(device=n),))
        )
        threads[-1].start()
    while turns._waiting < 3:
        time.sleep(0.001)
    go.set()
    for thread in threads:
        thread.join(10)
    assert len(pipe.writes) < len(threads)
    lines = [json.loads(line) for text in pipe.writes for line in text.splitlines()]
    assert sorted(line["device"] for line in lines) == [0, 1, 2, 3]


def test_a_device_whose_call_hangs_does_not_hold_up_the_others(pipe):
    turns, begun, over = DeviceTurns(pipe), threading.Event(), threading.Event()

    def hang():
        begun.set()
        over.wait(10)

    hung = threading.Thread(target=turns.take, args=(hang,))
    hung.start()
    begun.wait(10)
    turns.take(lambda: pipe.gather(device=1))
    turns.take(lambda: pipe.gather(device=2))
    assert pipe.writes == ['{"device":1}', '{"device":2}']
    over.set()
    hung.join(10)


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
