"""A stable cause holds, and is given up when its evidence has left it."""

from dataclasses import replace

import pytest

from rankscope.vocabulary.entities import Entity

START = 1_700_000_000.0


@pytest.fixture
def slow(topology, found):
    return found("job.slow", topology.job_entity)


def first(tracker):
    (incident,) = tracker.incidents.values()
    return incident.root_cause.hypotheses[0].fault, incident.root_cause.status


def test_a_spike_of_cpu_wait_does_not_keep_contention_stable_for_minutes(
    evaluated, tracker, contended, slow, topology, found
):
    rank = found("rank.slow_compute", topology.rank_entity(2))
    for now in range(60, 81):
        evaluated(now, *contended())
    assert ("host.cpu_contention", "stable") == first(tracker)
    for now in range(81, 125):
        recent = replace(slow, window=(slow.window[0] + now - 50, slow.window[1] + now - 50))
        evaluated(now, recent, rank, found("rank.waits_least", topology.rank_entity(2)))
    assert "host.cpu_contention" != first(tracker)[0]


def test_a_slow_member_is_no_other_cause_than_the_uneven_group_that_it_is_in(
    evaluated, tracker, slow, topology, found
):
    group = Entity("group", "ep:1", None, topology.job_entity.ranks)
    uneven = found("group.expert_imbalance", group)
    rank = topology.rank_entity(2)
    member = [found("rank.slow_compute", rank), found("rank.waits_least", rank)]
    for now in range(60, 81):
        evaluated(now, slow, uneven, *member)
    assert ("balance.expert", "stable") == first(tracker)
    for now in range(81, 200):
        recent = replace(slow, window=(slow.window[0] + now - 50, slow.window[1] + now - 50))
        evaluated(now, recent, *member)
    assert ("balance.expert", "stable") == first(tracker)


def test_slowness_seen_in_steps_from_when_the_evidence_was_there_does_not_age(
    evaluated, tracker, contended, slow, topology, found
):
    """With long steps a fault that ended is seen in the newest steps for a while."""
    rank = found("rank.slow_compute", topology.rank_entity(2))
    for now in range(60, 81):
        evaluated(now, *contended())
    for now in range(81, 125):
        recent = replace(slow, window=(slow.window[0] + 39, slow.window[1] + now - 60))
        evaluated(now, recent, rank, found("rank.waits_least", topology.rank_entity(2)))
    assert "host.cpu_contention" == first(tracker)[0]


def test_evidence_that_is_gone_for_a_few_seconds_changes_nothing(
    evaluated, tracker, contended, slow
):
    for now in range(60, 200):
        evaluated(now, *(contended() if now < 80 or now % 10 else [slow]))
    assert ("host.cpu_contention", "stable") == first(tracker)


def test_why_a_job_stopped_does_not_age(evaluated, tracker, stuck):
    """A stopped rank leaves no new evidence; what it left is still why the job stands."""
    for now in range(52, 80):
        evaluated(now, *stuck(), stepped=40.0)
    for now in range(80, 200):
        evaluated(now, stuck()[0], stepped=40.0)
    assert ("software.stuck_process", "stable") == first(tracker)


def test_the_onset_in_the_words_of_a_symptom_does_not_move(evaluated, tracker, topology, found):
    def text(step, seconds):
        return f"steps take {seconds} s (25 % longer) since step {step}"

    for now, step, seconds in ((60, 618, 1.2), (600, 2075, 1.4)):
        for later in range(31):
            evaluated(
                now + later,
                found("job.slow", topology.job_entity, now - 10.0, text=text(step, seconds)),
            )
    (incident,) = [row for row in tracker.incidents.values() if row.status == "open"]
    assert text(618, 1.4) == incident.symptoms[0].text


def test_an_unknown_cause_gives_way_to_one_that_is_named_later_and_lasts(
    evaluated, tracker, stuck, topology, found
):
    for now in range(52, 112):
        evaluated(now, stuck()[0], stepped=40.0)
    assert ("unknown", "stable") == first(tracker)
    idle = found("job.idle_gpus", topology.job_entity, 40.0)
    for now in range(112, 140):
        evaluated(now, stuck()[0], idle, stepped=40.0)
    assert "efficiency.idle_gpu" == first(tracker)[0]


def test_the_history_says_when_and_why_each_cause_came_first(
    evaluated, tracker, contended, slow, topology, found
):
    rank = found("rank.slow_compute", topology.rank_entity(2))
    for now in range(60, 81):
        evaluated(now, *contended())
    for now in range(81, 125):
        recent = replace(slow, window=(slow.window[0] + now - 50, slow.window[1] + now - 50))
        evaluated(now, recent, rank, found("rank.waits_least", topology.rank_entity(2)))
    (incident,) = tracker.incidents.values()
    history = incident.cause_history
    assert [("host.cpu_contention", "provisional"), ("host.cpu_contention", "stable")] == [
        (row.fault, row.status) for row in history[:2]
    ]
    assert "the first ranking of the first evidence" == history[0].why
    assert "it was ranked first for 10 s" == history[1].why
    assert history[2].fault == incident.root_cause.hypotheses[0].fault
    assert history[2].why.startswith(("it leads host.cpu", "nothing has supported host.cpu"))
    assert sorted(row.at for row in history) == [row.at for row in history]


def test_the_impact_says_how_far_the_cause_reaches(evaluated, tracker, contended):
    for now in range(60, 81):
        evaluated(now, *contended())
    (incident,) = tracker.incidents.values()
    ranks = incident.root_cause.hypotheses[0].entity.ranks
    assert (1, len(ranks)) == (incident.impact.jobs, incident.impact.ranks_at_cause)
    assert incident.impact.ranks_at_cause < incident.impact.ranks


def test_evidence_that_comes_and_goes_does_not_hand_the_cause_to_what_it_explained(
    evaluated, tracker, topology, found
):
    """Rank 0 prepares data itself: its peers' wait for data was explained by that already."""
    rank = topology.rank_entity(0)
    shown = [
        found("job.slow", topology.job_entity),
        found("rank.data_wait", rank),
        found("rank.prepares_data", rank),
    ]
    for now in range(60, 81):
        evaluated(now, *shown)
    assert ("balance.rank0_preprocessing", "stable") == first(tracker)
    for now in range(81, 200):
        slow = replace(shown[0], window=(shown[0].window[0] + now - 50, now + START))
        evaluated(now, slow, shown[1])
    assert "balance.rank0_preprocessing" == first(tracker)[0]


def test_what_a_leak_ends_in_is_no_other_cause(evaluated, tracker, topology, found):
    rank = topology.rank_entity(2)
    for now in range(60, 81):
        evaluated(now, found("rank.gpu_memory_grows", rank))
    assert ("memory.gpu_leak", "stable") == first(tracker)
    ended = [
        found("job.crashed", topology.job_entity, 82.0),
        *(found(kind, rank, 82.0) for kind in ("rank.gpu_oom", "rank.first_exit")),
    ]
    for now in range(83, 90):
        evaluated(now, found("rank.gpu_memory_grows", rank), *ended, stepped=80.0)
    for now in range(90, 140):
        evaluated(now, *ended, stepped=80.0)
    assert {"memory.gpu_leak"} == {
        row.root_cause.hypotheses[0].fault
        for row in tracker.incidents.values()
        if "job.crashed" in {symptom.kind for symptom in row.symptoms}
    }


def test_a_cause_that_becomes_visible_where_none_was_names_the_same_incident(
    evaluated, tracker, topology, found
):
    """A link's width is read only now and then: the slowness may be over when it is."""
    rank, device = topology.rank_entity(2), topology.gpu_entity(2)
    slow = [
        found("job.slow", topology.job_entity),
        found("rank.slow_compute", rank),
        found("rank.waits_least", rank),
    ]
    for now in range(60, 81):
        evaluated(now, *slow)
    assert ("gpu.slow", "stable") == first(tracker)
    for now in range(81, 110):
        evaluated(now, *([found("gpu.pcie_slow", device, 41.0)] if now > 85 else []))
    assert "gpu.pcie_degraded" == first(tracker)[0]


def test_a_cause_at_another_device_is_an_incident_of_its_own(evaluated, tracker, topology, found):
    rank, device = topology.rank_entity(2), topology.gpu_entity(0)
    slow = [found("job.slow", topology.job_entity), found("rank.slow_compute", rank)]
    for now in range(60, 81):
        evaluated(now, *slow, found("rank.waits_least", rank))
    for now in range(81, 110):
        evaluated(now, *([found("gpu.pcie_slow", device, 41.0)] if now > 85 else []))
    assert {"gpu.slow", "gpu.pcie_degraded"} == {
        row.root_cause.hypotheses[0].fault for row in tracker.incidents.values()
    }


def test_a_check_that_rules_out_the_second_cause_is_shown_at_once(
    evaluated, tracker, topology, found
):
    """It settles the first cause, though it says nothing of that one."""
    rank, device = topology.rank_entity(2), topology.gpu_entity(2)
    slow = [
        found("job.slow", topology.job_entity, magnitude=1.4),
        found("rank.slow_compute", rank),
        found("rank.waits_least", rank),
    ]
    for now in range(60, 81):
        evaluated(now, *slow)
    assert ("gpu.slow", "stable") == first(tracker)
    text = f"check device_power of {device.id} on {device.host}: pass: 700 W"
    (change,) = evaluated(81, *slow, found("host.check_passed", device, text=text))
    causes = change.incident.root_cause.hypotheses
    assert "gpu.slow" == causes[0].fault
    assert ("gpu.power_limited", device) not in [(row.fault, row.entity) for row in causes[:2]]
