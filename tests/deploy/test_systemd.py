"""The unit for systemd: what the agent needs is not taken from it; its settings are accepted."""

from pathlib import Path

from rankscope import settings
from rankscope.agent.settings import AgentSettings

FOLDER = Path(__file__).parents[2] / "deploy" / "systemd"


def service() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in (FOLDER / "rankscope-agent.service").read_text().splitlines():
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
