"""Learnt priors belong to the live collector: a snapshot leaves them out, so does a replay."""

import pickle

import pytest

from rankscope.alerts.causes.catalogue import catalogue
from rankscope.collector.pipeline import priors
from rankscope.collector.pipeline.pipeline import DetectionPipeline
from rankscope.collector.pipeline.priors import CatalogueInUse
from rankscope.vocabulary.ids import Fault

CABLE = Fault("network.cable_errors")


def share(knowledge):
    (found,) = [cause for cause in knowledge.causes if cause.fault == CABLE]
    return found.share if found.learnt is None else found.learnt.value


def test_what_is_learnt_replaces_what_was_learnt_before():
    known = CatalogueInUse({CABLE: 5})
    assert share(known()) > share(catalogue())
    known.learn({})
    assert catalogue() == known()


def test_a_pipeline_uses_the_catalogue_as_it_ships_unless_it_is_given_another():
    """A replay makes its pipeline like this."""
    assert DetectionPipeline().priors is None


def test_a_snapshot_leaves_them_out_and_the_next_process_brings_its_own():
    running = DetectionPipeline()
    running.priors = CatalogueInUse({CABLE: 5})
    loaded = pickle.loads(pickle.dumps(running))  # noqa: S301  our own
    assert loaded.priors is None
    started = DetectionPipeline()
    started.priors = CatalogueInUse({CABLE: 1})
    loaded.resume(started)
    assert started.priors is loaded.priors


def test_they_are_compared_for_every_fault_of_the_catalogue():
    rows = list(priors.compared({CABLE: 1}))
    assert sorted(cause.fault for cause in catalogue().causes) == [row.fault for row in rows]
    (row,) = [row for row in rows if row.confirmed]
    assert (CABLE, 1) == (row.fault, row.confirmed)
    assert row.learnt == pytest.approx((1 + 50 * row.catalogue) / 51)
