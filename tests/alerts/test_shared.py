"""A fault of something that several jobs stand on is one incident over all of them."""

import pytest

from rankscope.alerts.actions import PersonAction

START = 1_700_000_000.0


@pytest.fixture
def two(lay_out):
    return lay_out("run-1"), lay_out("run-2")


def test_a_host_that_two_jobs_share_is_one_incident(
    two, evaluated, contended, tracker, valid_incident
):
    one, other = two
    (opened,) = evaluated(60, *contended(layout=one), layout=one)
    (joined,) = evaluated(62, *contended(layout=other), layout=other)
    assert opened.incident.id == joined.incident.id
    assert ("run-1", ("run-1", "run-2")) == (joined.incident.job, joined.incident.jobs)
    assert "incident.updated" == joined.kind
    assert 8 == joined.incident.impact.ranks
    valid_incident(joined.incident.document())
    assert 1 == len(tracker.incidents)


def test_it_ends_when_both_jobs_are_well(two, evaluated, contended):
    one, other = two
    evaluated(60, *contended(layout=one), layout=one)
    evaluated(60, *contended(layout=other), layout=other)
    ends = {}
    for now in range(61, 200):
        for layout, until in ((one, 70), (other, 120)):
            bad = contended(layout=layout) if now < until else ()
            for change in evaluated(now, *bad, layout=layout):
                if change.kind == "incident.resolved":
                    ends[now] = change.incident.resolved_at
    assert {149: START + 119} == ends


def test_a_job_that_is_over_does_not_end_it_for_the_other(two, evaluated, contended, tracker):
    one, other = two
    for now in range(60, 500):
        evaluated(now, *contended(layout=one), layout=one, silent=max(now - 100.0, 0.0))
        evaluated(now, *contended(layout=other), layout=other)
    assert ["open"] == [row.status for row in tracker.incidents.values()]


def test_ranks_of_the_same_number_are_not_shared(two, evaluated, found, tracker):
    for layout in two:
        evaluated(
            60,
            found("job.nonfinite", layout.job_entity, job=layout.job),
            found("rank.first_nonfinite", layout.rank_entity(1), job=layout.job),
            layout=layout,
        )
    assert 2 == len(tracker.incidents)


def test_an_action_on_a_shared_incident_is_taken_once(two, evaluated, contended, tracker):
    one, other = two
    (opened,) = evaluated(60, *contended(layout=one), layout=one)
    evaluated(60, *contended(layout=other), layout=other)
    tracker.act(PersonAction("resolve", opened.incident.id, START + 70, "ada"), START + 70)
    assert not tracker.has_open(one.job)
    assert not tracker.has_open(other.job)
