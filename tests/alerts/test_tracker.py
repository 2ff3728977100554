"""Which symptoms belong together: one incident for each root cause and scope."""

import random
from functools import partial

import pytest
from tests.alerts.explaining import EVERYTHING

from rankscope.alerts import closed
from rankscope.alerts.causes.engine import explanations
from rankscope.alerts.tracker import IncidentTracker
from rankscope.vocabulary import faults
from rankscope.vocabulary.entities import Entity
from rankscope.vocabulary.ids import Job
from rankscope.vocabulary.ranks import RankSet

START = 1_700_000_000.0
RUN = Job("run-1")


@pytest.fixture
def slow(topology, found):
    return found("job.slow", topology.job_entity, 40.0)


@pytest.fixture
def stalled(topology, found):
    return found("job.stalled", topology.job_entity, 100.0)


def kinds(changes):
    return [change.kind for change in changes]


def kinds_of(incident):
    return sorted(symptom.kind for symptom in incident.symptoms)


def held(tracker):
    return [kinds_of(incident) for incident in tracker.incidents.values()]


def test_a_symptom_opens_an_incident(evaluated, tracker, slow):
    (change,) = evaluated(60, slow)
    assert "incident.opened" == change.kind
    assert {change.incident.id: change.incident} == tracker.incidents
    assert (START + 40, START + 60) == (change.incident.opened_at, change.incident.detected_at)
    assert tracker.has_open(RUN)


def test_evidence_without_a_symptom_opens_nothing(evaluated, tracker, topology, found):
    assert [] == evaluated(60, found("rank.slow_compute", topology.rank_entity(2)))
    assert not tracker.has_open(RUN)


def test_only_an_open_incident_that_costs_the_job_something_changes_its_steps(
    evaluated, tracker, topology, found, slow
):
    evaluated(60, found("host.clock_off", topology.host_entity("host-a")))
    assert (True, False) == (tracker.has_open(RUN), tracker.slows(RUN))
    evaluated(61, slow)
    assert tracker.slows(RUN)


def test_uneven_clocks_of_devices_change_no_steps_before_steps_are_slow(
    evaluated, tracker, topology, found, slow
):
    uneven = [found("gpu.behind_peers", topology.gpu_entity(rank), score=0.9) for rank in (1, 2)]
    changes = evaluated(60, *uneven)
    assert {"info"} == {change.incident.severity for change in changes}
    assert not tracker.slows(RUN)
    evaluated(61, *uneven, slow)
    assert tracker.slows(RUN)


def test_a_job_that_becomes_slow_is_news_where_its_devices_never_were_alike(
    evaluated, lay_out, found
):
    wide = lay_out(hosts=[f"host-{name}" for name in "abcdefg"])
    devices = [wide.gpu_entity(rank) for rank in range(6)]
    uneven = [found("gpu.behind_peers", device, 5.0, score=0.9) for device in devices]
    (standing,) = evaluated(20, *uneven, layout=wide)
    first = standing.incident.root_cause.hypotheses[0]
    assert (faults.UNKNOWN, "info") == (first.fault, standing.incident.severity)
    changes = evaluated(60, found("job.slow", wide.job_entity, 40.0), *uneven, layout=wide)
    opened = [row.incident for row in changes if row.kind == "incident.opened"]
    assert [True] == ["job.slow" in kinds_of(incident) for incident in opened]


def test_a_small_effect_of_a_named_cause_is_how_the_job_is(evaluated, tracker, topology, found):
    small = found("job.slow", topology.job_entity, score=0.5)
    (change,) = evaluated(60, small, found("rank.slow_compute", topology.rank_entity(2)))
    assert ("info", False) == (change.incident.severity, tracker.slows(RUN))


def test_symptoms_of_one_job_that_begin_together_fold_into_one_incident(
    evaluated, tracker, slow, stalled
):
    evaluated(60, slow)
    evaluated(120, slow, stalled, stepped=100.0)
    assert [["job.slow", "job.stalled"]] == held(tracker)


def test_symptoms_found_at_the_same_second_fold_whichever_comes_first(
    evaluated, tracker, slow, stalled
):
    evaluated(120, stalled, slow, stepped=100.0)
    assert [["job.slow", "job.stalled"]] == held(tracker)


def test_a_symptom_that_begins_long_after_opens_its_own_incident(
    evaluated, tracker, topology, found, slow
):
    evaluated(60, slow)
    evaluated(300, slow, found("job.nonfinite", topology.job_entity, 290.0))
    assert [["job.slow"], ["job.nonfinite"]] == held(tracker)


def test_the_same_symptom_with_a_later_onset_stays_in_its_incident(
    evaluated, tracker, topology, found, slow
):
    evaluated(60, slow)
    evaluated(400, found("job.slow", topology.job_entity, 390.0))
    assert [["job.slow"]] == held(tracker)


def test_two_jobs_never_fold(evaluated, tracker, lay_out, found, slow):
    other = lay_out("run-2").job_entity
    evaluated(60, slow)
    evaluated(60, found("job.slow", other, 40.0, job="run-2"), layout=lay_out("run-2"))
    assert 2 == len(tracker.incidents)
    assert {"run-1", "run-2"} == {row.job for row in tracker.incidents.values()}


def test_a_new_attempt_opens_its_own_incident(evaluated, tracker, topology, found):
    evaluated(60, found("job.crashed", topology.job_entity, 55.0))
    evaluated(90, found("job.slow", topology.job_entity, 80.0, attempt=1), attempt=1)
    assert [0, 1] == [row.attempt for row in tracker.incidents.values()]


def test_a_new_attempt_that_steps_resolves_the_crash_before_it(evaluated, tracker, topology, found):
    evaluated(60, found("job.crashed", topology.job_entity, 55.0))
    assert [] == evaluated(80, attempt=1)
    (change,) = evaluated(95, attempt=1)
    assert ("incident.resolved", START + 60) == (change.kind, change.incident.resolved_at)
    assert not tracker.has_open(RUN)


def test_evidence_goes_to_every_open_incident_of_its_job(evaluated, tracker, topology, found, slow):
    evaluated(60, slow)
    nan = found("job.nonfinite", topology.job_entity, 290.0)
    first = found("rank.first_nonfinite", topology.rank_entity(1), 290.0)
    evaluated(300, slow, nan, first)
    faults = [row.root_cause.hypotheses[0].fault for row in tracker.incidents.values()]
    assert ["unknown", "numerics.nan_rank"] == faults


def test_the_tail_of_a_resolved_incident_does_not_open_it_again(evaluated, tracker, slow):
    evaluated(60, slow)
    assert ["incident.resolved"] == kinds(evaluated(95))
    assert [] == evaluated(96, slow)
    assert 1 == len(tracker.incidents)


def test_the_same_trouble_much_later_is_a_new_incident(evaluated, tracker, contended):
    evaluated(60, *contended())
    evaluated(95)
    assert ["incident.opened"] == kinds(evaluated(1400, *contended(1390.0)))
    assert 2 == len(tracker.incidents)


def test_slowness_without_a_cause_is_one_incident_that_is_told_once(
    evaluated, tracker, topology, found, slow
):
    again = [found("job.slow", topology.job_entity, begun) for begun in (1390.0, 20_000.0)]
    evaluated(60, slow)
    assert [True] == [change.notify for change in evaluated(121, slow)]
    evaluated(160)
    assert [("incident.updated", False)] == [
        (change.kind, change.notify) for change in evaluated(1400, again[0])
    ]
    evaluated(1500)
    assert ["incident.opened"] == kinds(evaluated(20_010, again[1]))
    assert 2 == len(tracker.incidents)


def test_the_same_findings_again_change_nothing(evaluated, slow):
    evaluated(60, slow)
    assert [] == evaluated(61, slow)


def test_the_order_of_findings_changes_no_incident(tracker, topology, found, health):
    findings = [
        found("job.slow", topology.job_entity, 40.0),
        found("job.stalled", topology.job_entity, 45.0),
        found("host.silent", topology.host_entity("host-b"), 44.0),
        found("rank.slow_compute", topology.rank_entity(2), 40.0),
        found("rank.behind_enqueued", topology.rank_entity(2), 45.0),
    ]
    seen = set()
    for seed in range(20):
        shuffled = random.Random(seed).sample(findings, len(findings))
        there = IncidentTracker()
        there.update(
            RUN,
            0,
            shuffled,
            partial(explanations, topology=topology, observed=EVERYTHING),
            health(),
            START + 60,
        )
        seen.add(str([row.document()["symptoms"] for row in there.incidents.values()]))
    assert 1 == len(seen)


def test_only_the_newest_resolved_incidents_are_remembered(
    evaluated, tracker, topology, found, monkeypatch
):
    monkeypatch.setattr(closed, "KEPT_CLOSED", 2)
    for turn in range(4):
        begun = 1000.0 * turn
        evaluated(begun + 20, found("job.nonfinite", topology.job_entity, begun))
        evaluated(begun + 60)
    evaluated(5000, found("job.nonfinite", topology.job_entity, 4990.0))
    opened = [row.opened_at - START for row in tracker.incidents.values()]
    assert [2000.0, 3000.0, 4990.0] == opened


def test_open_incidents_are_never_forgotten(evaluated, tracker, topology, found, monkeypatch):
    monkeypatch.setattr(closed, "KEPT_CLOSED", 1)
    evaluated(20, found("job.slow", topology.job_entity, 10.0))
    evaluated(
        400,
        found("job.slow", topology.job_entity, 10.0),
        found("job.nonfinite", topology.job_entity, 390.0),
    )
    assert 2 == len(tracker.incidents)


def test_a_restart_under_the_same_attempt_number_resolves_the_crash(
    evaluated, tracker, topology, found
):
    """The exit events are still found; that the job steps again makes them history."""
    crash = [
        found("job.crashed", topology.job_entity, 55.0),
        found("rank.first_exit", topology.rank_entity(3), 55.0),
    ]
    for now in range(56, 100):
        evaluated(now, *crash, stepped=54.0)
    changes = [c for now in range(100, 200) for c in evaluated(now, *crash)]
    assert ["incident.resolved"] == kinds([c for c in changes if c.kind != "incident.updated"])
    assert "training goes on" == changes[-1].incident.timeline[-1].text


def test_of_a_job_that_ended_long_ago_nothing_is_announced(evaluated, tracker, topology, found):
    crash = found("job.crashed", topology.job_entity, 55.0)
    assert [] == evaluated(2000, crash, stepped=54.0, silent=1900.0)


def test_an_incident_that_turns_out_to_be_part_of_another_is_merged_into_it(
    tracker, topology, found, health
):
    slow = found("job.slow", topology.job_entity, 40.0)

    def of(rank):
        entity = topology.rank_entity(rank)
        return [found("rank.slow_compute", entity), found("rank.waits_least", entity)]

    def root(*evidence):
        (row,) = explanations([slow, *evidence], topology, observed=EVERYTHING)
        return row

    two = (root(*of(2)), root(*of(3)))
    host = root(*of(2), *of(3), found("host.cpu_wait", topology.host_entity("host-b")))
    for now in range(60, 70):
        rows = two if now < 63 else (host,)
        tracker.update(RUN, 0, [slow], lambda _, rows=rows: rows, health(now), START + now)
    kept, merged = sorted(tracker.incidents.values(), key=lambda row: row.status)
    assert ["open", "resolved"] == [kept.status, merged.status]
    assert "host-b" == kept.root_cause.hypotheses[0].entity.id
    assert f"explained by incident {kept.id}" == merged.timeline[-1].text


def test_clocks_that_are_off_from_the_start_are_one_incident(evaluated, tracker, topology, found):
    off = [
        found("host.clock_off", topology.host_entity(name), onset, magnitude=0.5)
        for name, onset in (("host-a", 2.0), ("host-b", 20.0))
    ]
    evaluated(90, *off)
    assert [["host.clock_off", "host.clock_off"]] == held(tracker)


def test_a_clock_that_was_off_and_jumps_is_something_new(evaluated, tracker, topology, found):
    host = topology.host_entity("host-a")
    evaluated(90, found("host.clock_off", host, 2.0, magnitude=0.5))
    for now in (300, 301):
        evaluated(now, found("host.clock_off", host, 280.0, magnitude=32.0))
    assert [2.0, 280.0] == [row.opened_at - START for row in tracker.incidents.values()]


def test_a_clock_that_is_off_by_as_much_as_before_is_the_same(evaluated, tracker, topology, found):
    """Its history is bounded: it begins later and later."""
    host = topology.host_entity("host-a")
    evaluated(90, found("host.clock_off", host, 2.0, magnitude=0.5))
    evaluated(900, found("host.clock_off", host, 200.0, magnitude=0.6))
    assert [2.0] == [row.opened_at - START for row in tracker.incidents.values()]


def test_a_clock_that_jumps_beside_clocks_that_are_off_is_its_own_incident(
    evaluated, tracker, lay_out, found
):
    layout = lay_out(hosts=[f"host-{number}" for number in range(6)])
    hosts = [layout.host_entity(name) for name in layout.hosts]
    off = [found("host.clock_off", host, 2.0, magnitude=0.5) for host in hosts[1:]]
    evaluated(90, *off, layout=layout)
    evaluated(300, *off, found("host.clock_off", hosts[0], 280.0, magnitude=0.4), layout=layout)
    first, second = tracker.incidents.values()
    assert (5, 280.0) == (len(first.symptoms), second.opened_at - START)
    assert hosts[0] == second.root_cause.hypotheses[0].entity


def test_a_fault_that_begins_beside_a_small_named_one_is_an_incident_of_its_own(
    evaluated, tracker, topology, found, contended
):
    """Pauses of a collector that cost a few per cent, and minutes later a host without CPU time."""
    slow = found("job.slow", topology.job_entity, 40.0, magnitude=1.04, score=0.9)
    pauses = found("job.gc_pauses", topology.job_entity, 40.0)
    for second in range(60, 75):
        evaluated(second, slow, pauses)
    for second in range(300, 320):
        evaluated(second, *contended(290.0), pauses)
    small, large = sorted(tracker.incidents.values(), key=lambda row: row.opened_at)
    assert ("info", "software.gc_pause") == (small.severity, small.root_cause.hypotheses[0].fault)
    assert "host.cpu_contention" == large.root_cause.hypotheses[0].fault
    assert (40.0, 290.0) == (small.opened_at - START, large.opened_at - START)


@pytest.mark.parametrize(
    ("number", "faults"),
    [
        pytest.param(0, ["memory.host_oom"], id="on the host that has none left"),
        pytest.param(3, ["memory.host_oom", "memory.host_leak"], id="on another host"),
    ],
)
def test_growth_that_is_found_after_a_host_ran_out_of_memory(
    evaluated, tracker, found, entity_of, number, faults
):
    killed = found("host.oom_killed", entity_of("host.oom_killed", 0), 280.0)
    crashed = found("job.crashed", entity_of("job.crashed", 0), 285.0)
    grows = found("process.memory_grows", entity_of("process.memory_grows", number), 100.0)
    for second in range(300, 331):
        more = [grows] if second > 325 else []
        evaluated(second, killed, crashed, *more, stepped=280.0)
    assert faults == [row.root_cause.hypotheses[0].fault for row in tracker.incidents.values()]


@pytest.mark.parametrize(
    ("ranks", "stories"),
    [
        pytest.param([0, 1], [("memory.host_oom", 100.0)], id="by none more than by another"),
        pytest.param([0], [("memory.host_leak", 100.0)], id="by one process that leaked"),
        pytest.param(
            [3], [("memory.host_leak", 100.0), ("memory.host_oom", 280.0)], id="on another host"
        ),
    ],
)
def test_memory_that_grows_until_the_kernel_ends_a_process_is_one_incident(
    evaluated, tracker, topology, found, ranks, stories
):
    """It opens as a forecast. Which of the processes is to blame was a guess, the kill is none."""
    host, job = topology.host_entity("host-a"), topology.job_entity
    ended = [
        found("host.oom_killed", host, 280.0),
        found("rank.first_exit", topology.rank_entity(0), 280.0),
        found("job.crashed", job, 280.0),
    ]
    grows = [
        found("process.memory_grows", process(topology, rank), 100.0, score=2.5) for rank in ranks
    ]
    for second in range(200, 330):
        evaluated(second, *grows, *(ended if second > 281 else []), stepped=min(second, 280.0))
    assert stories == sorted(
        (row.root_cause.hypotheses[0].fault, row.opened_at - START)
        for row in tracker.incidents.values()
    )


def process(topology, rank):
    """Return the process of a rank."""
    host = topology.host(rank)
    return Entity("process", f"{host}:{1000 + rank}", host, RankSet((rank,)))


def test_of_ranks_that_become_slow_together_another_one_stands_out_a_moment_later(
    evaluated, tracker, topology, found
):
    """Until it is seen what they share (an expert), that is one trouble and not one a rank."""

    def of(rank, onset):
        return [
            found("job.slow", topology.job_entity, onset),
            found("rank.slow_compute", topology.rank_entity(rank), onset),
            found("rank.waits_least", topology.rank_entity(rank), onset),
        ]

    for now in range(60, 75):
        evaluated(now, *of(1, 40.0))
    for now in range(75, 90):
        evaluated(now, *of(2, 45.0))
    (incident,) = tracker.incidents.values()
    assert "gpu.slow" == incident.root_cause.hypotheses[0].fault
    evaluated(400, *of(3, 380.0))
    assert 2 == len(held(tracker))
