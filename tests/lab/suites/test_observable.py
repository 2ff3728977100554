"""Whether telemetry can show a fault: by rules, for every fault."""

import pytest

from rankscope.lab.simulator.faults import FAULTS
from rankscope.lab.simulator.shape import ReportingHabits, SimulatedCluster
from rankscope.lab.suites import observable
from rankscope.vocabulary import events, faults, metrics


def test_there_is_a_rule_for_every_fault_that_the_laboratory_has():
    assert {kind.id for kind in FAULTS.values()} - {faults.UNKNOWN} == set(observable.signs())


def test_rules_name_metrics_and_events_of_the_contract():
    known = {*metrics.catalogue(), *events.catalogue()}
    named = {
        name
        for signs in observable.signs().values()
        for names in signs.alternatives
        for name in names
    }
    unknown = {
        name
        for name in named
        if name not in known
        and not (name.endswith("*") and any(k.startswith(name[:-1]) for k in known))
    }
    assert set() == unknown


def test_a_fault_is_visible_by_any_of_its_signs():
    thermal = "gpu.thermal_throttle"
    assert observable.observable(thermal, ReportingHabits(), SimulatedCluster())
    assert observable.observable(thermal, ReportingHabits(hidden=("hw.*",)), SimulatedCluster())
    everything = ("hw.*", "training.compute.duration", "training.step.duration")
    assert not observable.observable(
        thermal, ReportingHabits(hidden=everything), SimulatedCluster()
    )


def test_what_nobody_logs_shows_in_no_event():
    dcgm = ReportingHabits(devices="dcgm")
    memory = "gpu.memory_uncorrectable"
    assert observable.observable(memory, dcgm, SimulatedCluster())
    assert not observable.observable(memory, dcgm, SimulatedCluster(), logged=False)
    assert observable.observable(
        memory, ReportingHabits(), SimulatedCluster(), logged=False
    )  # counters


def test_a_sign_of_two_names_needs_both():
    hidden = ("training.memory.retries", "training.memory.allocated")
    assert not observable.observable(
        "memory.fragmentation", ReportingHabits(hidden=hidden), SimulatedCluster()
    )


def test_a_family_is_visible_unless_the_whole_of_it_is_hidden():
    rest = ("log.fault", "training.progress.age")
    mismatch = "software.collective_mismatch"
    one = ReportingHabits(hidden=(*rest, "collective.enqueued"))
    assert observable.observable(mismatch, one, SimulatedCluster())
    every = ReportingHabits(hidden=(*rest, "collective.*"))
    assert not observable.observable(mismatch, every, SimulatedCluster())


def test_without_accelerators_their_metrics_show_nothing():
    row_remap = ReportingHabits(hidden=("gpu.fault",))
    assert observable.observable("gpu.row_remap", row_remap, SimulatedCluster())
    assert not observable.observable("gpu.row_remap", row_remap, SimulatedCluster(gpus=False))


def test_what_an_exporter_does_not_have_shows_nothing():
    """dcu-exporter shows neither processes nor rows that were remapped, npu-exporter the former."""
    contexts, remap = "memory.rank0_contexts", "gpu.row_remap"
    assert not observable.observable(
        contexts, ReportingHabits(), SimulatedCluster(accelerator="hygon")
    )
    assert observable.observable(
        contexts, ReportingHabits(), SimulatedCluster(accelerator="ascend")
    )
    assert not observable.observable(
        remap, ReportingHabits(), SimulatedCluster(accelerator="hygon")
    )
    assert observable.observable(remap, ReportingHabits(devices="dcgm"), SimulatedCluster())
    assert not observable.observable(contexts, ReportingHabits(devices="dcgm"), SimulatedCluster())


@pytest.mark.parametrize(("rate", "steps", "seen"), [(0.003, 27, False), (0.01, 27, True)])
def test_a_loss_that_still_falls_at_the_end_shows_no_divergence(rate, steps, seen):
    assert seen == observable.rises("numerics.divergence", rate, steps)


@pytest.mark.parametrize(("rate", "steps", "seen"), [(0.034, 33, False), (0.034, 60, True)])
def test_a_norm_that_stays_below_that_of_a_hard_batch_shows_no_explosion(rate, steps, seen):
    assert seen == observable.rises("numerics.gradient_explosion", rate, steps)


def test_what_is_no_rise_is_seen_however_small_its_rate():
    assert observable.rises("memory.gpu_leak", 0.001, 1)
