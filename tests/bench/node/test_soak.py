"""The soak itself is run by hand; here, that it runs and that its slope is a slope."""

import json
import subprocess
import sys

import pytest

from bench.node.soak import MemoryReadings


def test_a_steady_growth_is_found_with_its_interval():
    memory = MemoryReadings()
    memory.rows = [(500 * n, 1000.0 + 2.0 * n, 0.0, 900.0, 5.0, 7 + n % 2) for n in range(1, 60)]
    summary = memory.summary()
    assert summary["rss_kib"]["per_1000_cycles"]["theil_sen"] == [4.0, 4.0, 4.0]
    assert summary["rss_kib"]["per_1000_cycles"]["least_squares"][0] == 4.0
    assert summary["pss_kib"]["per_1000_cycles"]["least_squares"] == [0.0, 0.0, 0.0]
    slope, low, high = summary["objects"]["per_1000_cycles"]["least_squares"]
    assert low < 0 < high or slope == 0


@pytest.mark.long
@pytest.mark.parametrize("part", [(), ("--worker",)])
def test_a_short_soak_keeps_its_objects(part, program):
    """What an agent forgets at every turn, it forgets within a few hundred; caches fill later."""
    program("gcc")
    command = [sys.executable, "-m", "bench.node.soak", "--cycles", "600", "--json", *part]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=150, check=False)
    assert ended.stdout, ended.stderr
    result = json.loads(ended.stdout)
    assert result["readings"] >= 15
    assert result["objects"]["last"] < 1.1 * result["objects"]["first"]
