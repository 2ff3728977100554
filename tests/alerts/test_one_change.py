"""One bad change of code or settings over many jobs is one incident with all of them in it."""

import pytest

CODE = "code: deployed revision 4f2c91 of the trainer"


@pytest.fixture
def slower(found):
    """Return a function for what is found of a job that is slower since a change."""

    def make(layout, what=CODE, *, at=50.0):
        text = f"steps are 21 % longer since a change 12 s before ({what})"
        job = layout.job_entity
        return [
            found("job.slow", job, at, job=layout.job),
            found("job.slow_since_change", job, at, job=layout.job, text=text),
            found("job.slow_compute", job, at, job=layout.job),
        ]

    return make


@pytest.fixture
def jobs(lay_out):
    return [lay_out(f"run-{number}") for number in (1, 2, 3)]


def opened(tracker):
    return [row for row in tracker.incidents.values() if row.status == "open"]


def test_jobs_slower_since_the_same_change_are_one_incident(
    jobs, evaluated, slower, tracker, valid_incident
):
    for now in range(60, 90):
        for number, layout in enumerate(jobs):
            if now >= 60 + 5 * number:
                evaluated(now, *slower(layout, at=50.0 + 5 * number), layout=layout)
    (incident,) = opened(tracker)
    first = incident.root_cause.hypotheses[0]
    assert ("software.regression", "code", "run-1") == (
        first.fault, first.entity.type, first.entity.id
    )  # fmt: skip
    assert ("run-1", "run-2", "run-3") == incident.jobs
    assert (3, 12) == (incident.impact.jobs, incident.impact.ranks)
    assert "2 more jobs with the same change" in incident.summary
    assert "stable" == incident.root_cause.status
    valid_incident(incident.document())


def test_the_first_cause_does_not_move_from_job_to_job(jobs, evaluated, slower, tracker):
    for now in range(60, 120):
        for layout in jobs:
            evaluated(now, *slower(layout), layout=layout)
    (incident,) = opened(tracker)
    assert ["provisional", "stable"] == [row.status for row in incident.cause_history]


@pytest.mark.parametrize("what", ["config: warm-up switched off", "not described"])
def test_another_change_or_one_without_words_is_an_incident_of_its_own(
    jobs, evaluated, slower, tracker, what
):
    one, other, _ = jobs
    for now in range(60, 80):
        evaluated(now, *slower(one, "not described" if what == "not described" else CODE),
                  layout=one)  # fmt: skip
        evaluated(now, *slower(other, what), layout=other)
    assert [("run-1",), ("run-2",)] == sorted(row.jobs for row in opened(tracker))


def test_an_incident_whose_change_is_seen_later_joins_that_of_the_change(
    jobs, evaluated, slower, tracker
):
    one, other, _ = jobs
    for now in range(60, 80):
        evaluated(now, *slower(one), layout=one)
        evaluated(now, slower(other)[0], layout=other)
    assert 2 == len(opened(tracker))
    for now in range(80, 110):
        evaluated(now, *slower(one), layout=one)
        evaluated(now, *slower(other), layout=other)
    (incident,) = opened(tracker)
    assert ("run-1", "run-2") == incident.jobs
    (gone,) = [row for row in tracker.incidents.values() if row.status == "resolved"]
    assert f"explained by incident {incident.id}" == gone.timeline[-1].text


def test_the_incident_lasts_until_the_last_job_is_well(jobs, evaluated, slower, tracker):
    one, other, _ = jobs
    for now in range(60, 300):
        evaluated(now, *(slower(one) if now < 70 else ()), layout=one)
        evaluated(now, *(slower(other) if now < 120 else ()), layout=other)
        if now < 120:
            assert ["open"] == [row.status for row in tracker.incidents.values()], now
    assert ["resolved"] == [row.status for row in tracker.incidents.values()]
