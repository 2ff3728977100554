"""A job of one rank: nothing can be compared, and the answer says so."""

import pytest
from tests.alerts.explaining import EVERYTHING

from rankscope.alerts.causes import engine


@pytest.fixture
def alone(lay_out):
    return lay_out(hosts=("host-a",), each=1)


def explained(findings, topology):
    return engine.explain(findings, topology, observed=EVERYTHING)


def test_a_nan_is_unknown_with_the_reason_and_the_numeric_causes_behind_it(alone, found):
    cause = explained([found("job.nonfinite", alone.job_entity)], alone)
    assert "unknown" == cause.hypotheses[0].fault
    assert any("a job of one rank has no peers" in text for text in cause.unknown.reasons)
    behind = {row.fault for row in cause.hypotheses[1:]}
    assert {"numerics.nan_data", "numerics.nan_precision"} <= behind
    assert cause.next_checks


def test_a_nan_after_the_loss_scale_collapsed_is_one_of_precision_without_peers_too(alone, found):
    job = alone.job_entity
    cause = explained([found("job.nonfinite", job), found("job.loss_scale_collapse", job)], alone)
    assert "numerics.nan_precision" == cause.hypotheses[0].fault


def test_a_nan_that_returns_with_the_same_batch_is_one_of_the_data_without_peers_too(alone, found):
    job = alone.job_entity
    rows = [found("job.nonfinite", job), found("job.nonfinite_repeated", job)]
    assert "numerics.nan_data" == explained(rows, alone).hypotheses[0].fault


def test_a_job_of_several_ranks_has_no_such_reason(topology, found):
    cause = explained([found("job.nonfinite", topology.job_entity)], topology)
    assert not any("no peers" in text for text in cause.unknown.reasons)
