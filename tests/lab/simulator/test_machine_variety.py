"""Clusters differ in everything, exporters have their habits, and none of it is a fault."""

import numpy as np
import pytest
from tests.lab import vocabulary

from rankscope.lab.simulator import recording
from rankscope.lab.simulator.devices import MODELS
from rankscope.lab.simulator.series import exporters
from rankscope.lab.simulator.shape import ReportingHabits, SimulatedCluster

from . import variety
from .machines import broken, events, rows, scenario


def test_five_accelerators_are_read_by_six_exporters():
    assert set(exporters.habits()) == {"agent", "dcgm", *MODELS} - {"nvidia"}


@pytest.mark.parametrize("accelerator", MODELS)
def test_every_accelerator_reports_what_its_exporter_has_and_nothing_else(accelerator):
    base = scenario(cluster=SimulatedCluster(hosts=2, slots=2, accelerator=accelerator))
    found = recording.simulate(base, 1)
    vocabulary.hold_to_it(found)
    mine = {
        row.metric
        for row in found.series
        if row.metric.startswith(("hw.gpu", "hw.power", "hw.temp", "hw.freq", "hw.err", "hw.en"))
    }
    reader = exporters.reader(base.cluster, base.reporting)
    assert mine == set(exporters.habits()[reader].metrics) & mine
    assert {"hw.gpu.utilization", "hw.power"} <= mine
    vendors = {
        dict(row.attributes).get("hw.vendor") for row in found.series if row.metric == "hw.power"
    }
    assert vendors == {accelerator}
    ranked = any("rank" in dict(row.attributes) for row in found.series if row.metric == "hw.power")
    assert ranked == (accelerator == "nvidia")


def test_dcgm_exporter_has_no_ranks_no_reasons_and_takes_its_time():
    base = scenario(reporting=ReportingHabits(devices="dcgm", device_period=30.0))
    found = recording.simulate(base, 1)
    assert not rows(found, "hw.gpu.throttle")
    assert not rows(found, "hw.power.limit")
    for (_, named), (at, value) in rows(found, "hw.gpu.utilization").items():
        assert "rank" not in dict(named)
        assert np.diff(at).min() == pytest.approx(30)
        np.testing.assert_allclose(value * 100, np.round(value * 100), atol=1e-9)


def test_dcgm_exporter_shows_the_last_xid_as_a_gauge():
    base = scenario(reporting=ReportingHabits(devices="dcgm", kernel_log=False))
    found = broken("gpu_lost", base=base, host=2, place=1, after=None, onset=60.0)
    assert not rows(found, "hw.gpu.faults")
    (event,) = events(found, "gpu.fault")
    assert event.attributes["source"] == "exporter"
    base = scenario(reporting=ReportingHabits(devices="dcgm", kernel_log=False))
    found = broken("row_remap", base=base, host=2, place=1, onset=60.0)
    last = {value[-1] for _, value in rows(found, "hw.gpu.fault.last").values()}
    assert last == {0.0, 63.0}


def test_a_lost_npu_is_unhealthy_to_its_exporter():
    base = scenario(cluster=SimulatedCluster(hosts=2, slots=2, accelerator="ascend"))
    found = broken("gpu_lost", base=base, host=1, place=1, logged=False)
    failed = rows(found, "hw.status", hw_state="failed")
    assert len({dict(named)["hw.id"] for _, named in failed}) == 1
    assert not events(found, "gpu.fault")


@pytest.mark.parametrize("seed", range(12))
def test_normal_life_is_in_the_vocabulary_and_accuses_no_device(seed):
    made = variety.varied(scenario(hosts=2, slots=4), np.random.default_rng(seed))
    found = recording.simulate(made, seed)
    vocabulary.hold_to_it(found)
    assert found.truth is None
    assert not events(found, "gpu.fault")
    assert not events(found, "network.link")
    assert not events(found, "network.fault")


def test_normal_life_draws_everything_that_looks_odd():
    drawn = [
        variety.varied(scenario(hosts=4, slots=4), np.random.default_rng(n)) for n in range(200)
    ]
    clusters, reportings = [row.cluster for row in drawn], [row.reporting for row in drawn]
    assert {row.accelerator for row in clusters} == set(MODELS)
    for name in ("hot", "corrected", "noisy_ports", "warnings", "booted", "rails"):
        assert 0 < sum(bool(getattr(row, name)) for row in clusters) < 200, name
    assert any(row.power_cap < 1 for row in clusters)
    assert any(len(set(row.models)) > 1 for row in clusters)
    assert any(len(row.jobs) > 1 for row in drawn)
    assert {row.devices for row in reportings} == {"agent", "dcgm"}
    assert any(row.hidden for row in reportings)
    assert any(row.late for row in reportings)
    assert max(abs(off) for row in reportings for off in row.clock_off.values()) <= 0.1


def test_a_missing_source_is_missing_and_the_others_are_not():
    base = scenario()
    for source, metric in (
        ("devices", "hw.power"),
        ("hosts", "system.memory.usage"),
        ("collectives", "collective.completed"),
        ("ports", "hw.network.up"),
    ):
        hidden = variety.without(base.reporting, source)
        found = recording.simulate(scenario(reporting=hidden), 1)
        assert not rows(found, metric)
        assert rows(found, "training.step.duration")
