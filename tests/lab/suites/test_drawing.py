"""The suites: reproducible, apart from each other, and covering every fault that there is."""

import dataclasses

import numpy as np
import pytest

from rankscope.lab import suites
from rankscope.lab.simulator.devices import MODELS
from rankscope.lab.simulator.faults import FAULTS
from rankscope.lab.simulator.shape import ScenarioError
from rankscope.lab.suites import drawing, observable
from rankscope.lab.suites.tables import tables

TABLED = ("tuning", "published", "holdout")
LINES = ("gradient_vanishing", "plateau", "replica_divergence")


def drawn(name, **options):
    return suites.draw(suites.suite(name), **options)


@pytest.mark.parametrize("name", ["tuning", "published", "holdout", "fresh"])
def test_a_suite_is_the_same_every_time(name):
    assert drawn(name, seed=3) == drawn(name, seed=3)


def test_fresh_draws_other_shapes_and_cases_from_another_number():
    one, other = drawn("fresh", seed=3), drawn("fresh", seed=4)
    assert {case.scenario.cluster for case in one} != {case.scenario.cluster for case in other}
    assert {case.seed for case in one} & {case.seed for case in other} == set()


def test_fresh_draws_other_accelerators_and_who_reads_them():
    cases = [case.scenario for seed in range(5) for case in drawn("fresh", seed=seed)]
    with_devices = [one for one in cases if one.cluster.gpus]
    assert set(MODELS) == {one.cluster.accelerator for one in with_devices}
    assert {"agent", "dcgm"} == {one.reporting.devices for one in with_devices}
    assert {True, False} == {one.reporting.kernel_log for one in with_devices}
    assert {True, False} == {one.cluster.rails for one in with_devices}


def test_a_fault_that_is_added_changes_no_other_case(monkeypatch):
    before = {case.name: case for case in drawn("published")}
    monkeypatch.setitem(FAULTS, "added", FAULTS["crash"])
    after = {case.name: case for case in drawn("published")}
    shared = before.keys() & after.keys()
    assert len(shared) > 200
    assert [] == [name for name in shared if before[name] != after[name]]
    assert any(name.startswith("added-") for name in after)


def test_published_has_300_cases_every_fault_weak_variants_and_enough_healthy_ones():
    cases = drawn("published")
    assert len(cases) >= 300
    assert set(FAULTS) == {case.kind for case in cases if case.kind}
    assert all(
        any(case.strength == "weak" for case in cases if case.kind == kind) for kind in FAULTS
    )
    assert sum(case.kind is None for case in cases) >= 0.3 * len(cases)
    assert {"none"} < {case.missing for case in cases}
    assert {"none"} < {case.benign for case in cases}


def test_names_are_unique_within_a_suite():
    for name in (*TABLED, "quiet"):
        names = [case.name for case in drawn(name)]
        assert len(names) == len(set(names))


def test_suites_share_no_shape_accelerator_habit_or_seed():
    read = tables()
    for kind in (read.shapes_of, read.habits_of):
        rows = {name: {row.name for row in kind(name)} for name in TABLED}
        assert all(len(row) >= 2 for row in rows.values())
        assert sum(map(len, rows.values())) == len(set().union(*rows.values()))
    models = [
        {
            tuple(model)
            for shape in read.shapes_of(name)
            for model in shape.cluster.get("models", ())
        }
        for name in TABLED
    ]
    assert set() == models[0] & (models[1] | models[2])
    assert 3 == len({read.suites[name].seed for name in TABLED})


def test_tuning_never_has_the_faults_kept_for_the_other_suites(monkeypatch):
    left_out = tables().untuned_faults
    assert len(left_out) >= 5
    kept = type("Kept", (FAULTS["crash"],), {"id": min(left_out)})
    monkeypatch.setitem(FAULTS, "kept", kept)
    assert "kept" not in {case.kind for case in drawn("tuning")}
    assert "kept" in {case.kind for case in drawn("published")}


def test_a_fault_acts_within_its_recording_with_time_left_to_be_found():
    for case in drawn("published"):
        if case.kind is not None:
            onset, seconds = case.scenario.fault["onset"], case.scenario.seconds
            after = observable.signs_of(case.fault).after
            assert seconds - onset >= min(after, 0.4 * seconds) - 1e-6


@pytest.mark.parametrize("name", [*TABLED, "fresh"])
def test_what_only_many_steps_show_gets_its_steps_after_the_onset(name):
    """Of a job with long steps the seconds that a rule asks for hold a handful of points."""
    ruled = {fault for fault, signs in observable.signs().items() if signs.steps}
    assert {f"numerics.{fault}" for fault in LINES} | {"software.recompile"} == ruled
    for case in drawn(name, seed=3):
        if case.fault in ruled:
            left = case.scenario.seconds - case.scenario.fault["onset"]
            steps = left / case.scenario.jobs[0].step_seconds
            assert steps >= observable.signs_of(case.fault).steps - 1e-6, case.name


def test_only_rules_that_ask_for_steps_make_recordings_of_slow_jobs_longer():
    read = tables()
    slow = next(row for row in read.shapes if row.name == "slow-steps-a100")
    slow = dataclasses.replace(slow, job={**slow.job, "step_seconds": 30.0})

    def seconds(kind):
        chosen, random = drawing.DrawnChoice(read.habits[0]), np.random.default_rng(7)
        return drawing.with_fault(kind, slow, chosen, random, strength="plain").seconds

    assert 2 * 30.0 * observable.signs_of("numerics.plateau").steps == seconds("plateau")
    assert max(slow.seconds, 2 * 8 * 30.0) == seconds("loss_spike")


@pytest.mark.parametrize("name", [*TABLED, "fresh"])
def test_every_case_lasts_sixty_steps(name):
    """In fewer nobody could tell a weak fault from the noise of steps."""
    scenarios = [case.scenario for case in drawn(name, seed=3)]
    short = [one.text for one in scenarios if one.seconds < 59.9 * one.jobs[0].step_seconds]
    assert [] == short


def test_faults_of_accelerators_and_of_networks_get_clusters_that_have_them():
    for case in drawn("published"):
        if case.fault is not None and case.fault.startswith("gpu."):
            assert case.scenario.cluster.gpus
        if case.fault is not None and case.fault.startswith("network."):
            assert case.scenario.cluster.hosts > 1


def test_a_fault_that_no_shape_can_have_is_left_out(monkeypatch):
    def refused(*_, **__):
        raise ScenarioError("not here")

    monkeypatch.setattr(drawing, "inject", refused)
    assert [] == [case for case in drawn("tuning") if case.kind]


def test_benign_variety_counts_seconds_in_steps_and_shares_of_the_recording():
    read = tables()
    shape = next(row for row in read.shapes if row.name == "slow-steps-a100")
    benign = {row.name: row for row in read.benign}
    habit = read.habits[0]
    job = drawing.scenario_of(
        shape, drawing.DrawnChoice(habit, benign=benign["evaluations_announced"])
    ).jobs[0]
    assert 10 == job.eval_every
    scenario = drawing.scenario_of(shape, drawing.DrawnChoice(habit, benign=benign["restart"]))
    assert (shape.seconds * 0.5,) == scenario.jobs[0].restarts
    scenario = drawing.scenario_of(shape, drawing.DrawnChoice(habit, benign=benign["late_host"]))
    assert ((0, shape.seconds * 0.5, shape.seconds * 0.56),) == scenario.reporting.late


def test_every_row_of_benign_variety_makes_a_scenario():
    read = tables()
    for benign in read.benign:
        for missing in read.missing:
            chosen = drawing.DrawnChoice(read.habits[0], missing, benign)
            scenario = drawing.scenario_of(read.shapes[0], chosen)
            assert set(missing.hidden) <= set(scenario.reporting.hidden)


def test_a_suite_that_does_not_exist_gets_the_nearest_name():
    with pytest.raises(suites.SuiteError, match="did you mean published"):
        suites.suite("publishd")


def test_a_case_tells_what_was_drawn_without_the_scenario():
    case = drawn("tuning")[0]
    document = case.document()
    assert "scenario" not in document
    assert {field.name for field in dataclasses.fields(case)} - {"scenario"} == set(document)
