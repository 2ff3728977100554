"""One incident's course, and what is found of it."""

import pytest
from tests.alerts.lifecycle.courses import Course


@pytest.fixture
def course(topology, health):
    return Course(topology, health)


@pytest.fixture
def slow(topology, found):
    """Return what is found of a host whose ranks do not get their CPU time, 40 s after START."""
    return (
        found("job.slow", topology.job_entity, 40.0, magnitude=1.25),
        *(found("rank.slow_compute", topology.rank_entity(rank)) for rank in (2, 3)),
        found("host.cpu_wait", topology.host_entity("host-b")),
    )


@pytest.fixture
def stuck(topology, found):
    """Return a function for what is found of a rank that stopped, as sure as its detector is."""

    def make(score):
        return (
            found("job.stalled", topology.job_entity, 40.0, score=score),
            found("rank.behind_enqueued", topology.rank_entity(2)),
            found("rank.outside_collective", topology.rank_entity(2)),
        )

    return make
