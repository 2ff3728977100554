"""One sentence that says what broke, where, and what people notice."""

import pytest

from rankscope.alerts.causes.engine import explain
from rankscope.alerts.summary import sentence
from rankscope.vocabulary import entities
from rankscope.vocabulary.incidents import Symptom


@pytest.fixture
def valid(places, found):
    """Return a function that reports the sentence for what was found, the symptom first."""

    def tell(*findings):
        symptoms = [
            Symptom(f.kind, f.entity, f.onset[0], f.magnitude, f.detector, f.text)
            for f in findings[:1]
        ]
        return sentence(explain(findings, places), symptoms)

    return tell


def test_the_cause_and_its_place_come_before_the_symptom(valid, places, found):
    stalled = found("job.stalled", places.job, text="no step has ended for 30 s")
    behind = found("rank.behind_enqueued", places.rank_entity(2))
    outside = found("rank.outside_collective", places.rank_entity(2))
    assert "Stuck process: rank 2 on host-b; no step has ended for 30 s" == valid(
        stalled, behind, outside
    )


def test_a_host_is_told_with_its_ranks(valid, places, found):
    slow = found("job.slow", places.job, text="steps take 1.4 s")
    ranks = [found("rank.slow_compute", places.rank_entity(rank)) for rank in (2, 3)]
    waits = found("host.cpu_wait", places.hosts["host-b"])
    assert "CPU contention: host host-b (ranks 2, 3); steps take 1.4 s" == valid(
        slow, *ranks, waits
    )


def test_a_device_is_told_with_its_one_rank(valid, places, found):
    slow = found("job.slow", places.job, text="steps take 1.4 s")
    rank = found("rank.slow_compute", places.rank_entity(2))
    assert "Slow GPU: gpu GPU-2 on host-b (rank 2); steps take 1.4 s" == valid(slow, rank)


def test_many_ranks_are_not_listed(valid, found):
    host = entities.host("big", tuple(range(9)))
    silent = found("host.silent", host, text="host big has said nothing for 20 s")
    assert "Host lost: host big; host big has said nothing for 20 s" == valid(silent)


def test_an_unknown_cause_is_said_to_be_unknown(valid, places, found):
    slow = found("job.slow", places.job, text="steps take 1.4 s")
    assert "Cause unknown: steps take 1.4 s" == valid(slow)


def test_without_a_symptom_the_sentence_still_reads(places, found):
    cause = explain([found("job.slow", places.job)], places)
    assert "Cause unknown: something is wrong" == sentence(cause, [])
