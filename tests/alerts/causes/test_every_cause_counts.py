"""Every fault: its entry, its runbook, its case in the laboratory, its evidence."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.alerts.explaining import EVERYTHING
from tests.vocabulary import contract

from rankscope.alerts.causes import ranking
from rankscope.alerts.causes.catalogue import catalogue
from rankscope.alerts.causes.index import FindingIndex
from rankscope.alerts.causes.view import JobView
from rankscope.lab.simulator.faults import FAULTS
from rankscope.vocabulary import faults
from rankscope.vocabulary import findings as kinds

RUNBOOKS = Path(__file__).resolve().parents[3] / "docs" / "runbooks"
EVERY = pytest.mark.parametrize("cause", catalogue().causes, ids=lambda cause: cause.fault)


@pytest.fixture
def evidence(entity_of, found):
    """Return a function that returns everything that a cause predicts, a symptom among it."""

    def make(cause):
        number = cause.only_ranks[0] if cause.only_ranks else 3
        wanted = {prediction.finding for prediction in cause.predicts}
        if not wanted & set(cause.symptoms):
            wanted.add(cause.symptoms[0])
        return [found(kind, entity_of(kind, number)) for kind in sorted(wanted)]

    return make


@pytest.fixture
def best(topology):
    """Return a function that returns the score of a cause's best candidate, None for none."""

    def score(cause, findings):
        index = FindingIndex(findings, topology)
        if not index.symptoms:
            return None
        view = JobView(topology, EVERYTHING)
        rows = ranking.ranking(index, index.symptoms, view, catalogue())
        return max(
            (row.score for row in rows.candidates if row.cause.fault == cause.fault), default=None
        )

    return score


def essential(cause):
    """Return the findings without which a cause is none, else the one that weighs most."""
    names = {p.finding for p in cause.predicts if p.essential or p.any in cause.essential_any}
    most = max(cause.predicts, key=lambda prediction: prediction.present)
    return names or {most.finding}


@pytest.mark.parametrize("fault", sorted(set(faults.catalogue()) - {faults.UNKNOWN}))
def test_a_fault_has_an_entry_and_a_runbook(fault):
    assert fault in {cause.fault for cause in catalogue().causes}
    assert (RUNBOOKS / f"{fault}.md").exists()


@pytest.mark.parametrize("fault", sorted(set(contract.FAULTS) - {faults.UNKNOWN}))
def test_a_fault_of_the_contract_has_a_case_in_the_laboratory(fault):
    assert fault in {kind.id for kind in FAULTS.values()}


@EVERY
def test_with_all_its_evidence_it_beats_unknown(cause, evidence, best, topology):
    found = evidence(cause)
    index = FindingIndex(found, topology)
    view = JobView(topology, EVERYTHING)
    unknown = ranking.ranking(index, index.symptoms, view, catalogue()).unknown
    assert best(cause, found) > unknown.score


@EVERY
def test_without_its_essential_evidence_its_score_falls_or_it_is_no_candidate(
    cause, evidence, best
):
    found = evidence(cause)
    without = [row for row in found if row.kind not in essential(cause)]
    after = best(cause, without)
    assert after is None or after < best(cause, found)


@EVERY
def test_what_contradicts_it_lowers_its_score(cause, evidence, best, entity_of, found):
    rows = evidence(cause)
    number = cause.only_ranks[0] if cause.only_ranks else 3
    held = {row.kind for row in rows}
    for prediction in cause.contradicts:
        if prediction.finding not in held:
            against = found(prediction.finding, entity_of(prediction.finding, number))
            assert best(cause, [*rows, against]) <= best(cause, rows)


@EVERY
def test_taking_away_any_piece_of_its_evidence_never_raises_its_score(cause, evidence, best):
    """What supports it, piece by piece; a symptom says what is to be explained, and is none.

    Each piece is a reading of its own: of one reading the largest weight counts. What is found on a
    rank and what is found of the whole job are about two places: here it is the rank.
    """
    ranks = any(kinds.catalogue()[kind].entities[0] == "rank" for kind in cause.covers)
    rows = [
        replace(row, observed=row.magnitude + number)
        for number, row in enumerate(evidence(cause))
        if kinds.catalogue()[row.kind].symptom or not (ranks and row.entity.type == "job")
    ]
    supports = {
        prediction.finding
        for prediction in cause.predicts
        if prediction.present > 0 and not kinds.catalogue()[prediction.finding].symptom
    }
    whole = best(cause, rows)
    for kind in sorted(supports):
        after = best(cause, [row for row in rows if row.kind != kind])
        assert after is None or after <= whole + 1e-9, kind
