"""When a first cause gives way to another one, and who is notified."""

from dataclasses import replace

from tests.alerts.lifecycle.courses import explain


def test_while_provisional_another_first_cause_takes_over_at_once(course, topology, found, slow):
    course.at(60, slow[0])
    change = course.at(61, *slow)
    assert "host.cpu_contention" == change.incident.root_cause.hypotheses[0].fault
    assert "first cause is now host.cpu_contention (host host-b)" in [
        moment.text for moment in change.incident.timeline
    ]


def test_people_are_notified_once_that_the_first_cause_changed(course, topology, found, slow):
    hot = (slow[0], slow[1], found("gpu.throttled", topology.gpu_entity(2)))
    for now, findings in ((60, slow), (61, hot), (62, slow), (63, hot)):
        course.at(now, *findings)
    assert ["opened", "updated"] == course.notices


def test_a_stable_cause_gives_way_only_to_one_that_leads_and_lasts(course, topology, found, slow):
    for now in (60, 70):
        course.at(now, *slow)
    stable = explain(slow, topology)
    rival = explain((slow[0], slow[1], found("gpu.throttled", topology.gpu_entity(2))), topology)

    def scored(cause, score):
        first = replace(cause.hypotheses[0], score=score)
        return replace(cause, hypotheses=(first, stable.hypotheses[0]))

    known = stable.hypotheses[0].score
    weak, strong = scored(rival, known + 0.4), scored(rival, known + 2)
    course.at(71, *slow, cause=weak)
    course.at(72, *slow, cause=strong)
    course.at(74, *slow, cause=weak)
    course.at(75, *slow, cause=strong)
    course.at(79, *slow, cause=strong)
    assert "host.cpu_contention" == course.now.root_cause.hypotheses[0].fault
    course.at(80, *slow, cause=strong)
    assert "gpu.thermal_throttle" == course.now.root_cause.hypotheses[0].fault
    assert "provisional" == course.now.root_cause.status


def test_a_stable_cause_is_shown_anew_where_its_evidence_grew(course, slow):
    weak = (*slow[:-1], replace(slow[-1], score=1.0))
    for now in (60, 70):
        course.at(now, *weak)
    before = course.now.root_cause
    assert None is course.at(71, *weak)
    course.at(72, *slow)
    assert course.now.root_cause.hypotheses[0].score > before.hypotheses[0].score
    assert "stable" == course.now.root_cause.status
