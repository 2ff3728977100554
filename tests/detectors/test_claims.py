"""What rests on events alone whose senders nobody could check."""

import numpy as np
import pytest

from rankscope.detectors import claims
from rankscope.detectors.liveness.exits import ExitsDetector
from rankscope.detectors.sketch import START, sketch
from rankscope.vocabulary.samples import CLAIMED, Event, TelemetryResource


@pytest.fixture
def found():
    """Return a function for what is marked of the ends of ranks: by rank, whether it is claimed."""

    def marked(*ends):
        events = [
            Event(
                "process.exit",
                START + 60.0 + rank / 10,
                {"rank": rank, "exit_code": 1, **(CLAIMED if claimed else {})},
                TelemetryResource("host-0", "example"),
            )
            for rank, claimed in ends
        ]
        window = sketch(np.full((4, 60), 0.8), events=events)
        return {one.kind: one for one in claims.marked(window, ExitsDetector().evaluate(window))}

    return marked


def test_an_end_that_is_only_claimed_marks_what_is_made_of_it(found):
    made = found((0, True))
    assert {"job.crashed": True, "rank.first_exit": True} == {
        kind: finding.claimed for kind, finding in made.items()
    }
    assert all(finding.text.endswith("(claimed, not checked)") for finding in made.values())


def test_one_that_was_checked_is_enough(found):
    made = found((0, True), (1, False))
    assert {"job.crashed": False, "rank.first_exit": True} == {
        kind: finding.claimed for kind, finding in made.items()
    }


def test_what_was_checked_stays_as_it_is(found):
    window = sketch(np.full((4, 60), 0.8))
    (first, *_) = found((0, False)).values()
    assert (first,) == claims.marked(window, [first])
    assert not first.claimed
