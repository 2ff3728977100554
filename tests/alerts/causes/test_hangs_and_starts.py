"""Which cause is first for jobs that hang, or never start, by what their collectives show."""

import pytest
from tests.alerts.explaining import EVERYTHING

from rankscope.alerts.causes import engine


@pytest.fixture
def first(topology, found):
    """Return a function: the first cause and its entity, by a symptom and evidence on a rank."""

    def answer(symptom, *evidence):
        rows = [found(symptom, topology.job_entity)]
        for kind in evidence:
            job = kind.startswith("job.")
            rows.append(found(kind, topology.job_entity if job else topology.rank_entity(2)))
        best = engine.explain(rows, topology, observed=EVERYTHING).hypotheses[0]
        return best.fault, best.entity.type

    return answer


@pytest.mark.parametrize(
    ("evidence", "answer"),
    [
        (["rank.behind_enqueued", "rank.idle_process"], ("software.stuck_process", "rank")),
        (["rank.other_collective"], ("software.collective_mismatch", "rank")),
        (["rank.steps_alone", "rank.behind_enqueued"], ("software.collective_mismatch", "rank")),
        (["rank.left_loop", "rank.behind_enqueued"], ("software.uneven_batches", "rank")),
        (["job.waits_in_circle", "rank.behind_enqueued"], ("software.deadlock", "job")),
    ],
)
def test_a_hang_is_named_by_who_does_what(first, evidence, answer):
    assert answer == first("job.stalled", *evidence)


def test_everybody_inside_one_collective_accuses_no_process(first):
    assert "software" not in first("job.stalled", "job.inside")[0]


def test_a_crash_before_the_first_step_is_a_start_that_failed(first):
    assert ("software.init_failed", "job") == first("job.crashed", "job.no_step", "rank.first_exit")
    assert ("software.crash", "rank") == first("job.crashed", "rank.first_exit")


def test_a_library_version_that_was_refused_is_why_a_start_failed(topology, found):
    rows = [found(kind, topology.job_entity) for kind in ("job.crashed", "job.no_step")]
    rows += [
        found("rank.first_exit", topology.rank_entity(2)),
        found("host.version_refused", topology.host_entity("host-b")),
    ]
    best = engine.explain(rows, topology, observed=EVERYTHING).hypotheses[0]
    assert ("host.config_drift", "host-b") == (best.fault, best.entity.id)


def test_a_job_that_waits_without_a_step_failed_to_start(first):
    assert ("software.init_failed", "job") == first("job.never_started", "job.ranks_missing")
