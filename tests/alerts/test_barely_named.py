"""A cause that barely beats unknown is named, and pages no sooner than none."""

import pytest
from tests.alerts.explaining import EVERYTHING

from rankscope.alerts.causes import engine
from rankscope.alerts.causes.catalogue import catalogue
from rankscope.alerts.severity import UNNAMED_SECONDS, UNNAMED_STEPS, severity


@pytest.fixture
def weak(topology, found):
    """Return what is found of a rank that is hardly slower than its peers."""
    return [
        found("job.slow", topology.job_entity, score=1.5),
        found("rank.slow_compute", topology.rank_entity(2), score=0.6),
    ]


def test_it_is_named_and_waits_as_an_unknown_one_does(topology, weak):
    cause = engine.explain(weak, topology, observed=EVERYTHING)
    first = cause.hypotheses[0]
    lead = first.score - cause.unknown.score
    assert "gpu.slow" == first.fault
    assert 0 < lead < catalogue().weights.certain
    assert "info" == severity(weak[:1], cause, 0.0)
    assert "warning" == severity(weak[:1], cause, UNNAMED_SECONDS)


def test_where_steps_take_a_minute_slowness_waits_for_three_more_of_them(topology, weak):
    cause = engine.explain(weak, topology, observed=EVERYTHING)
    assert "info" == severity(weak[:1], cause, 179.0, 60.0)
    assert "warning" == severity(weak[:1], cause, UNNAMED_STEPS * 60.0, 60.0)
    assert "warning" == severity(weak[:1], cause, UNNAMED_SECONDS, 1.0)
