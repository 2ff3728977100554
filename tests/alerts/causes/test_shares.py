"""Shares that people's feedback moves: visible, bounded, and the same for the same counts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.alerts.explaining import EVERYTHING

from rankscope.alerts.causes import engine, shares
from rankscope.alerts.causes.catalogue import catalogue
from rankscope.alerts.causes.ranking import shift
from rankscope.vocabulary.ids import Fault

CABLE, CPU = Fault("network.cable_errors"), Fault("host.cpu_contention")
OWN = {cause.fault: cause.share for cause in catalogue().causes}


def test_the_share_is_the_catalogues_and_the_confirmed_ones_by_their_number():
    share = shares.learnt({CABLE: 0.014, CPU: 0.1}, {CABLE: 3, CPU: 9})(CABLE)
    assert share is not None
    assert (3 + 50 * 0.014) / 62 == pytest.approx(share.value)
    assert "catalogue 1.4%, with 3 of 12 incidents confirmed here 6.0%" == share.text


def test_what_was_never_confirmed_becomes_rarer_where_others_were():
    share = shares.learnt({CABLE: 0.02, CPU: 0.1}, {CPU: 50})(CABLE)
    assert share is not None
    assert 0.01 == pytest.approx(share.value)


def test_without_feedback_every_share_is_the_catalogues():
    learnt = shares.learnt(OWN, {})
    assert [None] * len(OWN) == [learnt(fault) for fault in OWN]
    assert catalogue().causes == catalogue().with_shares(learnt).causes
    assert {0.0} == {shift(cause) for cause in catalogue().causes}


def test_a_fault_that_the_catalogue_lacks_has_no_share():
    assert shares.learnt(OWN, {CABLE: 1})(Fault("unknown")) is None


@given(own=st.floats(1e-4, 0.3), count=st.integers(0, 10**6), others=st.integers(0, 10**6))
def test_no_number_of_confirmed_incidents_leaves_the_bounds(own, count, others):
    value = shares.mean(own, count, count + others)
    assert own / shares.MOST_FACTOR <= value <= min(own * shares.MOST_FACTOR, shares.MOST_SHARE)


@given(own=st.floats(1e-4, 0.3), count=st.integers(0, 1000), others=st.integers(0, 1000))
def test_one_more_confirmed_incident_never_makes_a_fault_rarer(own, count, others):
    before = shares.mean(own, count, count + others)
    assert shares.mean(own, count + 1, count + others + 1) >= before - 1e-12


def test_the_prior_of_the_hypothesis_moves_and_says_why(contended, topology):
    known = catalogue()
    learnt = known.with_shares(shares.learnt(OWN, {CPU: 20}))
    found = {
        name: engine.explain(contended(), topology, observed=EVERYTHING, knowledge=knowledge)
        for name, knowledge in (("before", known), ("after", learnt))
    }
    priors = {}
    for name, cause in found.items():
        first = cause.hypotheses[0]
        assert CPU == first.fault
        (priors[name],) = [row for row in first.evidence if row.family == "prior"]
    (row,) = [row for row in learnt.causes if row.fault == CPU]
    moved = priors["after"].weight - priors["before"].weight
    assert shift(row) > 0
    assert moved == pytest.approx(shift(row))
    assert "of incidents" in priors["before"].text
    assert "with 20 of 20 incidents confirmed here" in priors["after"].text
