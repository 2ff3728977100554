"""Memory of large bodies is given back, whatever thread read them."""

import ctypes
import subprocess
import sys

import pytest

from rankscope.collector.process import memory

BODIES = """
import threading, psutil
from rankscope.collector.process import memory
{asked}
def read():
    for size in range(8, 24, 4):
        bytes(size << 20)  # the first that is freed raises what glibc keeps
        small.append(bytearray(2000))  # lies above it, so that a heap cannot shrink
small = []
before = psutil.Process().memory_info().rss
def in_threads():
    threads = [threading.Thread(target=read) for _ in range(8)]
    for one in threads: one.start()
    for one in threads: one.join()
in_threads()
in_threads()
print((psutil.Process().memory_info().rss - before) >> 20)
"""


def left_mib(script, asked):
    done = subprocess.run(
        [sys.executable, "-c", script.format(asked=asked)],
        capture_output=True,
        text=True,
        check=True,
    )
    return int(done.stdout)


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallopt"), reason="not glibc")
def test_large_blocks_are_given_back_once_they_are_freed():
    assert left_mib(BODIES, "assert memory.return_large_blocks()") < 8


PIECES = """
import psutil
from rankscope.collector.process import memory
before = psutil.Process().memory_info().rss
pieces = [bytearray(60_000) for _ in range(1000)]
held = bytearray(3000)  # lies above them
del pieces
{asked}
print((psutil.Process().memory_info().rss - before) >> 20)
"""


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="not glibc")
def test_pieces_below_what_is_in_use_are_given_back_when_asked():
    assert left_mib(PIECES, "assert memory.return_freed()") < 8


def test_a_c_library_without_it_is_left_as_it_is(monkeypatch):
    monkeypatch.setattr(ctypes, "CDLL", lambda _name: object())
    assert memory.return_large_blocks() is False
    assert memory.return_freed() is False
