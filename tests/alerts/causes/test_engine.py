"""The log-odds engine: every term shown, deterministic, and honest where evidence is missing."""

import random
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.alerts.explaining import explain, named
from tests.examples import examples

from rankscope.alerts.causes.catalogue import catalogue
from rankscope.vocabulary import faults
from rankscope.vocabulary import findings as kinds

SYMPTOMS = [kind.kind for kind in kinds.catalogue().values() if kind.symptom]
EVIDENCE = [kind.kind for kind in kinds.catalogue().values() if not kind.symptom]
ANY = settings(
    max_examples=examples(60),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@st.composite
def wholes(draw):
    """Draw what was found: (kind, number of its entity, seconds, score), a symptom first."""
    seconds = st.integers(0, 100)
    scores = st.sampled_from([1.0, 3.0])
    symptom = st.tuples(st.sampled_from(SYMPTOMS), st.integers(0, 3), seconds, scores)
    symptoms = draw(st.lists(symptom, min_size=1, max_size=3))
    shown = {kind for kind, *_ in symptoms}
    predicted = sorted(
        {
            prediction.finding
            for cause in catalogue().causes
            if shown & set(cause.symptoms)
            for prediction in (*cause.predicts, *cause.contradicts)
        }
        & set(EVIDENCE)
    )
    row = st.tuples(st.sampled_from(predicted or EVIDENCE), st.integers(0, 3), seconds, scores)
    return [*symptoms, *draw(st.lists(row, max_size=12))]


@pytest.fixture
def somewhere(entity_of, found):
    """Return a function that turns a drawn row into a finding of the job of four ranks."""

    def make(row):
        kind, number, at, score = row
        where = entity_of(kind, number)
        return found(kind, where, at, score=score, text=f"{kind} {where} {at} {score}")

    return make


def test_each_fault_of_the_demo_is_first_and_at_its_entity(fault, topology):
    findings, right = fault
    assert right == named(explain(findings, topology))


def test_the_first_cause_is_sure_by_its_lead_over_the_second(contention, topology):
    cause = explain(contention, topology)
    second = max(cause.hypotheses[1].score, cause.unknown.score)
    assert cause.hypotheses[0].score - second >= 3
    assert ["high", "low"] == [row.confidence for row in cause.hypotheses[:2]]


@ANY
@given(rows=wholes())
def test_a_score_is_the_sum_of_the_weights_it_shows(rows, somewhere, topology):
    cause = explain([somewhere(row) for row in rows], topology)
    for hypothesis in cause.hypotheses:
        assert hypothesis.score == pytest.approx(sum(e.weight for e in hypothesis.evidence))


@ANY
@given(rows=wholes())
@example(
    rows=[
        ("host.driver_unresponsive", 0, 0, 1.0),
        ("job.never_started", 0, 0, 1.0),
        ("host.version_refused", 0, 0, 1.0),
    ]
)
def test_hypotheses_are_ordered_numbered_and_bounded(rows, somewhere, topology):
    cause = explain([somewhere(row) for row in rows], topology)
    scores = [hypothesis.score for hypothesis in cause.hypotheses]
    best: dict[str, float] = {}
    for row in cause.hypotheses:  # another place of one fault comes after other faults
        best.setdefault(row.fault, row.score)
    assert sorted(best.values(), reverse=True) == pytest.approx(list(best.values()))
    assert list(range(1, len(scores) + 1)) == [h.rank for h in cause.hypotheses]
    assert 1 <= len(scores) <= 5
    assert 0 <= cause.data_quality.coverage <= 1
    assert "provisional" == cause.status


@ANY
@given(rows=wholes())
def test_signs_of_one_physical_thing_stay_within_the_cap_of_their_family(rows, somewhere, topology):
    cap = catalogue().weights.family_cap
    for hypothesis in explain([somewhere(row) for row in rows], topology).hypotheses:
        total: dict[str, float] = {}
        for term in hypothesis.evidence:
            total[term.family] = total.get(term.family, 0.0) + term.weight
        for family in set(total) & {kind.family for kind in kinds.catalogue().values()}:
            assert abs(total[family]) <= cap + 1e-9, family


@ANY
@given(rows=wholes(), seed=st.integers())
def test_the_order_of_findings_changes_nothing(rows, seed, somewhere, topology):
    findings = [somewhere(row) for row in rows]
    shuffled = random.Random(seed).sample(findings, len(findings))
    assert explain(findings, topology) == explain(shuffled, topology)


@ANY
@given(rows=wholes())
def test_a_cause_points_only_at_what_its_fault_may_point_at(rows, somewhere, topology):
    for hypothesis in explain([somewhere(row) for row in rows], topology).hypotheses:
        assert hypothesis.entity.type in faults.catalogue()[hypothesis.fault].entities


def test_other_names_of_hosts_and_ranks_change_only_the_names(fault, topology, lay_out):
    findings, (fault, _, _) = fault
    hosts = {"host-a": "zebra", "host-b": "ant"}
    elsewhere = lay_out(hosts=tuple(hosts.values()))

    def renamed(entity):
        if entity.type == "host":
            return elsewhere.host_entity(hosts[entity.id])
        return replace(entity, host=hosts[entity.host]) if entity.host else entity

    before = explain(findings, topology)
    after = explain([replace(f, entity=renamed(f.entity)) for f in findings], elsewhere)

    assert fault == after.hypotheses[0].fault
    assert renamed(before.hypotheses[0].entity) == after.hypotheses[0].entity
    assert before.hypotheses[0].score == pytest.approx(after.hypotheses[0].score)


def test_the_culprit_is_found_under_any_number(topology, found):
    for rank in topology.ranks:
        findings = [
            found("job.stalled", topology.job_entity),
            found("rank.behind_enqueued", topology.rank_entity(rank)),
            found("rank.outside_collective", topology.rank_entity(rank)),
        ]
        assert str(rank) == explain(findings, topology).hypotheses[0].entity.id


@pytest.mark.parametrize("kind", EVIDENCE)
def test_an_irrelevant_finding_changes_nothing_about_the_first_cause(
    fault, topology, somewhere, kind
):
    findings, right = fault
    shown = {f.kind for f in findings if kinds.catalogue()[f.kind].symptom}
    predicted = {
        prediction.finding
        for cause in catalogue().causes
        if shown & set(cause.symptoms)
        for prediction in (*cause.predicts, *cause.contradicts)
    }
    if kind in predicted:
        assert kind in kinds.catalogue()  # relevant here: the other tests are about it
        return
    more = explain([*findings, somewhere((kind, 0, 40.0, 3.0))], topology)
    assert right == named(more)
    assert explain(findings, topology).hypotheses[0].score == more.hypotheses[0].score


def test_without_its_evidence_the_culprit_scores_lower(fault, topology):
    findings, right = fault
    whole = explain(findings, topology).hypotheses[0].score
    for missing in {finding.kind for finding in findings[1:]}:
        rest = explain([f for f in findings if f.kind != missing], topology)
        left = [h.score for h in rest.hypotheses if (h.fault, h.entity.type, h.entity.id) == right]
        assert all(score < whole for score in left), missing


def test_the_check_that_separates_the_two_leading_causes_comes_first(topology, found):
    rank = topology.rank_entity(2)
    cause = explain(
        [
            found("job.slow", topology.job_entity),
            found("rank.slow_compute", rank),
            found("gpu.throttled", topology.gpu_entity(2)),
        ],
        topology,
    )
    leading = {h.fault for h in cause.hypotheses[:2]}
    assert leading <= set(cause.next_checks[0].separates)
