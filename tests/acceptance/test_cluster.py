"""A small cluster of real processes: a collector is killed under load, parts are taken away.

Three NATS servers, PostgreSQL, three collectors and haproxy; the clock of one collector is minutes
ahead. `make cluster ARGS="--kills 200"` is the same, longer, until every incident is over.
"""

import pytest

from bench.cluster import kills
from bench.soak.rounds import SoakState

pytestmark = [pytest.mark.alone, pytest.mark.long, pytest.mark.timeout(900)]

JOBS = 4


def test_a_cluster_loses_nothing_and_pages_nobody_twice(program, tmp_path):
    """A collector is killed; then one NATS server, PostgreSQL and all of NATS are away in turn."""
    for name in ("postgres", "haproxy"):
        program(name)
    state = SoakState()
    measured = kills.round_of(tmp_path, state, kills=1, say=print, jobs=JOBS, resolved=False)
    assert [] == state.wrong
    assert 1 == len(measured.takeovers) == state.kills
    assert ["PostgreSQL", "NATS"] == [row.part for row in measured.outages]
    assert JOBS == len(state.jobs)
    assert state.payloads
