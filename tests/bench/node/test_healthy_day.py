"""Healthy days in seconds. Each runs in a process of its own, which has the stub for a driver."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bench.node.healthy_life import NETWORKS

PAGES = sorted((Path(__file__).parents[2] / "fixtures" / "exporters").glob("*.prom"))


def live(*arguments):
    command = [sys.executable, "-m", "bench.node.healthy_day", "--json", *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=500, check=False)
    assert ended.stdout, ended.stderr
    return json.loads(ended.stdout)


FIRST, *OTHERS = NETWORKS


@pytest.mark.parametrize(
    "profile", [FIRST, *(pytest.param(name, marks=pytest.mark.long) for name in OTHERS)]
)
def test_a_healthy_day_gives_no_event_and_each_fault_gives_its_own(profile, program):
    program("gcc")
    (day,) = live("--profile", profile, "--hours", "5", "--faults")
    assert day["false"] == 0, day["events"]
    assert day["restarts"] == 1
    assert day["series"] > 50  # it was asked to the end
    watched = {"gpu_throttling", "gpu_ecc", "gpu_bus", "kernel_log", "oom_kills", "software"}
    assert watched <= set(day["readers"])
    assert ("network_ports" in day["readers"]) == (day["network"] != "none") or profile == "B200"
    assert [row for row in day["faults"] if not row["as_expected"]] == []
    assert len(day["faults"]) >= 11


@pytest.mark.long
def test_a_healthy_day_of_an_exporters_page_gives_no_event(program):
    program("gcc")
    days = live("--hours", "1", "--faults", *(f"--page={page}" for page in PAGES))
    assert len(days) == len(PAGES)
    for day in days:
        assert day["false"] == 0, day
        assert all(row["as_expected"] for row in day.get("faults", ())), day
    assert sum("faults" in day for day in days) >= 7
