"""The same calls give the same documents to the byte; the order within a call has no influence."""

import json
import pickle
import random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.examples import examples

from rankscope.alerts.tracker import IncidentTracker
from rankscope.vocabulary import findings as kinds

KINDS = sorted(kinds.catalogue())
row = st.tuples(
    st.sampled_from(KINDS), st.integers(0, 3), st.integers(0, 100), st.sampled_from([1.0, 3.0])
)
seconds = st.lists(st.lists(row, max_size=8), min_size=1, max_size=12)


def documents(tracker):
    return [json.dumps(incident.document()) for incident in tracker.incidents.values()]


@settings(
    max_examples=examples(80),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(course=seconds, seed=st.integers())
def test_order_within_a_second_and_a_snapshot_between_seconds_change_no_byte(
    course, seed, evaluated, entity_of, found
):
    def make(drawn):
        kind, number, at, score = drawn
        where = entity_of(kind, number)
        return found(kind, where, at, score=score, text=f"{kind} {where} {at} {score}")

    rng = random.Random(seed)
    one, other = IncidentTracker(), IncidentTracker()
    for turn, rows in enumerate(course):
        now = 100 + 15 * turn
        findings = [make(drawn) for drawn in dict.fromkeys(rows)]
        shuffled = rng.sample(findings, len(findings))
        first = evaluated(now, *findings, stepped=90.0, into=one)
        other = pickle.loads(pickle.dumps(other, protocol=5))  # noqa: S301  our own bytes
        assert first == evaluated(now, *shuffled, stepped=90.0, into=other)
    assert documents(one) == documents(other)
