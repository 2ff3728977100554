"""What speaks for a cause and what against it: found, missing, contradicted, too late."""

from dataclasses import replace

import pytest
from tests.alerts.explaining import EVERYTHING, explain, named

from rankscope.alerts.causes.catalogue import catalogue
from rankscope.vocabulary.topology import JobTopology, RankPlacement


def test_evidence_that_nobody_reports_is_missing_and_not_absent(contention, topology):
    blind = EVERYTHING - {"process.cpu.wait", "system.pressure"}
    slow = [f for f in contention if f.kind != "host.cpu_wait"]

    seen = explain(slow, topology).hypotheses[0]
    unseen = explain(slow, topology, observed=blind)

    assert "host.cpu_contention" == unseen.hypotheses[0].fault
    term = next(e for e in unseen.hypotheses[0].evidence if e.family == "run_queue")
    assert ("missing", 0.0) == (term.relation, term.weight)
    assert term.text.startswith("not observable: no source reports process.cpu.wait")
    assert "run_queue" not in {e.family for e in seen.evidence}, "one sign of CPU is enough"
    assert "process.cpu.wait" in unseen.data_quality.missing
    assert unseen.data_quality.coverage < 1


@pytest.fixture
def lenient():
    """Return two causes, of which contention is a candidate even without a sign of the CPU."""
    whole, two = catalogue(), ("host.cpu_contention", "gpu.slow")
    causes = (replace(c, essential_any=()) for c in whole.causes if c.fault in two)
    return replace(whole, causes=tuple(causes))


def test_extra_work_of_another_rank_is_no_fault_of_rank_0(topology, found):
    rows = [
        found("job.slow", topology.job_entity, magnitude=1.4),
        found("rank.extra_work", topology.rank_entity(2)),
    ]
    named_faults = {row.fault for row in explain(rows, topology).hypotheses}
    assert not {fault for fault in named_faults if fault.startswith("balance.rank0")}


def test_contention_without_one_sign_of_the_cpu_is_never_named(contention, topology, proven):
    slow = [f for f in contention if not f.kind.startswith("host.")]
    for observed in (EVERYTHING, EVERYTHING - {"process.cpu.wait", "system.cpu.utilization"}):
        cause = explain(slow, topology, observed=observed)
        assert "host.cpu_contention" not in proven(cause)


def test_evidence_expected_and_not_found_speaks_against_a_cause(contention, topology, lenient):
    slow = [f for f in contention if not f.kind.startswith("host.")]
    cause = explain(slow, topology, knowledge=lenient)
    host = next(h for h in cause.hypotheses if h.fault == "host.cpu_contention")
    against = [e for e in host.evidence if e.relation == "contradicts" and e.family == "run_queue"]
    assert [-2.5] == [e.weight for e in against]
    assert against[0].text.startswith("expected, not found: processes of the job")


def test_signs_that_stand_for_each_other_are_missed_once(contention, topology, lenient):
    slow = [f for f in contention if not f.kind.startswith("host.")]
    cause = explain(slow, topology, knowledge=lenient)
    host = next(h for h in cause.hypotheses if h.fault == "host.cpu_contention")
    cpu = {"run_queue", "quota", "steal", "host_load"}
    assert 1 == sum(e.family in cpu and e.weight < 0 for e in host.evidence)


def test_a_throttled_device_goes_before_its_slowness_alone(topology, found):
    rank, device = topology.rank_entity(2), topology.gpu_entity(2)
    slow = [
        found("job.slow", topology.job_entity),
        found("rank.slow_compute", rank),
        found("rank.waits_least", rank),
    ]
    assert ("gpu.slow", "gpu", "GPU-2") == named(explain(slow, topology))
    hot = explain([*slow, found("gpu.throttled", device, score=2.0)], topology)
    assert ("gpu.thermal_throttle", "gpu", "GPU-2") == named(hot)


def test_the_entity_that_covers_the_affected_ranks_and_no_others_is_named(contention, topology):
    term = next(
        e for e in explain(contention, topology).hypotheses[0].evidence if e.family == "scope"
    )
    assert (2.0, 2.0) == (term.observed, term.expected)
    assert "covers 2 of 2 affected ranks and 0 unaffected ranks" == term.text


def test_evidence_that_comes_long_after_the_symptom_speaks_against(contention, topology):
    late = [
        replace(f, onset=(f.onset[0] + 60, f.onset[1] + 60)) if f.kind != "job.slow" else f
        for f in contention
    ]
    first = explain(late, topology).hypotheses[0]
    term = next(e for e in first.evidence if e.family == "time")
    assert ("contradicts", 60.0, "first evidence begins 60 s after the symptom") == (
        term.relation, term.observed, term.text,
    )  # fmt: skip
    assert first.score < explain(contention, topology).hypotheses[0].score


def test_an_oom_kill_on_the_host_contradicts_a_crash_and_explains_it(crash, topology, found):
    killed = found("host.oom_killed", topology.host_entity("host-b"))
    cause = explain([*crash, killed], topology)
    assert ("memory.host_oom", "host", "host-b") == named(cause)
    rival = next(h for h in cause.hypotheses if h.fault == "software.crash")
    assert any(e.family == "oom" and e.relation == "contradicts" for e in rival.evidence)


def test_ranks_without_a_known_host_are_named_all_the_same(stuck, topology):
    nowhere = JobTopology(topology.job, placements=[RankPlacement(rank) for rank in topology.ranks])
    bare = [replace(f, entity=replace(f.entity, host=None)) for f in stuck]
    first = explain(bare, nowhere).hypotheses[0]
    assert ("software.stuck_process", "2") == (first.fault, first.entity.id)
    assert "ssh <host> py-spy dump --pid <pid>" == first.actions[0].command


def test_a_slow_rank_without_a_known_host_or_device_accuses_neither(contention, topology):
    nowhere = JobTopology(topology.job, placements=[RankPlacement(rank) for rank in topology.ranks])
    slow = [
        replace(f, entity=replace(f.entity, host=None))
        for f in contention
        if not f.kind.startswith("host.")
    ]
    cause = explain(slow, nowhere)
    assert "unknown" == cause.hypotheses[0].fault
    assert not {"host", "gpu"} & {row.entity.type for row in cause.hypotheses[1:]}
