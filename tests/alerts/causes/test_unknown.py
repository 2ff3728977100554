"""What has no known cause: it says so, the more surely the less is reported."""

import pytest
from tests.alerts.explaining import EVERYTHING, explain, named

from rankscope.alerts.causes.catalogue import catalogue, parse


def test_a_symptom_alone_has_no_known_cause(fault, topology):
    findings, _ = fault
    cause = explain(findings[:1], topology)
    assert ("unknown", "job", "run-1") == named(cause)
    assert "docs/runbooks/unknown.md" == cause.hypotheses[0].runbook
    assert cause.unknown.reasons


def test_slow_ranks_without_a_reason_leave_the_cause_open(topology, found):
    findings = [
        found("job.slow", topology.job_entity),
        found("rank.waits_least", topology.rank_entity(2)),
    ]
    assert "unknown" == explain(findings, topology).hypotheses[0].fault


def test_unknown_grows_with_what_nobody_reports(contention, topology):
    hidden = {"process.cpu.wait", "system.pressure", "container.cpu.throttled", "system.cpu.steal"}
    slow = [f for f in contention if f.kind != "host.cpu_wait"]
    before = explain(slow, topology)
    after = explain(slow, topology, observed=EVERYTHING - hidden)
    assert after.unknown.score == pytest.approx(
        before.unknown.score + 3 * catalogue().weights.missing
    )
    assert any("no source reports 3 of the signals" in why for why in after.unknown.reasons)


def test_where_nothing_at_all_is_reported_unknown_counts_everything_as_missing(topology, found):
    cause = explain([found("job.slow", topology.job_entity)], topology, observed=frozenset())
    assert "unknown" == cause.hypotheses[0].fault
    assert 0.0 == cause.data_quality.coverage
    assert "process.cpu.wait" in cause.data_quality.missing


def test_a_symptom_that_no_cause_explains_is_unknown(topology, found):
    empty = parse('version = "0"\n[weights]\n' + WEIGHTS, "[[fault]]\n" + ONE_CAUSE)
    cause = explain([found("job.crashed", topology.job_entity)], topology, knowledge=empty)
    assert (("unknown", "job", "run-1"), "0", 0.0) == (
        named(cause),
        cause.catalogue,
        cause.data_quality.coverage,
    )
    assert () == cause.next_checks


def test_an_unknown_cause_of_nobodys_shows_what_was_found_about_the_job(topology, found):
    text = "even the rank that waits least spends 0.1 s of a step in collectives"
    slow = found("job.slow", topology.job_entity)
    rows = [slow, found("job.slow_collectives", topology.job_entity, text=text)]
    shown = [e.text for e in explain(rows, topology).hypotheses[0].evidence if not e.weight]
    assert [text] == shown


WEIGHTS = "\n".join(
    f"{name} = {value}"
    for name, value in {
        "unknown_share": 0.2, "least_share": 0.03, "needed": 3.0, "missing": 0.2, "family_cap": 4.0,
        "cover": 3.0, "early": 0.3, "together": 1.2,
        "together_seconds": 15.0, "late": -0.7, "late_seconds": 20.0,
    }.items()
)  # fmt: skip
ONE_CAUSE = """
id = "host.lost"
share = 0.1
symptoms = ["host.silent"]
predicts = []
contradicts = []
actions = []
checks = []
"""
