"""Rounds of a check count what they planted, and what they did not."""

import pytest

from bench.checks.rounds import STOPPED, CheckRounds


@pytest.mark.parametrize("name", ["cpu", STOPPED])
def test_a_node_at_half_its_speed_is_told_from_a_healthy_one(name):
    tried = CheckRounds(name, slower=[0.5], seconds=0.2, fleet=5)
    tried.round(planted=True)
    verdicts = tried.tally.verdicts
    assert {(one, share) for one in ("fleet", "peer") for share in (0.0, 0.5)} == set(verdicts)
    assert verdicts["peer", 0.5] == {"slow": 1}
