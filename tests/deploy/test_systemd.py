"""The units for systemd: nothing that is needed is taken away; their settings are accepted."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from rankscope import settings
from rankscope.agent.settings import AgentSettings
from rankscope.collector.settings.collector import CollectorSettings

pytestmark = pytest.mark.documents

FOLDER = Path(__file__).parents[2] / "deploy" / "systemd"
UNITS = ("rankscope-agent.service", "rankscope-collector.service")


def service(unit: str = UNITS[0]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in (FOLDER / unit).read_text().splitlines():
        key, equals, value = line.partition("=")
        if equals and not line.startswith("#"):
            found.setdefault(key, []).append(value)
    return found


def test_the_unit_may_write_to_its_two_folders_only():
    assert ["strict"] == service()["ProtectSystem"]
    assert ["rankscope"] == service()["RuntimeDirectory"] == service()["StateDirectory"]
    assert "ReadWritePaths" not in service()


def test_the_unit_has_two_capabilities_and_gains_no_more():
    wanted = ["CAP_SYSLOG CAP_SYS_PTRACE"]
    assert wanted == service()["AmbientCapabilities"] == service()["CapabilityBoundingSet"]
    assert ["yes"] == service()["NoNewPrivileges"] == service()["DynamicUser"]


def test_the_unit_hides_nothing_that_is_read():
    """Each of these takes away a reader: kernel log, processes, clock, GPUs, interfaces."""
    hiding = {"ProtectKernelLogs", "ProtectProc", "ProcSubset", "ProtectClock", "PrivateDevices"}
    hiding |= {"PrivateNetwork", "PrivateUsers"}
    assert set() == hiding & set(service())
    assert {"/dev/kmsg r", "char-nvidia* rw"} == set(service()["DeviceAllow"])
    assert "adjtimex clock_adjtime" in service()["SystemCallFilter"]


def test_the_settings_shown_beside_it_are_accepted_with_those_in_comments():
    lines = (FOLDER / "agent.env").read_text().splitlines()
    shown = [line.lstrip("#") for line in lines if line.lstrip("#").startswith("RANKSCOPE_")]
    given = dict(line.split("=", 1) for line in shown)
    loaded = settings.load(AgentSettings, path=None, environ=given)
    assert (":9400", "old") == (loaded.export.listen, loaded.export.dcgm_names)
    assert set(given) <= {key.variable for key in settings.keys(AgentSettings)}


@pytest.mark.parametrize("unit", UNITS)
def test_systemd_accepts_the_unit(unit: str, program, tmp_path: Path):
    """Unknown or misspelt keys and bad values are printed; the program is one that is there."""
    path = tmp_path / unit
    text = (FOLDER / unit).read_text()
    path.write_text(
        re.sub(r"^ExecStart=\S+", f"ExecStart={sys.executable}", text, flags=re.MULTILINE)
    )
    done = subprocess.run(
        [program("systemd-analyze"), "verify", "--man=no", path],
        text=True,
        capture_output=True,
        check=False,
    )
    # It follows what the unit comes after, too, and says what of the machine's own is odd.
    said = [line for line in done.stderr.splitlines() if unit in line]
    assert [] == said, done.stderr


def test_the_collector_has_no_right_and_one_folder():
    found = service(UNITS[1])
    assert [""] == found["CapabilityBoundingSet"]
    assert ["strict"] == found["ProtectSystem"]
    assert ["yes"] == found["DynamicUser"] == found["NoNewPrivileges"] == found["PrivateDevices"]
    [folder] = found["StateDirectory"]
    assert [f"RANKSCOPE_DATA_DIR=/var/lib/{folder}"] == found["Environment"]
    assert "ReadWritePaths" not in found


def test_the_collectors_settings_shown_beside_it_are_accepted():
    loaded = settings.load(CollectorSettings, path=FOLDER / "collector.yaml", environ={})
    assert loaded.protected
    assert {"ingest", "read", "admin"} == {token.role for token in loaded.api.tokens}
