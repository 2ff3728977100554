"""Which check is asked for an incident: what it is expected to tell apart, for what it costs."""

import pytest

from rankscope.checks import choosing
from rankscope.checks.choosing import SuspectedCause
from rankscope.vocabulary.checks import catalogue

HOST = "gpu-12"


def ranked(*causes, **more):
    found = [SuspectedCause(fault, host, share) for fault, host, share in causes]
    return choosing.ranked(found, host=HOST, devices=8, **more)


def names(*causes, **more):
    return [row.check.name for row in ranked(*causes, **more)]


def test_a_slow_device_or_a_contended_cpu_is_told_apart_by_the_cheaper_of_their_checks():
    found = names(("gpu.slow", HOST, 0.5), ("host.cpu_contention", HOST, 0.5))
    assert "cpu" == found[0]
    assert "matmul" in found


def test_a_slow_link_is_asked_for_by_the_check_that_needs_one_device_where_it_says_as_much():
    found = ranked(("gpu.pcie_degraded", HOST, 0.5), (None, None, 0.5), past={"device_lanes"})
    assert "host_device_copy" == found[0].check.name


def test_what_the_bus_says_is_read_before_a_device_is_kept_busy():
    found = names(("gpu.pcie_degraded", HOST, 0.5), (None, None, 0.5))
    assert ["device_lanes", "host_device_copy"] == found[:2]


def test_what_no_check_can_show_asks_for_none():
    assert [] == names(("software.deadlock", HOST, 0.5), ("numerics.nan_data", None, 0.5))


def test_a_cause_at_another_host_shows_nothing_here():
    assert [] == names(("gpu.slow", "gpu-13", 0.5), ("host.cpu_contention", "gpu-13", 0.5))


def test_a_cause_that_is_certain_is_not_checked():
    assert [] == names(("gpu.slow", HOST, 0.999), (None, None, 0.001))


def test_a_check_that_was_run_is_not_asked_for_again():
    causes = (("gpu.slow", HOST, 0.5), ("host.cpu_contention", HOST, 0.5))
    assert "cpu" not in names(*causes, past={"cpu"})
    assert ["matmul"] == names(*causes, among={"matmul"})


def test_a_gain_is_that_of_the_entropy_and_no_more_than_there_is():
    causes = [SuspectedCause("gpu.slow", HOST, 0.5), SuspectedCause(None, None, 0.5)]
    gained = choosing.gain(catalogue()["matmul"], causes, HOST)
    assert gained == pytest.approx(0.6902, abs=1e-3)
    assert 0 == choosing.gain(catalogue()["clock"], causes, HOST)


def hypothesis(fault, score, probability, host=HOST):
    return {
        "fault": fault,
        "score": score,
        "probability": probability,
        "entity": {"type": "gpu", "id": "GPU-1", "host": host, "ranks": [1]},
    }


def document(*rows):
    return {"root_cause": {"hypotheses": list(rows)}}


def test_the_probabilities_of_an_incident_sum_to_one_with_what_it_does_not_name():
    found = choosing.suspected(
        document(hypothesis("gpu.slow", 3.0, 0.6), hypothesis("unknown", 1.0, 0.2))
    )
    assert [("gpu.slow", 0.6), (None, 0.2), (None, pytest.approx(0.2))] == [
        (row.fault, row.probability) for row in found
    ]


def test_without_probabilities_the_scores_are_taken():
    found = choosing.suspected(
        document(hypothesis("gpu.slow", 3.0, None), hypothesis("unknown", 3.0, None))
    )
    assert [0.5, 0.5] == [row.probability for row in found]


def test_the_hosts_worth_going_to_are_those_of_causes_that_a_check_can_show():
    found = choosing.hosts(
        document(
            hypothesis("software.deadlock", 3.0, 0.4, "gpu-1"),
            hypothesis("gpu.slow", 2.0, 0.3, "gpu-2"),
            hypothesis("host.cpu_contention", 2.0, 0.3, None),
        )
    )
    assert ["gpu-2"] == found


def test_what_is_at_no_host_is_checked_at_the_jobs_first_one():
    rows = [
        hypothesis("software.checkpoint_stall", 3.0, 0.6, None),
        hypothesis("host.storage_slow", 2.0, 0.3, "gpu-2"),
    ]
    assert ["gpu-2", "gpu-1"] == choosing.hosts(document(*rows), ["gpu-1", "gpu-2"])
    assert ["gpu-2"] == choosing.hosts(document(*rows))
