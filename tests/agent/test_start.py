"""How an agent starts and ends: what it takes, what it gives back, what it says where it cannot."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from rankscope.agent import listeners, service
from rankscope.agent.settings import AgentSettings


def configured(folder: Path, **sections) -> Path:
    path = folder / "agent.yaml"
    given = {
        "export": {"listen": "127.0.0.1:0"},
        "probe": {"socket": str(folder / "probe.sock")},
        "spool": {"folder": str(folder / "spool")},
        "push": {"endpoint": ""},
        **sections,
    }
    path.write_text(json.dumps(given))
    return path


def command(path: Path) -> list[str]:
    return [sys.executable, "-m", "rankscope.cli.main", "agent", "--config", str(path)]


def test_the_command_runs_until_sigterm_and_leaves_nothing_behind(folder):
    path = configured(folder)
    with subprocess.Popen(command(path), stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert any("started: probe socket" in line for line in process.stderr)
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "agent stopped" in said
    assert not (folder / "probe.sock").exists()


def test_a_second_agent_on_the_same_socket_says_so_and_ends(run_agent, folder):
    agent = run_agent()
    path = configured(folder, probe={"socket": agent.socket_path})
    done = subprocess.run(command(path), capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1
    assert f"another agent (pid {os.getpid()}) already serves {agent.socket_path}" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("sections", "words"),
    [
        ({"spool": {"folder": "/proc/nothing"}}, "set spool.folder"),
        ({"export": {"listen": "192.0.2.1:9470"}}, "export.listen 192.0.2.1:9470"),
        ({"probe": {"udp_listen": "192.0.2.1:8471"}}, "probe.udp_listen 192.0.2.1:8471"),
        ({"readers": {"off": ["cpus"]}}, "there is no reader cpus; there are gpu_watch"),
        ({"push": {"endpoint": "https://h", "ca_file": "/nothing"}}, "push.ca_file"),
    ],
)
def test_what_cannot_be_had_stops_the_start_with_its_key(folder, intake, sections, words):
    given = {
        "export": {"listen": "127.0.0.1:0"},
        "probe": {"socket": str(folder / "probe.sock")},
        "push": {"endpoint": intake.endpoint},
        "spool": {"folder": str(folder / "spool")},
    }
    for section, keys in sections.items():
        given[section] = {**given.get(section, {}), **keys}
    settings = AgentSettings.model_validate(given)
    before = opened()
    with pytest.raises(listeners.StartError) as caught:
        service.NodeAgent(settings, environ={})
    assert words in str(caught.value)
    assert opened() - before == set()
    assert not (folder / "probe.sock").exists()


def opened() -> set[str]:
    """Return what this process has open, but for what is closed while we look."""
    found = set()
    for fd in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            found.add(f"{fd.name} {fd.readlink()}")
    return {one for one in found if "/proc/" not in one}


def test_a_setting_with_a_typo_stops_the_command(folder):
    path = configured(folder, expot={})
    done = subprocess.run(command(path), capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2
    assert "expot" in done.stderr
    assert "export" in done.stderr
