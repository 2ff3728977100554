"""What rests on events alone whose senders nobody could check."""

import numpy as np
import pytest

from rankscope.detectors import claims
from rankscope.detectors.liveness.exits import ExitsDetector
from rankscope.detectors.sketch import START, sketch
from rankscope.vocabulary.samples import CLAIMED, Event, TelemetryResource


def found(*ends, now=None):
    """Return what is marked of the ends of ranks: by rank, whether it is claimed."""
    events = [
        Event(
            "process.exit",
            START + 60.0 + rank / 10,
            {"rank": rank, "exit_code": 1, **(CLAIMED if claimed else {})},
            TelemetryResource("host-0", "example"),
        )
        for rank, claimed in ends
    ]
    window = sketch(np.full((4, 60), 0.8), events=events, now=now)
    return {one.kind: one for one in claims.marked(window, ExitsDetector().evaluate(window))}


def test_an_end_that_is_only_claimed_marks_what_is_made_of_it():
    made = found((0, True))
    assert {"job.crashed": True, "rank.first_exit": True} == {
        kind: finding.claimed for kind, finding in made.items()
    }
    assert all(finding.text.endswith("(claimed, not checked)") for finding in made.values())


def test_one_that_was_checked_is_enough():
    made = found((0, True), (1, False))
    assert {"job.crashed": False, "rank.first_exit": True} == {
        kind: finding.claimed for kind, finding in made.items()
    }


def test_what_was_checked_stays_as_it_is():
    window = sketch(np.full((4, 60), 0.8))
    (first, *_) = found((0, False)).values()
    assert (first,) == claims.marked(window, [first])
    assert not first.claimed


@pytest.mark.parametrize(("after", "claimed"), [(20.0, True), (40.0, False)])
def test_ends_are_believed_once_no_step_of_the_job_ends_any_more(after, claimed):
    """Whoever claims them can feign no silence of other ranks."""
    made = found((0, True), now=START + 60.0 + after)
    assert {claimed} == {finding.claimed for finding in made.values()}


def test_time_alone_shows_that_a_job_stands():
    window = sketch(np.full((4, 60), 0.8))
    claimed, checked = found((0, True)).values(), found((0, False)).values()
    assert window.now + claims.AGAIN_SECONDS == claims.due(window, claimed)
    assert np.inf == claims.due(window, checked)
