"""Simulated devices obey heat, power and clocks."""

import numpy as np
import pytest

from rankscope.lab.simulator import devices, recording
from rankscope.lab.simulator.conditions import healthy, settled
from rankscope.lab.simulator.placement import device_id
from rankscope.lab.simulator.shape import EPOCH, ReportingHabits, SimulatedCluster, SimulatedJob

from .machines import after, broken, events, rows, scenario, slowdown

PLACE = {"host": 2, "place": 1}
CULPRIT = device_id(2, 1)


def lowest(values):
    return min(values, key=lambda name: values[name])


def highest(values):
    return max(values, key=lambda name: values[name])


def test_healthy_devices_reach_almost_their_highest_clock_whatever_the_lottery():
    for seed in range(20):
        state = settled(healthy(SimulatedCluster(hosts=4, slots=8), seed))
        assert state.clock.min() > 0.97
        assert not state.thermal.any()


def test_a_device_that_loses_cooling_slows_down_and_is_last_at_the_collective():
    found = broken("thermal_throttle", clock=0.6, ramp=10.0, **PLACE)
    (culprit,) = found.truth.entity.ranks
    clock = after(found, "hw.frequency", "hw.id", domain="sm")
    assert lowest(clock) == CULPRIT == found.truth.entity.id
    assert clock[CULPRIT] == pytest.approx(0.6 * np.median(list(clock.values())), rel=0.05)
    heat = after(found, "hw.temperature", "hw.id", hw_sensor="gpu")
    assert highest(heat) == CULPRIT
    assert heat[CULPRIT] > 83
    late = [at.min() > found.truth.onset - EPOCH + 20 for at in found.attempts[0].steps.start]
    comm = np.stack(found.attempts[0].steps.comm)[late]
    assert (np.argmin(comm, axis=1) == culprit).mean() > 0.95


def test_heat_is_the_reason_that_the_device_itself_gives():
    found = broken("thermal_throttle", clock=0.5, ramp=5.0, **PLACE)
    active = after(found, "hw.gpu.throttle", "hw.id", reason="thermal_hw")
    assert {name for name, value in active.items() if value} == {CULPRIT}
    (fault,) = events(found, "gpu.fault")
    assert fault.attributes["code"] == "slowdown.sustained"
    assert fault.attributes["class"] == "degraded"


def test_a_lower_power_limit_lowers_clock_and_power_and_leaves_the_device_cool():
    found = broken("power_limited", clock=0.7, **PLACE)
    limit = after(found, "hw.power.limit", "hw.id")
    power = after(found, "hw.power", "hw.id")
    heat = after(found, "hw.temperature", "hw.id", hw_sensor="gpu")
    assert lowest(limit) == lowest(power) == CULPRIT
    assert heat[CULPRIT] < 75
    assert power[CULPRIT] <= 1.02 * limit[CULPRIT]
    assert after(found, "hw.gpu.throttle", "hw.id", reason="power_cap")[CULPRIT] == 1


def test_a_power_brake_halves_the_clocks_of_the_whole_host_in_hardware():
    found = broken("power_limited", by="brake", whole_host=True, **PLACE)
    assert found.truth.entity.type == "host"
    clock = after(found, "hw.frequency", "host", domain="sm")
    assert clock[2] == pytest.approx(0.5 * clock[0], rel=0.05)
    braked = after(found, "hw.gpu.throttle", "host", reason="power_brake")
    assert [host for host, value in braked.items() if value] == [2]


def test_a_locked_clock_is_low_and_cool_and_nothing_protects_itself():
    found = broken("clock_locked", clock=0.6, **PLACE)
    assert lowest(after(found, "hw.frequency", "hw.id", domain="sm")) == CULPRIT
    assert after(found, "hw.temperature", "hw.id", hw_sensor="gpu")[CULPRIT] < 75
    assert after(found, "hw.gpu.throttle", "hw.id", reason="clocks_setting")[CULPRIT] == 1
    for reason in ("thermal_hw", "thermal_sw", "power_cap"):
        assert after(found, "hw.gpu.throttle", "hw.id", reason=reason)[CULPRIT] == 0
    assert not events(found, "gpu.fault")


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ("thermal_throttle", {"clock": 0.7, "ramp": 5.0}),
        ("power_limited", {"clock": 0.7}),
        ("clock_locked", {"clock": 0.7}),
        ("foreign_process", {"share": 0.3}),
        ("slow_gpu", {"drag": 1.43}),
    ],
)
def test_a_device_that_works_at_seven_tenths_costs_the_job_as_much_whatever_the_reason(
    kind, settings
):
    found = broken(kind, **PLACE, **settings)
    # 74 % of a step are arithmetic.
    assert slowdown(found) == pytest.approx(1 + 0.74 * (1 / 0.7 - 1), abs=0.06)


def test_a_device_that_is_slow_without_a_reason_reports_nothing_unusual():
    found = broken("slow_gpu", drag=1.4, **PLACE)
    assert found.truth.entity.id == CULPRIT
    clock = after(found, "hw.frequency", "hw.id", domain="sm")
    assert clock[CULPRIT] == pytest.approx(max(clock.values()), rel=0.02)
    assert not events(found, "gpu.fault")


def test_a_foreign_process_holds_memory_that_is_no_ranks():
    found = broken("foreign_process", share=0.2, gibibytes=8.0, **PLACE)
    strange = [
        (dict(named)["hw.id"], float(value.max()))
        for (_, named), (_, value) in rows(found, "hw.gpu.process.memory").items()
        if "rank" not in dict(named)
    ]
    assert strange == [(CULPRIT, 8 * 2.0**30)]


def test_a_lost_device_falls_silent_is_counted_and_its_rank_dies_first():
    found = broken("gpu_lost", after=2.0, **PLACE)
    (culprit,) = found.truth.entity.ranks
    onset = found.truth.onset - EPOCH
    for (_, named), (at, _) in rows(found, "hw.power").items():
        if dict(named)["hw.id"] == CULPRIT:
            assert at.max() < onset
    failed = after(found, "hw.gpu.count", "host", state="failed")
    assert {host: value for host, value in failed.items() if value} == {2: 1.0}
    deaths = found.attempts[0].deaths
    assert min(deaths, key=lambda rank: deaths[rank].at) == culprit
    assert {event.attributes["code"] for event in events(found, "gpu.fault")} >= {"79"}
    assert set(after(found, "hw.status", "hw.state")) == {"ok", "failed"}


def test_a_lost_device_may_leave_its_job_hanging():
    found = broken("gpu_lost", after=None, logged=False, **PLACE)
    assert not found.attempts[0].deaths
    assert found.attempts[0].unfinished is not None
    assert {event.attributes["code"] for event in events(found, "gpu.fault")} == {"nvml.lost"}


def test_a_process_launches_on_while_its_devices_firmware_hangs():
    found = broken("firmware_hang", logged=False, **PLACE)
    (culprit,) = found.truth.entity.ranks
    counted: dict[str, dict[object, float]] = {}
    for name in ("enqueued", "completed"):
        for (_, named), (_, value) in rows(found, f"collective.{name}").items():
            counted.setdefault(name, {})[dict(named)["rank"]] = value[-1]
            assert (np.diff(value) >= 0).all()
    assert counted["enqueued"][culprit] == max(counted["enqueued"].values())
    assert counted["completed"].pop(culprit) == min(counted["completed"].values()) - 1
    (fault,) = events(found, "gpu.fault")
    assert fault.attributes["code"] == "nvml.hung"


def test_an_uncorrectable_error_is_counted_whether_anybody_writes_of_it_or_not():
    for logged in (True, False):
        found = broken("memory_uncorrectable", logged=logged, kills=False, **PLACE)
        counted = after(found, "hw.errors", "hw.id", error_type="uncorrected", hw_part="hbm")
        assert {name for name, value in counted.items() if value} == {CULPRIT}
        codes = {event.attributes["code"] for event in events(found, "gpu.fault")}
        assert ("94" in codes) == logged
        assert "ecc.uncorrectable" in codes


def test_who_may_not_read_the_kernels_log_still_hears_critical_codes_from_the_driver():
    base = scenario(reporting=ReportingHabits(kernel_log=False))
    found = broken("gpu_lost", base=base, **PLACE)
    sources = {event.attributes["source"] for event in events(found, "gpu.fault")}
    assert sources == {"nvml"}


def test_a_row_that_waits_to_be_remapped_costs_nothing():
    found = broken("row_remap", logged=False, **PLACE)
    pending = after(found, "hw.gpu.row_remap", "hw.id", state="pending")
    assert {name for name, value in pending.items() if value} == {CULPRIT}
    assert slowdown(found) == pytest.approx(1, abs=0.03)


def test_an_idle_link_rests_at_generation_one_and_a_degraded_one_shows_under_load():
    found = broken("pcie_degraded", lanes=0.25, generations=0, **PLACE)
    width = after(found, "hw.gpu.pcie.width", "hw.id")
    assert width[CULPRIT] == 4
    assert {value for name, value in width.items() if name != CULPRIT} == {16}
    for (_, named), (at, value) in rows(found, "hw.gpu.pcie.generation").items():
        assert set(value[at < 5]) <= {1}
        if "rank" in dict(named):
            assert set(value[at > 30]) == {5}


def test_a_failed_nvlink_slows_the_collectives_and_counts_on_its_device_alone():
    found = broken("nvlink", down=2, errors=20.0, width=0.4, **PLACE)
    down = {
        (dict(named)["hw.id"], dict(named)["link"])
        for (_, named), (_, value) in rows(found, "hw.gpu.nvlink.up").items()
        if value[-1] == 0
    }
    assert down == {(CULPRIT, "0"), (CULPRIT, "1")}
    assert slowdown(found) == pytest.approx(1 + 0.2 * 1.5, abs=0.05)


def test_silent_corruption_moves_the_loss_of_one_rank_and_no_reading():
    found = broken("silent_corruption", error=0.3, **PLACE)
    (culprit,) = found.truth.entity.ranks
    loss = np.stack([row.loss for row in found.attempts[0].steps.values])[-40:].mean(axis=0)
    assert int(np.argmax(loss)) == culprit
    assert loss[culprit] / np.median(loss) == pytest.approx(1.3, abs=0.05)
    assert slowdown(found) == pytest.approx(1, abs=0.03)


def test_a_device_that_waits_is_utilised_and_draws_little():
    found = broken("stuck_process", **PLACE)
    (culprit,) = found.truth.entity.ranks
    onset = found.truth.onset - EPOCH
    for (_, named), (at, value) in rows(found, "hw.power").items():
        rank = dict(named).get("rank")
        if rank not in (culprit, None):
            working = value[(at > 40) & (at < onset)].mean()
            assert value[at > onset + 20].mean() < 0.5 * working
    busy = after(found, "hw.gpu.utilization", "rank", rank=(culprit + 1) % 8)
    assert list(busy.values()) == [1.0]


def test_a_hot_device_in_warm_air_is_healthy():
    base = scenario(hot=((2, 1, 8.0),))
    found = recording.simulate(base, 3)
    for at, value in rows(found, "hw.gpu.throttle", reason="thermal_sw").values():
        assert not value[at > 20].any()
    heat = {
        dict(named)["hw.id"]: np.median(value[at > 100])
        for (_, named), (at, value) in rows(found, "hw.temperature", hw_sensor="gpu").items()
        if "rank" in dict(named)
    }
    assert highest(heat) == CULPRIT


def test_a_power_cap_for_all_lowers_all_clocks_alike():
    found = recording.simulate(scenario(power_cap=0.7), 3)
    clocks = [
        np.median(value[at > 40])
        for at, value in rows(found, "hw.frequency", domain="sm").values()
        if (at > 40).any()
    ]
    assert max(clocks) < 0.9 * 1_980e6
    assert max(clocks) / min(clocks) < 1.05


def test_another_job_or_none_leaves_a_device_to_itself():
    job = SimulatedJob(step_seconds=1.0, slots=(0,))
    found = recording.simulate(scenario(job=job), 1)
    for (_, named), (at, value) in rows(found, "hw.gpu.utilization").items():
        if dict(named)["gpu"] == 1:
            assert value.max() < 0.05
        elif "rank" in dict(named):
            assert value[at > 40].min() > 0.5


def test_the_clock_that_is_wanted_is_the_clock_that_comes_out():
    state = settled(healthy(SimulatedCluster(hosts=1, slots=1), 0))
    state.devices.cooling[0] = devices.cooling_for(0.6, float(state.devices.inlet[0]))
    assert devices.settle(state.devices)[0] == pytest.approx(0.6, abs=0.02)
    state.devices.cooling[0] = 1.0
    state.devices.limit[0] = devices.limit_for(0.6)
    assert devices.settle(state.devices)[0] == pytest.approx(0.6, abs=0.02)


def test_devices_of_each_model_are_called_by_their_own_name():
    two = SimulatedCluster(hosts=2, slots=1, models=((1_980e6, 700.0), (1_410e6, 400.0)))
    found = recording.simulate(scenario(cluster=two), 1)
    names = {
        (series.host, dict(series.attributes)["hw.model"])
        for series in found.series
        if series.metric == "hw.gpu.info"
    }
    assert names == {(0, "NVIDIA H100 80GB HBM3"), (1, "NVIDIA A100-SXM4-80GB")}
