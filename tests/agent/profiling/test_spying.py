"""py-spy: what comes of its trace, and of a real process that it looks at."""

import gzip
import importlib.metadata
import json
import subprocess
import sys
from pathlib import Path

import pytest

from rankscope.agent.profiling import spying
from rankscope.formats import chrome_trace
from rankscope.formats.stacks import py_spy

TRAINER = """
import threading, time

def busy_work(until):
    while time.monotonic() < until:
        sum(range(2000))

def waiting():
    time.sleep(0.02)

def step():
    busy_work(time.monotonic() + 0.05)
    waiting()

threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
print("ready", flush=True)
while True:
    step()
"""


def call(phase, name, at, thread=1, **more):
    args = {"filename": f"/home/ann/{name}.py", "line": 3}
    return {"ph": phase, "name": name, "ts": at, "pid": 9, "tid": thread, "args": args, **more}


def test_begins_and_ends_of_the_main_thread_become_calls_with_their_durations():
    found = spying.complete(
        [
            call("B", "_bootstrap", 0, thread=2), call("B", "run", 0, thread=2),
            call("B", "<module>", 10), call("B", "step", 10), call("E", "step", 40),
            call("E", "<module>", 50), call("E", "run", 60, thread=2),
            call("E", "_bootstrap", 60, thread=2), call("E", "nothing", 70), "none",
        ]
    )  # fmt: skip
    assert [("<module> (<module>.py)", 10.0, 40.0), ("step (step.py)", 10.0, 30.0)] == [
        (one["name"], one["ts"], one["dur"]) for one in found
    ]
    assert [] == spying.complete([{"ph": "B"}, call("E", "step", 3)])


@pytest.fixture(scope="module")
def spy():
    """Return the py-spy of this environment."""
    found = spying.program()
    if found is None:
        files = []
        try:
            files = importlib.metadata.files("py-spy") or []
        except importlib.metadata.PackageNotFoundError:
            pytest.skip("py-spy is not installed")
        found = next((str(one.locate()) for one in files if one.name == "py-spy"), None)
    if found is None or not Path(found).is_file():
        pytest.skip("py-spy is not installed")
    return found


@pytest.fixture(scope="module")
def trainer():
    """Return the pid of a process that works most of the time."""
    with subprocess.Popen([sys.executable, "-c", TRAINER], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert b"ready" in process.stdout.readline()
        yield process.pid
        process.kill()


def test_a_process_without_a_probe_is_profiled_from_outside(spy, trainer):
    try:
        trace = spying.record(spy, trainer, seconds=2)
    except spying.SpyError as error:
        if "ermission" in str(error) or "ermitted" in str(error):
            pytest.skip(f"tracing another process is not permitted here: {error}")
        raise
    text = gzip.decompress(trace).decode()
    assert json.loads(text)["traceEvents"]
    found = chrome_trace.summary(text)
    assert {"python"} == set(found.kinds)
    own = {name.partition(" ")[0]: amount.seconds for (_, name), amount in found.names.items()}
    assert own["busy_work"] > 0
    assert own["waiting"] > 0


def test_the_stack_of_a_silent_process_is_that_of_its_main_thread(spy, trainer):
    done = subprocess.run(
        [spy, "dump", "--nonblocking", "--pid", str(trainer)],
        capture_output=True, check=False, text=True,
    )  # fmt: skip
    if done.returncode and "ermi" in done.stderr:
        pytest.skip(f"tracing another process is not permitted here: {done.stderr.strip()}")
    calls = py_spy.main_thread(done.stdout)
    assert calls[-1].startswith("<module> (")
    assert any(call.startswith("step (") for call in calls)


def test_a_process_that_is_gone_has_no_trace_and_the_reason_is_named(spy):
    with pytest.raises(spying.SpyError, match=r"py-spy: .+"):
        spying.record(spy, 2**22 - 3, seconds=1)
