"""How incidents end."""

from tests.alerts.lifecycle.courses import START


def test_an_incident_ends_when_its_symptoms_are_gone_and_steps_go_on(course, slow):
    course.at(60, *slow)
    assert [None] * 29 == [course.at(now) for now in range(61, 90)]
    change = course.at(90)
    assert ("incident.resolved", "resolved", True) == (
        change.kind, change.incident.status, change.notify,
    )  # fmt: skip
    assert START + 60 == change.incident.resolved_at
    assert "training goes on" == change.incident.timeline[-1].text


def test_nobody_is_notified_of_the_end_of_what_they_were_not_notified_of(course, stuck):
    course.at(52, *stuck(1.0), stepped=40)
    assert ("incident.resolved", False) == (
        (change := course.at(90)).kind, change.notify,
    )  # fmt: skip


def test_a_stalled_job_that_sends_no_more_is_closed_without_a_word_of_health(course, stuck):
    course.at(60, *stuck(3.0), stepped=40)
    assert None is course.at(300, stepped=40, silent=240.0)
    change = course.at(365, stepped=40, silent=305.0)
    assert "the job ended without a restart" == change.incident.timeline[-1].text


def test_a_slow_job_that_ended_is_resolved_when_it_has_long_been_silent(course, slow):
    course.at(60, *slow)
    assert None is course.at(300, stepped=58, silent=240.0)
    change = course.at(365, stepped=58, silent=305.0)
    assert "the job has ended" == change.incident.timeline[-1].text


def test_a_new_attempt_ends_the_incident_of_the_old_one_with_its_first_step(course, stuck):
    course.at(60, *stuck(3.0), stepped=40)
    assert None is course.at(95, stepped=float("-inf"), attempt=1), "not one step yet"
    change = course.at(96, stepped=95, attempt=1)
    assert ("incident.resolved", "training goes on") == (
        change.kind, change.incident.timeline[-1].text,
    )  # fmt: skip


def test_after_its_end_nothing_changes_an_incident(course, slow):
    course.at(60, *slow)
    course.at(90)
    assert None is course.at(91, *slow)
    assert None is course.at(200)
