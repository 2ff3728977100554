"""A job of two hosts or more, and what is found in it."""

import pytest
from tests.alerts.explaining import EVERYTHING

from rankscope.alerts.causes import engine


@pytest.fixture
def wide(lay_out):
    """Return a job of two ranks on each of eight hosts."""
    return lay_out(hosts=[f"host-{letter}" for letter in "abcdefgh"])


@pytest.fixture
def roots(wide):
    """Return a function that names the roots of what was found: (fault, entity, its symptoms)."""

    def name(*findings, topology=wide):
        return [
            (
                row.cause.hypotheses[0].fault,
                row.cause.hypotheses[0].entity.id,
                sorted(symptom.kind for symptom in row.symptoms),
            )
            for row in engine.explanations(findings, topology, observed=EVERYTHING)
        ]

    return name


@pytest.fixture
def contended(wide, found):
    """Return a function for what is found on a host whose ranks do not get their CPU time."""

    def make(host, onset=40.0):
        ranks = wide.ranks_of_host(host)
        return [
            *(found("rank.slow_compute", wide.rank_entity(rank), onset) for rank in ranks),
            found("host.cpu_wait", wide.host_entity(host), onset),
            found("host.cpu_busy", wide.host_entity(host), onset),
        ]

    return make


@pytest.fixture
def hot(wide, found):
    """Return a function for what is found of a rank whose device is throttled."""

    def make(rank, onset=40.0):
        return [
            found("rank.slow_compute", wide.rank_entity(rank), onset),
            found("gpu.throttled", wide.gpu_entity(rank), onset),
        ]

    return make


@pytest.fixture
def slow(wide, found):
    return found("job.slow", wide.job_entity)
