"""Memory of devices, processes and hosts: what grows, where, how fast, and how it ends."""

import numpy as np
import pytest

from rankscope.lab.simulator import memory
from rankscope.lab.simulator.devices import MODELS
from rankscope.lab.simulator.shape import EPOCH

from .jobs import broken, events, healthy, of_rank, rows, scenario

PLACE = {"host": 1, "place": 2}
CULPRIT = 6
DEVICE = MODELS["nvidia"].memory


def held(found, name):
    return np.stack([getattr(row, name) for row in found.attempts[0].steps.held])


def slope(at, value, since):
    """Return bytes a minute."""
    late = at > since
    return np.polyfit(at[late], value[late], 1)[0] * 60


def test_what_a_healthy_allocator_reserves_grows_at_the_start_and_levels_off():
    reserved = held(healthy(seconds=300.0, variable_length=0.05), "reserved")
    assert (reserved[40] > reserved[0]).all()
    assert (reserved[-1] - reserved[150] < 0.05 * reserved[150]).all()
    assert (np.diff(reserved, axis=0) >= 0).all()


def test_allocated_never_exceeds_reserved_nor_reserved_the_device():
    found = healthy(variable_length=0.08, activations=0.3)
    assert (held(found, "allocated") < held(found, "reserved")).all()
    assert held(found, "reserved").max() < DEVICE
    assert not found.attempts[0].deaths


def test_a_leaks_slope_is_the_one_that_was_set():
    found = broken("gpu_leak", {"rate": 0.04, **PLACE}, seconds=240.0)
    allocated = of_rank(found, "training.memory.allocated")
    rates = {rank: slope(at, value, 62.0) for rank, (at, value) in allocated.items()}
    assert rates.pop(CULPRIT) == pytest.approx(0.04 * DEVICE, rel=0.02)
    assert max(map(abs, rates.values())) < 0.001 * DEVICE


def test_the_device_shows_what_the_allocator_of_its_process_reserves():
    found = broken("gpu_leak", {"rate": 0.06, **PLACE}, seconds=240.0)
    at, used = of_rank(found, "hw.gpu.memory.usage")[CULPRIT]
    assert slope(at, used, 100.0) == pytest.approx(0.06 * DEVICE, rel=0.1)


def test_a_leak_of_the_job_is_the_same_on_every_rank_and_ends_in_out_of_memory():
    found = broken("gpu_leak", {"rate": 0.3, "whole_job": True, "host": 0, "place": 0})
    assert found.truth.entity.type == "job"
    found = broken("gpu_leak", {"rate": 0.6, "whole_job": True, "host": 0, "place": 0})
    texts = [event.attributes["text"] for event in events(found, "log.fault")]
    assert any("CUDA out of memory" in text for text in texts)


def test_fragmented_memory_is_reserved_and_not_allocated_and_ends_in_retries():
    found = broken("fragmentation", {"rate": 0.12, **PLACE}, seconds=300.0)
    reserved, allocated, retries = (held(found, n) for n in ("reserved", "allocated", "retries"))
    gap = (reserved - allocated)[:, CULPRIT]
    assert gap[-1] > gap[50] + 0.1 * DEVICE
    assert np.ptp(allocated[10:, CULPRIT]) < 0.01 * DEVICE
    assert retries[-1, CULPRIT] > 0
    assert retries[-1].sum() == retries[-1, CULPRIT]


def test_a_rank_that_needs_too_much_ends_with_an_error_that_says_so():
    found = broken("gpu_oom", {"ramp": 20.0, **PLACE})
    (event,) = [e for e in events(found, "log.fault") if e.attributes["role"] == "root"]
    assert event.attributes["rank"] == CULPRIT
    assert event.attributes["signature"] == "python.OutOfMemoryError"
    deaths = found.attempts[0].deaths
    assert min(deaths, key=lambda rank: deaths[rank].at) == CULPRIT


def test_foreign_contexts_are_other_ranks_processes_on_the_first_device():
    found = broken("rank0_contexts", {"host": 1, "held": 1e9})
    ours = rows(found, "hw.gpu.process.memory", **{"hw.id": found.truth.entity.id})
    assert {dict(named)["rank"] for named in ours} == {4, 5, 6, 7}
    for named, (at, value) in ours.items():
        if dict(named)["rank"] != 4:
            assert value[0] == pytest.approx(1e9, rel=0.01)
            assert at[0] > found.truth.onset - EPOCH
    used = {}
    for rank in (4, 5):
        at, value = of_rank(found, "hw.gpu.memory.usage")[rank]
        used[rank] = value[-1] - value[at < 60][-1]
    assert used[4] - used[5] == pytest.approx(3e9, rel=0.2)


def test_a_host_leak_is_private_to_its_process_and_fills_the_host():
    found = broken("host_leak", {"rate": 0.05, **PLACE}, seconds=240.0)
    private = of_rank(found, "process.memory.private", role="trainer")
    at, value = private[CULPRIT]
    assert slope(at, value, 62.0) == pytest.approx(0.05 * memory.HOST_MEMORY, rel=0.05)
    assert f"gpu-01:{found.attempts[0].seats.pid[CULPRIT]}" == found.truth.entity.id
    used = {row.host: row for row in found.series if row.metric == "system.memory.usage"}
    grown = {host: row.value[-1] - row.value[0] for host, row in used.items()}
    assert max(grown, key=lambda host: grown[host]) == 1
    assert grown[1] == pytest.approx(0.05 * 3 * memory.HOST_MEMORY, rel=0.15)


def workers(found, metric):
    """Return the first and last value of a metric of the culprit's workers."""
    series = rows(found, metric, role="dataloader", rank=CULPRIT)
    assert series
    return [(value[at < 58][-1], value[-1]) for at, value in series.values()]


def test_a_leaking_worker_grows_in_private_memory_alone():
    found = broken("dataloader_leak", {"rate": 0.005, "workers": 2, **PLACE}, workers=2)
    for metric, low, high in (
        ("process.memory.usage", 0.5e9, 3e9),
        ("process.memory.private", 0.5e9, 3e9),
        ("process.memory.shared", -0.2e9, 0.0),
    ):
        for before, after in workers(found, metric):
            assert low < after - before < high, metric


def test_copy_on_read_moves_memory_from_shared_to_private_and_resident_stays():
    found = broken("copy_on_read", {"seconds": 40.0, **PLACE}, workers=2, inherited=2e9)
    for before, after in workers(found, "process.memory.usage"):
        assert abs(after - before) < 0.15e9
    for before, after in workers(found, "process.memory.private"):
        assert after - before > 1.2e9
    for before, after in workers(found, "process.memory.shared"):
        assert before > 1.4e9
        assert after == 0


@pytest.mark.parametrize("reports", [True, False])
def test_a_full_host_loses_a_process_with_or_without_the_kernels_message(reports):
    found = broken("host_oom_growth", {"host": 1, "seconds": 30.0, "reports": reports})
    deaths = found.attempts[0].deaths
    first = min(deaths, key=lambda rank: deaths[rank].at)
    assert found.attempts[0].seats.host[first] == 1
    assert deaths[first].signal == 9
    assert len(events(found, "host.oom_kill")) == reports
    rises = [row.value.max() for row in found.series if row.metric == "system.memory.usage"]
    assert max(rises) > 0.9 * memory.HOST_MEMORY


def test_a_leaking_data_loader_ends_as_the_killed_worker_that_it_is():
    found = broken("dataloader_leak", {"rate": 2.0, "workers": 2, **PLACE}, workers=2)
    (kill,) = events(found, "host.oom_kill")
    pid = int(found.attempts[0].seats.pid[CULPRIT])
    assert kill.attributes["pid"] in (pid + 1, pid + 2)
    (root,) = [e for e in events(found, "log.fault") if e.attributes["role"] == "root"]
    assert "is killed by signal: Killed" in root.attributes["text"]


def test_full_shared_memory_ends_in_a_bus_error():
    found = broken("shm_exhausted", {"host": 1, "seconds": 30.0}, workers=2)
    used = {row.host: row.value.max() for row in found.series if row.metric == "system.shm.usage"}
    assert max(used, key=lambda host: used[host]) == 1
    assert 0.8 * memory.SHM_LIMIT < used[1] <= memory.SHM_LIMIT
    (root,) = [e for e in events(found, "log.fault") if e.attributes["role"] == "root"]
    assert "Bus error" in root.attributes["text"]


def test_a_host_without_devices_reports_no_device_memory():
    base = scenario()
    bare = base.__class__(
        base.name,
        base.text,
        60.0,
        base.cluster.__class__(hosts=1, slots=2, gpus=False),
        base.jobs,
        base.reporting,
    )
    found = memory_of(bare)
    assert not [name for name in found if name.startswith("training.memory")]


def memory_of(bare):
    from rankscope.lab.simulator import recording  # noqa: PLC0415

    return {row.metric for row in recording.simulate(bare, 1).series}
