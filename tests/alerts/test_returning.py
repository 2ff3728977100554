"""A fault that comes and goes is one incident: reopened, not announced again each time."""

import pytest

START = 1_700_000_000.0


def notices(changes):
    return [change.kind.removeprefix("incident.") for change in changes if change.notify]


def test_a_rhythm_of_eighty_seconds_is_one_incident_with_few_notices(evaluated, tracker, contended):
    """For fifteen minutes 40 s slow, 40 s well: there were eleven incidents and 21 notices."""
    changes = []
    for now in range(40, 940):
        begun = 40 + (now - 40) // 80 * 80
        bad = (now - begun) < 40
        changes += evaluated(now, *(contended(begun) if bad else ()))
    for now in range(940, 1600):
        changes += evaluated(now)
    assert 1 == len(tracker.incidents)
    assert ["opened", "resolved", "updated", "resolved"] == notices(changes)


def test_the_same_root_that_returns_reopens_its_incident(evaluated, tracker, contended):
    evaluated(60, *contended())
    evaluated(95)
    (change,) = evaluated(300, *contended(280.0))
    assert ("incident.updated", "open", None) == (
        change.kind, change.incident.status, change.incident.resolved_at,
    )  # fmt: skip
    assert change.notify, "it was said to be over"
    assert "reopened" in [moment.kind for moment in change.incident.timeline]
    assert tracker.has_open(change.incident.job)


def test_another_root_is_another_incident(evaluated, tracker, contended):
    evaluated(60, *contended(host="host-b"))
    evaluated(95)
    (change,) = evaluated(300, *contended(280.0, host="host-a"))
    assert "incident.opened" == change.kind
    assert 2 == len(tracker.incidents)


def test_each_return_asks_for_a_longer_calm(evaluated, contended):
    lasted = []
    now = 0
    for _ in range(6):
        evaluated(now + 20, *contended(now))
        end = next(s for s in range(now + 21, now + 2000) if evaluated(s))
        lasted.append(end - now - 20)
        now = end + 10
    assert [30, 60, 120, 240, 480, 600] == lasted


def test_a_cause_that_moves_to_another_host_is_a_trouble_of_its_own(evaluated, tracker, contended):
    for now in range(60, 75):
        evaluated(now, *contended(host="host-b"))
    for now in range(75, 140):
        evaluated(now, *contended(70.0, host="host-a"))
    assert {"host-b": "resolved", "host-a": "open"} == {
        row.root_cause.hypotheses[0].entity.id: row.status for row in tracker.incidents.values()
    }


@pytest.mark.parametrize(
    ("compiles_from", "opened"),
    [
        (200.0, {"host.cpu_contention": 40.0, "software.recompile": 200.0}),
        (50.0, {"host.cpu_contention": 40.0}),
    ],
)
def test_a_cause_that_begins_once_the_first_one_is_over_is_a_trouble_of_its_own(
    evaluated, tracker, topology, found, contended, compiles_from, opened
):
    """The slowness is one symptom with one onset; what compiled only later did not begin it."""
    slow = found("job.slow", topology.job_entity)
    for now in range(60, 75):
        evaluated(now, *contended())
    evaluated(110)
    evaluated(190, slow)  # it is back, and nothing says why
    compiled = found("job.recompiles", topology.job_entity, compiles_from, score=9.0)
    for now in range(210, 240):
        evaluated(now, slow, compiled)
    assert opened == {
        row.root_cause.hypotheses[0].fault: row.opened_at - START
        for row in tracker.incidents.values()
    }


@pytest.mark.parametrize("attempt", [1, 2])
def test_a_crash_of_the_same_rank_in_the_next_attempt_is_the_same_incident(
    evaluated, tracker, topology, found, attempt
):
    def crash(begun, number):
        return [
            found("job.crashed", topology.job_entity, begun, attempt=number),
            found("rank.first_exit", topology.rank_entity(3), begun, attempt=number),
        ]

    evaluated(60, *crash(55.0, 0), stepped=54.0)
    evaluated(120, *crash(115.0, attempt), stepped=114.0, attempt=attempt)
    assert 1 == len(tracker.incidents)


def test_a_step_that_goes_non_finite_again_reopens_the_incident_under_its_cause(
    evaluated, tracker, topology, found
):
    """What the first attempt took for a rank's fault was the data of that step."""

    def spoilt(rank, begun, number, *more):
        return [
            found("job.nonfinite", topology.job_entity, begun, attempt=number),
            found("rank.first_nonfinite", topology.rank_entity(rank), begun, attempt=number),
            *(found(kind, topology.job_entity, begun, attempt=number) for kind in more),
        ]

    for now in range(60, 80):
        evaluated(now, *spoilt(3, 60, 0))
    (first,) = tracker.incidents.values()
    assert "numerics.nan_rank" == first.root_cause.hypotheses[0].fault
    for now in range(120, 160):
        evaluated(now, attempt=1)
    for now in range(200, 215):
        evaluated(now, *spoilt(1, 200, 1, "job.nonfinite_repeated"), attempt=1)
    (again,) = tracker.incidents.values()
    assert "numerics.nan_data" == again.root_cause.hypotheses[0].fault
    assert "job" == again.root_cause.hypotheses[0].entity.type
