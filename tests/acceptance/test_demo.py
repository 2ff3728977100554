"""The demo, whole: real processes, one fault, the right first cause; nothing left behind."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from rankscope.vocabulary.incident_schema import schema

pytestmark = pytest.mark.timeout(400)


FAULTS = (
    "host.cpu_contention",
    "software.stuck_process",
    "numerics.nan_rank",
    "software.crash",
    "software.dataloader_slow",
    "balance.rank0_preprocessing",
)
"""Those found within a minute; what takes minutes is run by hand (docs/laboratory.md)."""


def demo(short_path, *words):
    """Run the demo with its temporary folders under short_path; return the finished process."""
    environ = {**os.environ, "TMPDIR": str(short_path)}
    command = [sys.executable, "-m", "rankscope.cli.main", "demo", "--once", *words]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=380, env=environ
    )


@pytest.mark.alone
@pytest.mark.long
@pytest.mark.parametrize("fault", FAULTS)
def test_the_demo_names_the_injected_fault_first(fault, short_path):
    done = demo(short_path, "--trainer", "numpy", "--fault", fault, "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    jsonschema.validate(document, schema())
    first = document["root_cause"]["hypotheses"][0]
    assert first["fault"] == fault
    of_rank_0 = fault.startswith("balance.rank0")
    assert first["entity"]["host"] == ("demo-a" if of_rank_0 else "demo-b")
    assert f"RIGHT: the first cause is {fault}" in done.stderr
    # Nothing of it stays on the machine.
    assert [path.name for path in short_path.iterdir()] == []


@pytest.mark.alone
def test_the_demo_runs_a_torch_job_where_torch_is(short_path):
    done = demo(short_path, "--fault", "host.cpu_contention")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "torch DDP over gloo" in done.stdout
    assert "1. host.cpu_contention" in done.stdout
    assert "from injection to incident" in done.stdout
    assert "no evidence from GPUs" in done.stdout


@pytest.fixture
def interruptible():
    """Let child processes be interrupted: what a shell runs in the background ignores SIGINT."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize(
    "number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.long)]
)
def test_an_interrupted_demo_leaves_nothing_running_and_says_where_its_logs_are(number, short_path):
    command = [sys.executable, "-m", "rankscope.cli.main", "demo", "--trainer", "numpy"]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "TMPDIR": str(short_path)},
    )
    said = []
    with process:
        assert process.stdout is not None
        for line in process.stdout:
            said.append(line)
            if "healthy for" in line:
                assert len(running_for(short_path)) >= 7  # collector, two agents, four ranks
                process.send_signal(number)
    assert process.wait(60) == 128 + number
    assert running_for(short_path) == []
    assert f"logs are in {short_path}" in said[-1]


def running_for(folder):
    """Return the commands of running processes whose environment names this folder."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and int(entry.name) != os.getpid():
            try:
                environ, command = (
                    (entry / "environ").read_bytes(),
                    (entry / "cmdline").read_bytes(),
                )
            except OSError:
                continue
            if f"={folder}".encode() in environ.replace(b"=unix://", b"=") and command:
                found.append(command.replace(b"\0", b" ").decode())
    return found
