"""One explanation for each root cause and scope: what is explained is neither accused nor lost."""

import random
from functools import partial

import pytest
from tests.alerts.explaining import EVERYTHING

from rankscope.alerts.causes import candidates, engine, folding, scoring
from rankscope.alerts.causes.catalogue import catalogue
from rankscope.vocabulary import findings as kinds
from rankscope.vocabulary.entities import Entity
from rankscope.vocabulary.ids import Job
from rankscope.vocabulary.topology import JobTopology, RankPlacement


def test_nothing_found_has_no_root(roots):
    assert [] == roots()


def test_evidence_without_a_symptom_has_no_root(roots, hot):
    assert [] == roots(*hot(5))


def test_two_simultaneous_faults_of_one_job_are_two_roots(roots, slow, contended, hot):
    assert {
        ("host.cpu_contention", "host-b", ("job.slow",)),
        ("gpu.thermal_throttle", "GPU-9", ("job.slow",)),
    } == {
        (fault, entity, tuple(s)) for fault, entity, s in roots(slow, *contended("host-b"), *hot(9))
    }


def test_what_a_ranks_slowness_does_to_the_evidence_on_its_host_is_explained(
    roots, slow, contended, wide, found
):
    more = found("rank.waits_least", wide.rank_entity(2))
    assert ["host.cpu_contention"] == [f for f, *_ in roots(slow, *contended("host-b"), more)]


def test_devices_are_idle_since_a_job_never_started_and_else_for_a_reason_of_their_own(
    roots, wide, found
):
    idle = found("job.idle_gpus", wide.job_entity)
    never = found("job.never_started", wide.job_entity, score=3.0)
    both = ["job.idle_gpus", "job.never_started"]
    assert [("software.init_failed", wide.job_entity.id, both)] == roots(never, idle)
    assert [("efficiency.idle_gpu", wide.job_entity.id, ["job.idle_gpus"])] == roots(idle)


@pytest.mark.parametrize(
    ("begun", "score", "held"),
    [
        pytest.param(40.0, 0.9, ["job.stalled"], id="little, and minutes before: sequences grow"),
        pytest.param(290.0, 0.9, ["job.slow", "job.stalled"], id="just before: it begins so"),
        pytest.param(40.0, 1.5, ["job.slow", "job.stalled"], id="enough for a page"),
    ],
)
def test_what_costs_little_and_began_minutes_before_a_hang_is_no_part_of_it(
    roots, wide, found, begun, score, held
):
    """Where no symptom of the hang is found for a moment, the slowness is not put in its place."""
    slow = found("job.slow", wide.job_entity, begun, score=score)
    stuck = found("host.driver_stuck", wide.host_entity("host-b"), 300.0)
    stall = found("job.stalled", wide.job_entity, 310.0)
    named = {fault: symptoms for fault, _, symptoms in roots(slow, stuck, stall)}
    assert held == named["host.driver_hang"]
    alone = [fault for fault, *_ in roots(slow, stuck)]
    assert ("job.slow" in held) == ("host.driver_hang" in alone)


def test_clocks_that_are_off_are_a_root_beside_what_the_job_shows(roots, wide, found):
    rows = [
        found("job.token_imbalance", wide.job_entity, 40.0, score=0.5),
        *(found("host.clock_off", wide.host_entity(f"host-{name}"), score=0.6) for name in "cde"),
    ]
    assert [
        ("balance.sequence_length", wide.job_entity.id, ["job.token_imbalance"]),
        ("host.clock_skew", "host-c", ["host.clock_off"] * 3),
    ] == roots(*rows)


def test_uneven_clocks_from_the_first_step_do_not_hide_a_rank_that_became_slow(
    roots, wide, found, slow
):
    uneven = [
        found("gpu.behind_peers", wide.gpu_entity(rank), -200.0, score=0.9) for rank in (4, 5, 8)
    ]
    alone = found("rank.slow_compute", wide.rank_entity(1), 40.0)
    named = [(fault, entity) for fault, entity, kinds in roots(slow, alone, *uneven)
             if "job.slow" in kinds]  # fmt: skip
    assert [("gpu.slow", "GPU-1")] == named


def test_a_job_stops_only_once(roots, wide, found):
    """Ranks that are behind because they wait for one that is stuck are no second root."""
    behind = [
        found("rank.behind_enqueued", wide.rank_entity(rank), score=score)
        for rank, score in ((2, 3.0), (5, 1.0), (6, 1.0))
    ]
    outside = found("rank.outside_collective", wide.rank_entity(2))
    stalled = found("job.stalled", wide.job_entity)
    assert [("software.stuck_process", "2", ["job.stalled"])] == roots(stalled, *behind, outside)


def test_a_lost_host_explains_that_its_job_stands_still(roots, wide, found):
    rows = [
        found("host.silent", wide.host_entity("host-c"), 40.0),
        found("job.stalled", wide.job_entity, 38.0),
    ]
    assert [("host.lost", "host-c", ["host.silent", "job.stalled"])] == roots(*rows)


def test_two_lost_hosts_are_two_roots(roots, wide, found):
    rows = [found("host.silent", wide.host_entity(host)) for host in ("host-c", "host-f")]
    assert ["host-c", "host-f"] == sorted(entity for _, entity, _ in roots(*rows))


def test_a_crash_soon_after_a_nan_follows_from_it(roots, wide, found):
    rows = [
        found("job.nonfinite", wide.job_entity, 40.0),
        found("rank.first_nonfinite", wide.rank_entity(1), 40.0),
        found("job.crashed", wide.job_entity, 42.0),
        found("rank.first_exit", wide.rank_entity(1), 42.0),
    ]
    assert [("numerics.nan_rank", "1", ["job.crashed", "job.nonfinite"])] == roots(*rows)


@pytest.mark.parametrize(
    ("at", "rank", "faults"),
    [
        pytest.param(340.0, 9, {"network.nic_down", "software.crash"}, id="minutes later"),
        pytest.param(60.0, 9, {"network.nic_down"}, id="soon"),
        pytest.param(340.0, 3, {"network.nic_down"}, id="at its own host"),
    ],
)
def test_a_port_that_is_down_is_not_why_a_rank_elsewhere_crashes_minutes_later(
    roots, slow, wide, found, at, rank, faults
):
    """Where steps go on without it, what broke with it is over."""
    port = Entity("nic", "host-b/mlx5_0:1", "host-b", wide.ranks_of_host("host-b"))
    rows = [
        slow,
        found("job.slow_collectives", wide.job_entity, 40.0),
        found("nic.down", port, 40.0, score=4.0),
        found("job.crashed", wide.job_entity, at),
        found("rank.first_exit", wide.rank_entity(rank), at),
    ]
    assert faults == {fault for fault, _, _ in roots(*rows)}


def test_a_slow_host_and_a_nan_elsewhere_are_two_roots(roots, slow, contended, wide, found):
    nan = [
        found("job.nonfinite", wide.job_entity, 60.0),
        found("rank.first_nonfinite", wide.rank_entity(9), 60.0),
    ]
    assert [
        ("host.cpu_contention", "host-b", ["job.slow"]),
        ("numerics.nan_rank", "9", ["job.nonfinite"]),
    ] == sorted(roots(slow, *contended("host-b"), *nan))


def test_a_symptom_of_unknown_cause_joins_the_root_that_began_with_it(roots, slow, wide, found):
    nan = [
        found("job.nonfinite", wide.job_entity, 60.0),
        found("rank.first_nonfinite", wide.rank_entity(9), 60.0),
    ]
    assert [("numerics.nan_rank", "9", ["job.nonfinite", "job.slow"])] == roots(slow, *nan)


def test_what_makes_a_job_slower_is_not_why_it_stops(roots, wide, found, slow, hot):
    stop = found("job.stalled", wide.job_entity, 60.0)
    limits = [found("gpu.power_limit_low", wide.gpu_entity(9), -200.0, score=1.9)]
    assert [
        ("gpu.power_limited", "GPU-9", ["gpu.power_limit_low"]),
        ("unknown", "run-1", ["job.stalled"]),
    ] == sorted(roots(*limits, stop))
    assert [
        ("gpu.thermal_throttle", "GPU-9", ["job.slow"]),
        ("unknown", "run-1", ["job.stalled"]),
    ] == sorted(roots(slow, *hot(9), stop))


@pytest.mark.parametrize(("score", "count"), [(0.5, 2), (3.0, 1)])
def test_slowness_does_not_join_a_leak_that_is_only_worth_knowing(
    roots, slow, wide, found, score, count
):
    """A leak slows nothing before memory is full: what fills it next week is near everything."""
    process = Entity("process", "host-a:1001", "host-a", wide.ranks_of_host("host-a"))
    leak = found("process.worker_memory_grows", process, 40.0, score=score)
    shown = roots(slow, leak)
    assert count == len(shown)
    assert ("memory.dataloader_leak", "host-a:1001") == shown[0][:2]


def test_ranks_that_end_long_after_a_stall_are_of_the_same_unknown(roots, wide, found):
    rows = [
        found("job.stalled", wide.job_entity, 10.0),
        found("job.crashed", wide.job_entity, 610.0),
    ]
    ((fault, _, symptoms),) = roots(*rows)
    assert ("unknown", ["job.crashed", "job.stalled"]) == (fault, symptoms)


def test_symptoms_of_unknown_cause_far_apart_are_two_unknowns(roots, slow, wide, found):
    nan = found("job.nonfinite", wide.job_entity, 290.0)
    assert [("unknown", ["job.slow"]), ("unknown", ["job.nonfinite"])] == [
        (fault, symptoms) for fault, _, symptoms in roots(slow, nan)
    ]


def test_every_symptom_has_a_root(wide, found, contended, hot):
    entity_of = {
        "job": wide.job_entity,
        "host": wide.host_entity("host-h"),
        "rank": wide.rank_entity(3),
        "gpu": wide.gpu_entity(3),
    }
    symptoms = [kind for kind in kinds.catalogue().values() if kind.symptom]
    everything = [
        *(
            found(kind.kind, entity_of.get(kind.entities[0], wide.job_entity), 40.0 * number)
            for number, kind in enumerate(symptoms)
        ),
        *contended("host-b"),
        *hot(9),
    ]
    rows = engine.explanations(everything, wide, observed=EVERYTHING)
    shown = {symptom.kind for row in rows for symptom in row.symptoms}
    assert {kind.kind for kind in symptoms} == shown


@pytest.mark.parametrize("seed", range(10))
def test_the_order_of_findings_changes_no_root(seed, wide, slow, contended, hot):
    rows = [slow, *contended("host-b"), *contended("host-e"), *hot(9)]
    shuffled = random.Random(seed).sample(rows, len(rows))
    explain = partial(engine.explanations, topology=wide, observed=EVERYTHING)
    assert explain(rows) == explain(shuffled)


class TestUnknownNamesWhoStandsOut:
    """What is known is said although no cause is named."""

    @pytest.fixture
    def first(self, wide):
        def name(*findings):
            (row,) = engine.explanations(findings, wide, observed=EVERYTHING)
            assert "unknown" == row.cause.hypotheses[0].fault
            return row.cause.hypotheses[0]

        return name

    def test_the_rank_that_a_symptom_names(self, first, wide, found):
        hypothesis = first(found("job.slow", wide.job_entity, ranks=(5,)))
        assert wide.rank_entity(5) == hypothesis.entity
        assert "Look at rank 5 on host-c first" in hypothesis.actions[0].text

    def test_the_rank_whose_evidence_stands_out(self, first, wide, found, slow):
        waits = found("rank.waits_least", wide.rank_entity(5), text="rank 5 waits 0.1 s")
        hypothesis = first(slow, waits)
        assert wide.rank_entity(5) == hypothesis.entity
        assert "rank 5 waits 0.1 s" in [row.text for row in hypothesis.evidence]

    def test_a_few_ranks_of_the_job(self, first, wide, found):
        hypothesis = first(found("job.slow", wide.job_entity, ranks=(5, 9)))
        assert ("job", [5, 9]) == (hypothesis.entity.type, list(hypothesis.entity.ranks))

    def test_nobody_where_everybody_does(self, first, wide, found):
        hypothesis = first(found("job.slow", wide.job_entity, ranks=range(12)))
        assert wide.job_entity == hypothesis.entity


class TestSpeed:
    """1,024 slow ranks among 16,384, in counts: what is scored does not grow with the job."""

    @pytest.fixture
    def large(self):
        return JobTopology(
            Job("run-1"),
            placements=[
                RankPlacement(rank, f"host-{rank // 8:04}", hw_id=f"GPU-{rank}")
                for rank in range(16_384)
            ],
        )

    @pytest.fixture
    def thousand(self, large, found):
        ranks = [large.rank_entity(rank) for rank in range(0, 16_384, 16)]
        return [
            found("job.slow", large.job_entity),
            *(found("rank.slow_compute", rank) for rank in ranks),
            *(found("rank.waits_least", rank) for rank in ranks),
        ]

    def test_the_number_of_scored_candidates_is_bounded(self, large, thousand, monkeypatch):
        scored: list[Entity] = []
        real = scoring.terms

        def counted(cause, entity, **more):
            scored.append(entity)
            return real(cause, entity, **more)

        monkeypatch.setattr(scoring, "terms", counted)
        engine.explanations(thousand, large, observed=EVERYTHING)
        rounds = folding.MOST_ROOTS + 2
        causes = sum("job.slow" in cause.symptoms for cause in catalogue().causes)
        assert 0 < len(scored) <= rounds * causes * candidates.MOST_CANDIDATES

    def test_those_with_most_support_are_scored(self, large, thousand, found):
        culprit = [
            found("rank.slow_compute", large.rank_entity(9001), score=9.0),
            found("gpu.throttled", large.gpu_entity(9001), score=9.0),
        ]
        row, *_ = engine.explanations([*thousand, *culprit], large, observed=EVERYTHING)
        named = [h for h in row.cause.hypotheses if h.fault != "unknown"]
        assert ("gpu.thermal_throttle", "GPU-9001") == (named[0].fault, named[0].entity.id)
