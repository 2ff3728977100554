"""Results of active checks change which cause leads, and nothing where nobody ran one."""

import pytest
from tests.alerts.explaining import explain

from rankscope.vocabulary.checks import catalogue


@pytest.fixture
def checked(topology, found):
    """Return a function that gives the result of a check as its detector reports it."""

    def make(name, verdict, entity, **more):
        kind = "host.check_passed" if verdict == "pass" else "host.check_bad"
        text = f"check {name} of {entity.id} on {entity.host}: {verdict}: why"
        return found(kind, entity, text=text, **more)

    return make


@pytest.fixture
def slow_rank(topology, found):
    """Return what is found of a rank that is slow for no visible reason."""
    rank = topology.rank_entity(2)
    return [
        found("job.slow", topology.job_entity, magnitude=1.4),
        found("rank.slow_compute", rank),
        found("rank.waits_least", rank),
    ]


def scores(cause):
    return {row.fault: row.score for row in cause.hypotheses}


def evidence_of(cause, fault):
    first = next(row for row in cause.hypotheses if row.fault == fault)
    return [row for row in first.evidence if row.family == "active_check"]


def test_a_slow_result_speaks_for_its_cause_by_what_the_table_says(slow_rank, checked, topology):
    before = explain(slow_rank, topology)
    after = explain([*slow_rank, checked("matmul", "slow", topology.gpu_entity(2))], topology)
    bad, _ = catalogue()["matmul"].weights("gpu.slow")
    (row,) = evidence_of(after, "gpu.slow")
    assert ("supports", bad) == (row.relation, row.weight)
    assert scores(after)["gpu.slow"] == pytest.approx(scores(before)["gpu.slow"] + bad)


def test_a_passed_result_speaks_against_it(slow_rank, checked, topology):
    before = explain(slow_rank, topology)
    after = explain([*slow_rank, checked("matmul", "pass", topology.gpu_entity(2))], topology)
    _, passed = catalogue()["matmul"].weights("gpu.slow")
    (row,) = evidence_of(after, "gpu.slow")
    assert ("contradicts", passed) == (row.relation, row.weight)
    assert scores(after)["gpu.slow"] == pytest.approx(scores(before)["gpu.slow"] + passed)


def test_what_passed_before_it_became_slow_says_nothing(slow_rank, checked, topology):
    old = checked("matmul", "pass", topology.gpu_entity(2), onset=-100.0)
    assert scores(explain(slow_rank, topology)) == scores(explain([*slow_rank, old], topology))


def test_a_result_of_another_device_says_nothing(slow_rank, checked, topology):
    other = checked("matmul", "pass", topology.gpu_entity(1))
    assert not evidence_of(explain([*slow_rank, other], topology), "gpu.slow")


def test_a_check_that_cannot_show_a_cause_says_nothing_of_it(slow_rank, checked, topology):
    clock = checked("clock", "pass", topology.host_entity("host-b"))
    assert scores(explain(slow_rank, topology)) == scores(explain([*slow_rank, clock], topology))


def test_nobody_misses_a_check_that_nobody_ran(slow_rank, topology):
    cause = explain(slow_rank, topology)
    assert not [row for h in cause.hypotheses for row in h.evidence if row.family == "active_check"]
    assert "check.result" not in cause.data_quality.missing


def test_a_result_stands_for_the_essential_evidence_of_its_cause(found, checked, topology):
    """Nobody reports the state of the links: the check does."""
    slow = [
        found("job.slow", topology.job_entity, magnitude=1.4),
        found("job.slow_collectives", topology.job_entity),
    ]
    without = explain(slow, topology)
    copies = checked("peer_copy", "slow", topology.gpu_entity(3))
    cause = explain([*slow, copies], topology)
    assert "gpu.nvlink" != without.hypotheses[0].fault
    assert ("gpu.nvlink", topology.gpu_entity(3)) == (
        cause.hypotheses[0].fault,
        cause.hypotheses[0].entity,
    )


def test_the_cause_that_a_check_shows_leads_where_two_were_close(contention, checked, topology):
    first, second = explain(contention, topology).hypotheses[:2]
    assert "host.cpu_contention" == first.fault
    passed = checked("cpu", "pass", topology.host_entity("host-b"))
    after = scores(explain([*contention, passed], topology))
    _, weight = catalogue()["cpu"].weights("host.cpu_contention")
    assert after["host.cpu_contention"] == pytest.approx(first.score + weight)
    assert second.fault in after


def test_a_bad_result_of_a_device_accuses_the_device_and_not_the_job(found, checked, topology):
    """A lost device may be of the job where only its processes say so; a check says which it is."""
    stalled = [found("job.stalled", topology.job_entity)]
    gone = checked("tool_device", "failed", topology.gpu_entity(2))
    cause = explain([*stalled, gone], topology)
    lost = [row for row in cause.hypotheses if row.fault == "gpu.lost"]
    assert [topology.gpu_entity(2)] == [row.entity for row in lost]
