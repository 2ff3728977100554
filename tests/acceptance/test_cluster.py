"""Three collectors over three NATS servers: one is killed, then NATS and PostgreSQL are away."""

import pytest

from rankscope.lab.cluster import kills
from rankscope.lab.soak.rounds import State

pytestmark = [pytest.mark.acceptance, pytest.mark.slow, pytest.mark.timeout(600)]


def test_whatever_is_away_nothing_acknowledged_is_lost_and_nobody_is_paged_twice(tmp_path, program):
    program("haproxy")
    program("postgres")
    state = State()
    said: list[str] = []
    took = kills.round_of(tmp_path, state, kills=1, say=said.append, jobs=4, resolved=False)
    assert state.wrong == [], said
    assert len(took) == state.kills == 1
    assert state.payloads > 0
