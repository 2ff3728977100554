"""Every fault of a machine can be injected, and says only what a real agent would."""

import dataclasses

import numpy as np
import pytest
from tests.examples import LONG
from tests.lab import vocabulary

from rankscope.formats.otlp.columns import SeriesTable
from rankscope.lab.simulator import faults, recording
from rankscope.lab.simulator.faults.machines import FAULTS
from rankscope.lab.simulator.shape import EPOCH, SimulatedCluster, Strength
from rankscope.vocabulary import faults as fault_ids
from rankscope.vocabulary.ids import Fault

from .machines import events, injected, scenario, slowdown

WITHOUT_A_STEADY_COST = {
    "nic_down", "link_flap", "transport_fallback", "clock_locked", "config_drift",
    "bootstrap_failed", "clock_skew", "disk_full", "evicted", "firmware_hang", "gpu_lost",
    "host_lost", "host_oom", "memory_uncorrectable", "row_remap", "silent_corruption",
}  # fmt: skip
"""Kinds that stop the job, cost it moments or nothing, or were there before the first step."""


def settings_of(made):
    """Return the settings of a scenario's fault."""
    assert made.fault is not None
    return dict(made.fault)


@pytest.mark.parametrize(
    ("kind", "strength"),
    [
        *((kind, "plain") for kind in FAULTS),
        *(
            pytest.param(kind, "weak", marks=[pytest.mark.long] if number % 4 else [])
            for number, kind in enumerate(FAULTS)
        ),
    ],
)
def test_every_fault_can_be_injected_and_keeps_to_the_vocabulary(kind, strength):
    found = injected(kind, scenario(nics=2), strength=strength)
    vocabulary.hold_to_it(found)
    assert found.truth.fault == FAULTS[kind].id
    allowed = fault_ids.catalogue()[Fault(found.truth.fault)].entities
    assert found.truth.entity.type in allowed
    assert found.truth.entity.ranks
    assert EPOCH < found.truth.onset < EPOCH + 150


@pytest.mark.parametrize("kind", FAULTS)
def test_every_fault_draws_settings_in_both_strengths(kind):
    assert hasattr(FAULTS[kind], "drawn")


@pytest.mark.parametrize("kind", sorted(set(FAULTS) - WITHOUT_A_STEADY_COST))
def test_a_weak_fault_costs_a_few_percent_and_a_plain_one_more(kind):
    limits: tuple[tuple[Strength, float, float], ...] = (("weak", 1.015, 1.16), ("plain", 1.05, 4))
    for strength, low, high in limits:
        for seed in (11, 12) if LONG else (11,):
            base = scenario(nics=2, seconds=200.0)
            random = np.random.default_rng(seed)
            made = faults.inject(kind, base, random, strength=strength, onset=80.0)
            settings = {key: value for key, value in settings_of(made).items() if key != "until"}
            if settings.get("stops") or settings.get("down") is True:
                continue  # it stops the job
            settings |= {"every": 0.0} if kind == "network_slow" else {}
            found = recording.simulate(dataclasses.replace(made, fault=settings), seed)
            assert low < slowdown(found) < high, settings


def test_the_same_seed_gives_the_same_recording_and_another_seed_another():
    contents = []
    for seed in (3, 3, 4):
        found = injected("cable_errors", scenario(nics=2), seed=seed)
        contents.append("\n".join(found.lines()))
    assert contents[0] == contents[1]
    assert contents[0] != contents[2]


def test_nothing_happens_before_the_onset():
    for kind in ("pcie_degraded", "storage_slow", "cable_errors", "gpu_lost", "evicted"):
        found = injected(kind, scenario())
        told = {
            said.event.name: said.event.at
            for said in found.sayings
            if said.event.name != "training.phase"
        }
        assert all(at > found.truth.onset - EPOCH - 0.1 for at in told.values())


def test_a_fault_of_devices_gives_a_cluster_devices():
    base = scenario(cluster=SimulatedCluster(hosts=2, slots=2, gpus=False))
    found = injected("thermal_throttle", base)
    assert found.scenario.cluster.gpus


def test_a_fault_that_passes_ends():
    base = scenario(seconds=240.0)
    random = np.random.default_rng(0)
    drawn = [settings_of(faults.inject("slow_gpu", base, random)) for _ in range(40)]
    passing = [settings for settings in drawn if "until" in settings]
    assert passing
    assert all(row["onset"] < row["until"] for row in passing)
    assert "lasts" not in passing[0]


def test_batches_of_a_recording_carry_every_sample_once():
    found = injected("cable_errors", scenario(nics=2))
    table = SeriesTable()
    carried = sum(
        len(what.columns) for _, what in found.batches(table) if not isinstance(what, list)
    )
    assert carried > 0.98 * found.samples
    assert not events(found, "gpu.fault")


def test_a_series_enters_the_table_with_its_first_sample():
    """Those of a later attempt would announce it before it begins."""
    found = injected("cable_errors", scenario(nics=2))
    table = SeriesTable()
    counts = [len(table) for _ in found.batches(table)]
    assert counts[0] < counts[-1]
    assert sorted(counts) == counts
