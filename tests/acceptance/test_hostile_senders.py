"""A few attacks of `make hostile`, for seconds each: what no machine's load can excuse."""

import sys
from pathlib import Path

import pytest

from bench.hostile.__main__ import run
from bench.hostile.attacks import attacks
from bench.hostile.verdicts import verdicts

pytestmark = pytest.mark.alone

TRIED = ("gzip-large", "claims-exits", "datagrams-large")


def test_honest_senders_beside_hostile_ones_lose_nothing_and_are_not_blamed():
    chosen = [one for one in attacks() if one.name in TRIED]
    program = [str(Path(sys.executable).with_name("rankscope"))]
    rows = list(run(chosen, program, seconds=2.0, wait_seconds=0.0, quiet_seconds=1.0))
    assert ["none", *TRIED] == [row["attack"] for row in rows]
    for one in verdicts(rows):
        found = {name: one.numbers[name] for name in ("refused", "lost", "incidents")}
        assert {"refused": 0, "lost": 0, "incidents": 0} == found, one.attack
        assert one.numbers["memory x"] < 3.0, one.attack
        assert one.numbers["agent MiB"] <= 96.0, one.attack
