"""Ranks that a launcher asked to end after one had ended by itself are no suspects."""

import numpy as np

from rankscope.detectors.liveness.exits import ExitsDetector
from rankscope.detectors.sketch import START, sketch
from rankscope.vocabulary.samples import Event


def named(*events):
    """Return the rank that ended first."""
    window = sketch(np.full((4, 60), 0.8), events=events, now=START + 70)
    findings = ExitsDetector().evaluate(window)
    return [one.entity.id for one in findings if one.kind == "rank.first_exit"]


def cut(rank, at):
    return Event("log.fault", START + at, {"rank": rank, "role": "cascade"})


def ended(rank, at, **how):
    return Event("process.exit", START + at, {"rank": rank, **how})


def test_a_rank_that_logged_a_lost_connection_is_first_where_all_others_were_asked_to_end():
    events = [
        cut(3, 59.0), ended(3, 60.0, exit_code=1), cut(0, 60.05), cut(2, 60.05),
        ended(0, 60.1, signal=15), ended(1, 60.15, signal=15), ended(2, 60.2, signal=15),
    ]  # fmt: skip
    assert ["3"] == named(*events)


def test_a_rank_that_was_asked_to_end_before_its_peers_lost_it_is_first():
    events = [
        ended(1, 60.0, signal=15), cut(0, 60.1), cut(2, 60.1), cut(3, 60.1),
        ended(0, 60.3, exit_code=1), ended(2, 60.3, exit_code=1), ended(3, 60.3, exit_code=1),
    ]  # fmt: skip
    assert ["1"] == named(*events)
