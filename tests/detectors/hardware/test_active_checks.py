"""Results of active checks: the newest of each device counts, of hosts of the job, for a while."""

import numpy as np
import pytest

from rankscope.detectors.hardware.active_checks import ActiveChecksDetector
from rankscope.detectors.sketch import START, sketch
from rankscope.vocabulary.samples import Event, TelemetryResource


def result(at, verdict, *, check="matmul", device="GPU-2", host="host-1", **more):
    pairs = {"check": check, "device": device, "verdict": verdict, "reason": "why", **more}
    return Event("check.result", START + at, pairs, TelemetryResource(host))


def found(*events, **parameters):
    window = sketch(np.full((4, 60), 0.8), events=events)
    return ActiveChecksDetector(**parameters).evaluate(window)


def kinds(findings):
    return [(finding.kind, str(finding.entity)) for finding in findings]


def test_a_result_of_a_device_is_about_it_and_one_of_anything_else_about_the_host():
    findings = found(result(20, "slow"), result(20, "failed", check="clock", device="clock"))
    assert [
        ("host.check_bad", "gpu GPU-2 on host-1"),
        ("host.check_bad", "host host-1"),
    ] == kinds(findings)


def test_the_newest_result_of_a_check_counts():
    findings = found(result(20, "slow"), result(40, "pass"))
    assert [("host.check_passed", "gpu GPU-2 on host-1")] == kinds(findings)


def test_what_was_not_measured_takes_nothing_back():
    findings = found(result(20, "slow"), result(40, "not_measured"))
    assert ["host.check_bad"] == [finding.kind for finding in findings]


def test_hosts_of_other_jobs_are_none_of_its_own():
    assert [] == found(result(20, "slow", host="far"))


def test_a_result_of_long_ago_says_nothing():
    assert [] == found(result(20, "slow"), seconds=10.0)


def test_the_text_says_what_was_found_where():
    (finding,) = found(result(20, "slow", value=5.0))
    assert "check matmul of GPU-2 on host-1: slow: why" == finding.text
    assert (5.0, (START + 20, START + 20)) == (finding.observed, finding.onset)


@pytest.mark.parametrize("pairs", [{}, {"verdict": "slow"}, {"check": 3, "verdict": 4}])
def test_an_event_that_lacks_something_stops_nothing(pairs):
    event = Event("check.result", START + 20, pairs, TelemetryResource("host-1"))
    window = sketch(np.full((4, 60), 0.8), events=(event,))
    assert 1 == len(ActiveChecksDetector().evaluate(window))


def test_a_device_that_a_tool_numbers_is_that_of_its_local_rank():
    findings = found(result(20, "failed", check="tool_memory", device="GPU 1"))
    assert [("host.check_bad", "gpu GPU-3 on host-1")] == kinds(findings)


def test_a_rank_that_a_tool_names_is_taken_where_it_runs_on_that_host():
    assert [("host.check_bad", "gpu GPU-3 on host-1")] == kinds(
        found(result(20, "slow", device="rank 3"))
    )
    assert [("host.check_bad", "host host-1")] == kinds(found(result(20, "slow", device="rank 0")))


def test_a_numbered_device_that_nobody_uses_speaks_of_its_host_only_where_it_is_bad():
    assert [("host.check_bad", "host host-1")] == kinds(found(result(20, "slow", device="GPU 7")))
    assert [] == found(result(20, "pass", device="GPU 7"))
