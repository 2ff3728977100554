"""One sentence that says what broke, where, and what people notice."""

import pytest
from tests.alerts.explaining import EVERYTHING

from rankscope.alerts.causes.engine import explain
from rankscope.alerts.summary import sentence
from rankscope.vocabulary import entities
from rankscope.vocabulary.incidents import Symptom


@pytest.fixture
def summary(topology, found):
    """Return a function that returns the sentence for what was found, the symptom first."""

    def name(*findings):
        symptoms = [_symptom(finding) for finding in findings[:1]]
        return sentence(explain(findings, topology, observed=EVERYTHING), symptoms)

    return name


def test_the_cause_and_its_entity_come_before_the_symptom(summary, topology, found):
    stalled = found("job.stalled", topology.job_entity, text="no step has ended for 30 s")
    behind = found("rank.behind_enqueued", topology.rank_entity(2))
    outside = found("rank.outside_collective", topology.rank_entity(2))
    assert "Stuck process: rank 2 on host-b; no step has ended for 30 s" == summary(
        stalled, behind, outside
    )


def test_a_host_is_named_with_its_ranks(summary, topology, found):
    slow = found("job.slow", topology.job_entity, text="steps take 1.4 s")
    ranks = [found("rank.slow_compute", topology.rank_entity(rank)) for rank in (2, 3)]
    waits = found("host.cpu_wait", topology.host_entity("host-b"))
    assert "CPU contention: host host-b (ranks 2, 3); steps take 1.4 s" == summary(
        slow, *ranks, waits
    )


def test_a_device_is_named_with_its_one_rank(summary, topology, found):
    slow = found("job.slow", topology.job_entity, text="steps take 1.4 s")
    rank = found("rank.slow_compute", topology.rank_entity(2))
    least = found("rank.waits_least", topology.rank_entity(2))
    assert "Slow GPU: gpu GPU-2 on host-b (rank 2); steps take 1.4 s" == summary(slow, rank, least)


def _symptom(finding):
    f = finding
    return Symptom(f.kind, f.entity, f.onset[0], f.magnitude, f.detector, f.text, f.ranks)


def test_what_another_device_shows_is_not_what_is_noticed_of_this_one(topology, found):
    """Two devices of a job fail at once: the older symptom belongs to the other's incident."""
    link = found("gpu.nvlink_down", topology.gpu_entity(0), text="NVLinks 0, 1 are down")
    slow = found("job.slow", topology.job_entity, text="steps take 1.4 s")
    rank = found("rank.slow_compute", topology.rank_entity(2))
    cause = explain((slow, rank), topology, observed=EVERYTHING)
    symptoms = [_symptom(link), _symptom(slow)]
    assert sentence(cause, symptoms).startswith("Slow GPU: gpu GPU-2 on host-b (rank 2); steps")
    assert sentence(cause, symptoms[:1]).endswith("; NVLinks 0, 1 are down"), "it has no other"


def test_many_ranks_are_not_listed(summary, found):
    host = entities.host("big", tuple(range(9)))
    silent = found("host.silent", host, text="host big has sent nothing for 20 s")
    assert "Host lost: host big; host big has sent nothing for 20 s" == summary(silent)


def test_an_unknown_cause_is_called_unknown(summary, topology, found):
    slow = found("job.slow", topology.job_entity, text="steps take 1.4 s")
    assert "Cause unknown: steps take 1.4 s" == summary(slow)


def test_who_stands_out_is_said_although_the_cause_is_unknown(summary, topology, found):
    slow = found("job.slow", topology.job_entity, text="steps take 1.4 s", ranks=(2,))
    assert "Cause unknown: rank 2 on host-b stands out; steps take 1.4 s" == summary(slow)


def test_what_makes_a_rank_stand_out_is_said(summary, topology, found):
    slow = found("job.slow", topology.job_entity, text="steps take 1.4 s")
    least = found("rank.waits_least", topology.rank_entity(2), text="rank 2 waits 0.1 s")
    assert (
        "Cause unknown: rank 2 on host-b stands out (rank 2 waits 0.1 s); steps take 1.4 s"
        == summary(slow, least)
    )


def test_several_ranks_that_stand_out_are_listed(summary, topology, found):
    slow = found("job.slow", topology.job_entity, text="steps take 1.4 s", ranks=(1, 2))
    assert "Cause unknown: ranks 1, 2 stand out; steps take 1.4 s" == summary(slow)


def test_evidence_about_the_job_accuses_no_rank(summary, topology, found):
    slow = found("job.slow", topology.job_entity, text="steps take 1.4 s")
    exchange = found("job.slow_collectives", topology.job_entity, text="collectives take 0.1 s")
    assert "Cause unknown: collectives take 0.1 s; steps take 1.4 s" == summary(slow, exchange)


def test_without_a_symptom_the_sentence_still_reads(topology, found):
    cause = explain([found("job.slow", topology.job_entity)], topology, observed=EVERYTHING)
    assert "Cause unknown: no symptom is recorded" == sentence(cause, [])


def test_a_clock_that_is_off_is_not_what_is_noticed_of_unequal_sequences(topology, found):
    off = found("host.clock_off", topology.host_entity("host-a"), 10.0, text="its clock is off")
    tokens = found("job.token_imbalance", topology.job_entity, text="costs 20% of the step")
    cause = explain([tokens], topology, observed=EVERYTHING)
    assert "Sequence length imbalance: job run-1; costs 20% of the step" == sentence(
        cause, [_symptom(off), _symptom(tokens)]
    )
