import os
import selectors
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from rankscope.agent import procfs
from rankscope.agent.exits import ExitWatch, ProcessExit


@pytest.fixture
def selector():
    with selectors.DefaultSelector() as one:
        yield one


@pytest.fixture
def start():
    """Start a process that ends when it reads a line, in the way its code says."""
    started: list[Any] = []

    def begin(ending: str) -> Any:
        code = f"import os, signal, sys; sys.stdin.readline(); {ending}"
        process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE)
        started.append(process)
        return process

    yield begin
    for process in started:
        process.kill()
        process.wait()
        process.stdin.close()


def end(process: Any) -> None:
    process.stdin.write(b"\n")
    process.stdin.flush()


def exits_of(watch, selector, until) -> list[ProcessExit]:
    found: list[ProcessExit] = []

    def look() -> bool:
        if selector.get_map():
            selector.select(0.05)
        found.extend(watch.ended(time.monotonic()))
        return bool(found)

    until(look)
    return found


@pytest.mark.parametrize(
    ("ending", "code", "number"),
    [
        ("os._exit(0)", 0, None),
        ("os._exit(7)", 7, None),
        ("os.kill(os.getpid(), signal.SIGKILL)", None, signal.SIGKILL),
        ("os.abort()", None, signal.SIGABRT),
    ],
)
@pytest.mark.parametrize("pidfds", [True, False])
def test_a_zombies_status_is_told(start, selector, until, ending, code, number, pidfds):
    process = start(ending)
    watch = ExitWatch(selector=selector, pidfds=pidfds)
    watch.watch(process.pid)
    assert watch.ended(time.monotonic()) == []
    end(process)
    (ended,) = exits_of(watch, selector, until)
    assert (ended.pid, ended.exit_code, ended.signal) == (process.pid, code, number)
    watch.close()


def test_a_status_that_the_parent_took_first_comes_from_the_pidfd_where_the_kernel_keeps_it(
    start, selector, until
):
    process = start("os._exit(9)")
    watch = ExitWatch(selector=selector)
    watch.watch(process.pid)
    end(process)
    process.wait()
    (ended,) = exits_of(watch, selector, until)
    major, minor = (int(part) for part in os.uname().release.split(".")[:2])
    assert ended.exit_code == (9 if (major, minor) >= (6, 15) else None)
    assert ended.signal is None


def test_without_pidfds_a_status_that_the_parent_took_is_unknown(start, selector, until):
    process = start("os._exit(9)")
    watch = ExitWatch(selector=selector, pidfds=False)
    watch.watch(process.pid)
    end(process)
    process.wait()
    assert exits_of(watch, selector, until) == [ProcessExit(process.pid, None)]


def test_a_process_that_ended_before_it_was_watched_is_told_without_status(start, selector):
    process = start("os._exit(0)")
    end(process)
    process.wait()
    watch = ExitWatch(selector=selector)
    watch.watch(process.pid)
    assert watch.ended(time.monotonic()) == [ProcessExit(process.pid, None)]
    assert watch.ended(time.monotonic()) == []


def test_each_exit_is_told_once_and_its_files_are_closed(start, selector, until):
    process = start("os._exit(0)")
    before = len(list(Path("/proc/self/fd").iterdir()))
    watch = ExitWatch(selector=selector)
    watch.watch(process.pid)
    watch.watch(process.pid)
    end(process)
    assert len(exits_of(watch, selector, until)) == 1
    assert watch.ended(time.monotonic()) == []
    assert not watch.waiting
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_forgotten_process_ends_in_silence(start, selector):
    process = start("os._exit(0)")
    watch = ExitWatch(selector=selector)
    watch.watch(process.pid)
    watch.forget(process.pid)
    end(process)
    process.wait()
    assert watch.ended(time.monotonic()) == []
    assert not selector.get_map()


def test_the_status_of_a_process_that_is_not_shown_to_us_waits_for_its_parent(
    start, selector, until, monkeypatch
):
    """A kernel that hides the status shows 0: that must never read as a clean exit."""
    process = start("os._exit(5)")
    monkeypatch.setattr(procfs, "may_trace_anyone", lambda proc: False)
    monkeypatch.setattr(procfs, "_ours", lambda pid, proc: False)
    real = procfs.stat

    def hiding(pid, proc=procfs.PROC):
        found = real(pid, proc)
        return found and procfs.ProcessStat(found.command, (*found.fields[:-1], "0"))

    monkeypatch.setattr(procfs, "stat", hiding)
    watch = ExitWatch(selector=selector)
    watch.watch(process.pid)
    end(process)
    until(lambda: procfs.state(process.pid) == "Z")
    assert watch.ended(100.0) == []
    assert watch.waiting
    assert watch.ended(100.3) == []
    assert watch.ended(100.6) == [ProcessExit(process.pid, None)]
