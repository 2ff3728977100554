"""One case through the pipeline."""

import dataclasses

import pytest

from rankscope.collector.pipeline.pipeline import DetectionPipeline
from rankscope.lab import suites
from rankscope.lab.scoring import running
from rankscope.lab.scoring.baselines import METHODS
from rankscope.lab.simulator import faults, recording


@pytest.fixture(scope="module")
def crash():
    cases = suites.draw(suites.suite("tuning"))
    crashes = (row for row in cases if row.kind == "crash")
    case = min(crashes, key=lambda row: row.scenario.jobs[0].step_seconds)
    short = dataclasses.replace(case.scenario, seconds=120.0, fault={"kind": "crash", "onset": 80})
    return dataclasses.replace(case, scenario=short)


def test_a_crash_is_found_and_every_method_has_an_answer(crash):
    row = running.run(crash, key="k")
    assert "" == row.error
    assert {} == row.detector_failures
    assert ["rankscope", *METHODS] == list(row.found)
    assert row.truth is not None
    assert "software.crash" == row.truth.fault
    assert "software.crash" == row.found["rankscope"][0].fault
    assert {"simulation", "rankscope", "baselines"} == set(row.cpu)


def test_the_same_case_gives_the_same_incidents(crash):
    one, other = (running.run(crash, with_baselines=False) for _ in range(2))
    assert one.found == other.found


def test_a_case_that_raises_is_a_result_with_the_traceback(crash, monkeypatch):
    def broken(*_):
        raise ZeroDivisionError("of the simulator")

    monkeypatch.setattr(recording, "simulate", broken)
    row = running.run(crash)
    assert "ZeroDivisionError: of the simulator" in row.error
    assert {} == row.found
    assert row.failed


def test_a_detector_that_raises_is_part_of_the_result(crash, monkeypatch):
    class Broken:
        name = "broken"
        kinds = ()
        cadence_seconds = 0.0

        def evaluate(self, _window):
            raise ValueError("broken")

        def next_due(self, _window):
            return float("inf")

    monkeypatch.setattr(running, "DetectionPipeline", lambda **_: running_pipeline([Broken()]))
    row = running.run(crash, with_baselines=False)
    assert row.failed
    assert {"broken"} == set(row.detector_failures)


def running_pipeline(detectors):
    return DetectionPipeline(detectors=detectors)


def test_a_result_is_kept_under_a_key_of_case_and_code(crash, monkeypatch):
    key = running.key(crash, with_baselines=True)
    assert key == running.key(crash, with_baselines=True)
    assert key != running.key(crash, with_baselines=False)
    assert key != running.key(dataclasses.replace(crash, seed=crash.seed + 1), with_baselines=True)
    longer = dataclasses.replace(crash.scenario, seconds=121.0)
    assert key != running.key(dataclasses.replace(crash, scenario=longer), with_baselines=True)
    monkeypatch.setattr(running, "code_version", lambda: "other")
    assert key != running.key(crash, with_baselines=True)


def test_a_fault_that_ends_is_true_until_then(crash):
    settings = {"kind": "slow_gpu", "onset": 60.0, "until": 90.0}
    scenario = dataclasses.replace(crash.scenario, fault=settings)
    truth = running.truth_of(recording.simulate(scenario, 1))
    assert truth is not None
    assert 30.0 == truth.until - truth.onset
    assert faults.FAULTS["slow_gpu"].id == truth.fault
