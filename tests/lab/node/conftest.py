"""A stock NVML client in a process of its own, which makes the calls a test names."""

import itertools
import json
import os
import queue
import subprocess
import sys
import threading
import time

import pytest
from tests import waiting

from rankscope.lab.node.nvml import SEEN_AFTER, NvmlScenario

# Each expression runs on a thread of its own, so that one that hangs keeps nobody waiting.
CLIENT = """
import ctypes, json, sys, threading
import pynvml as n
held, lock = {"n": n, "ctypes": ctypes}, threading.Lock()
def plain(value):
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, ctypes.Structure):
        return {name: getattr(value, name) for name, *_ in value._fields_}
    return getattr(value, "__dict__", repr(value))
def answer(number, text):
    try:
        result = eval(text, held)
    except n.NVMLError as error:
        result = {"code": error.value}
    except Exception as error:
        result = {"raised": repr(error)}
    with lock:
        print(json.dumps([number, result], default=plain), flush=True)
for line in sys.stdin:
    threading.Thread(target=answer, args=json.loads(line), daemon=True).start()
"""


class Client:
    """A program that loads libnvidia-ml.so.1 and makes the calls that a test names."""

    def __init__(self, environment):
        self.process = subprocess.Popen(
            [sys.executable, "-c", CLIENT],
            env={**os.environ, **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._asks, self._says = self.process.stdin, self.process.stdout
        self._numbers = itertools.count()
        self._answers = {}
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self):
        for line in self._says:
            number, result = json.loads(line)
            self._answers[number].put(result)

    def begin(self, expression):
        """Start a call and return the queue that its answer will come to."""
        number = next(self._numbers)
        self._answers[number] = queue.Queue()
        self._asks.write(json.dumps([number, expression]) + "\n")
        self._asks.flush()
        return self._answers[number]

    def __call__(self, expression):
        return self.begin(expression).get(timeout=60)

    def hold(self, name, expression):
        """Keep a result in the client under a name."""
        return self(f"globals().__setitem__({name!r}, {expression}) or True")

    def stop(self):
        self._asks.close()
        self.process.kill()
        self.process.wait()
        self._says.close()


@pytest.fixture
def until():
    """Return a wait: `until(question)` returns its first true answer."""
    return waiting.until


@pytest.fixture
def settle():
    """Return a wait after which any new call sees the scenario as it was written before."""
    return lambda: time.sleep(2 * SEEN_AFTER)


@pytest.fixture
def start(program):
    """Return a starter of clients that are stopped after the test."""
    program("gcc")
    clients = []

    def begin(environment, *, initialised=True):
        client = Client(environment)
        clients.append(client)
        if initialised:
            assert client("n.nvmlInit()") is None
        return client

    yield begin
    for client in clients:
        client.stop()


@pytest.fixture
def scenario(tmp_path, program):
    program("gcc")  # or there is nothing to build the stub with
    return NvmlScenario(tmp_path, profile="H100", gpus=8)


@pytest.fixture
def client(scenario, start):
    """Return a client that has started the library and holds the eight devices as `d`."""
    client = start(scenario.environment())
    client.hold("d", "[n.nvmlDeviceGetHandleByIndex(i) for i in range(8)]")
    return client
