"""Figures for /metrics without a scan, and resolved incidents within a bound."""

from collections import Counter

import pytest

from rankscope.alerts import closed, counts


@pytest.fixture
def scanned(tracker):
    def scan():
        return Counter(
            (row.job, row.root_cause.hypotheses[0].fault, row.severity, row.status)
            for row in tracker.incidents.values()
        )

    return scan


def test_counts_are_those_of_a_scan_at_every_second(
    evaluated, tracker, contended, stuck, scanned, monkeypatch
):
    monkeypatch.setattr(closed, "KEPT_CLOSED", 3)
    for now in range(60, 9000, 5):
        begun = now // 1500 * 1500
        bad = now - begun < 60
        stall = (now // 1500) % 2
        findings = stuck(begun) if stall else contended(begun)
        stepped = begun if bad and stall else now - 1.0
        evaluated(now, *(findings if bad else ()), stepped=stepped)
        assert scanned() == dict(tracker.counts.by_kind)
    assert 3 == len(tracker.incidents)


def test_what_a_fault_cost_never_falls_and_outlives_its_incidents(
    evaluated, tracker, contended, monkeypatch
):
    monkeypatch.setattr(closed, "KEPT_CLOSED", 1)
    before = 0.0
    for now in range(60, 6000, 5):
        begun = now // 2000 * 2000
        evaluated(now, *(contended(begun) if now - begun < 60 else ()))
        total = sum(tracker.counts.gpu_seconds_lost.values())
        assert total >= before
        before = total
    assert {("run-1", "host.cpu_contention")} == set(tracker.counts.gpu_seconds_lost)
    assert before > sum(row.impact.gpu_seconds_lost for row in tracker.incidents.values())


def test_costs_are_kept_within_a_bound(evaluated, tracker, contended, lay_out, monkeypatch):
    monkeypatch.setattr(counts, "MOST_COSTS", 2)
    for number in range(4):
        layout = lay_out(f"job-{number}", hosts=(f"a-{number}", f"b-{number}"))
        evaluated(60, *contended(layout=layout, host=f"b-{number}"), layout=layout)
    assert {"job-2", "job-3"} == {job for job, _ in tracker.counts.gpu_seconds_lost}


def test_a_job_that_is_well_leaves_nothing_behind(evaluated, tracker, lay_out):
    for number in range(50):
        evaluated(60, layout=lay_out(f"job-{number}"))
    assert 0 == len(tracker._open)
