"""What devices of each kind say, in the vocabulary's names and units."""

import pytest

from rankscope.agent.nvml import SUBJECTS
from rankscope.agent.readers import catalogue
from rankscope.lab.node.nvml import NvmlScenario
from rankscope.vocabulary import metrics


def test_the_names_that_the_agent_knows_are_the_subjects_that_the_worker_has():
    from rankscope.agent.nvml.subjects import READ  # noqa: PLC0415  it loads pynvml

    assert list(READ) == list(SUBJECTS)


def test_an_h100_says_everything_in_the_vocabularys_units(watched, until):
    one = watched(gpus=1)
    scenario = one.scenario
    with scenario.together():
        scenario.set(0, "power_mw", 612_500)
        scenario.set(0, "power_enforced_mw", 650_000)
        scenario.set(0, "energy_mj", 7_000_500)
        scenario.set(0, "util_gpu", 97)
        scenario.set(0, "util_memory", 33)
        scenario.set(0, "memory_total", 80 << 30)
        scenario.set(0, "memory_used", 10 << 30)
        scenario.set(0, "memory_reserved", 1 << 29)
        scenario.set(0, "temperature_c", 61)
        scenario.set(0, "clock_sm_mhz", 1755)
        scenario.set(0, "clock_mem_mhz", 2619)
        scenario.set(0, "throttle_reasons", 0x4 | 0x40)
        scenario.set(0, "violation_power_ns", 2_500_000_000)
        scenario.set(0, "ecc_sbe", 7)
        scenario.set(0, "pcie_gen", 5)
        scenario.set(0, "pcie_replays", 3)
        scenario.processes(0, {4242: 5 << 30})
    until(lambda: one.all_said() and one.value("hw.power") == 612.5)
    until(lambda: _has(one, "hw.gpu.sm.activity"))  # GPM needs a second sample
    expected = {
        "hw.power": 612.5,
        "hw.power.limit": 650.0,
        "hw.gpu.utilization": 0.97,
        "hw.gpu.memory.copy.utilization": 0.33,
        "hw.gpu.memory.limit": 80 << 30,
        "hw.gpu.memory.usage": 10 << 30,
        "hw.gpu.memory.reserved": 1 << 29,
        "hw.gpu.pcie.generation": 5,
        "hw.gpu.pcie.replays": 3,
    }
    assert {metric: one.value(metric) for metric in expected} == expected
    assert one.value("hw.energy") == pytest.approx(7000.5, abs=2000)
    assert one.value("hw.temperature", hw_sensor="gpu") == 61
    assert one.value("hw.frequency", domain="sm") == 1.755e9
    assert one.value("hw.frequency", domain="memory") == 2.619e9
    assert one.value("hw.gpu.throttle", reason="power_cap") == 1
    assert one.value("hw.gpu.throttle", reason="thermal_hw") == 1
    assert one.value("hw.gpu.throttle", reason="idle") == 0
    assert one.value("hw.gpu.throttle.duration", reason="power_cap") == 2.5
    assert one.value("hw.errors", error_type="corrected", hw_part="hbm") == 7
    assert one.value("hw.gpu.process.memory", pid=4242) == 5 << 30
    assert one.value("hw.gpu.nvlink.up", link=17) == 1
    assert 0 < one.value("hw.gpu.sm.activity") <= 1
    assert 0 < one.value("hw.gpu.tensor.activity") <= 1
    assert one.value("hw.gpu.recovery_action", action="none") == 1


def faults_of(one, gpu=0):
    """Return what the driver is passed on as reporting of a device's fabric."""
    return {
        str(dict(sample.attributes)["reason"])
        for sample in one.supervisor.samples("gpu_fabric", since=0.0)
        if sample.value and dict(sample.attributes)["hw.id"] == one.uuid(gpu)
    }


def test_the_health_of_the_fabric_is_passed_on_by_its_mask(watched, until):
    one = watched(gpus=2)
    until(lambda: _has(one, "hw.gpu.fabric.fault"))
    assert faults_of(one) == set()
    with one.scenario.together():
        one.scenario.set(1, "fabric_health_mask", 0x1 | 0x8 | 0x10 | 0x80 | 0x700 | 0x8000)
        one.scenario.set(1, "fabric_health_summary", 2)
    said = {"degraded_bandwidth", "route_unhealthy", "invalid_location", "manager_disconnected"}
    until(lambda: faults_of(one, 1) == said | {"unhealthy"})
    assert faults_of(one) == set()


def test_a_device_says_the_number_of_its_file_which_its_index_need_not_be(watched, until, tmp_path):
    scenario = NvmlScenario(tmp_path / "driver", profile="H100", gpus=2)
    scenario.set(0, "minor", 1)
    scenario.set(1, "minor", 0)
    one = watched.over(scenario)
    until(one.all_said)
    told = [dict(sample.attributes) for sample in one.supervisor.samples("gpu_info", since=0.0)]
    assert {(pairs["gpu"], pairs["hw.minor"]) for pairs in told} == {(0, 1), (1, 0)}


def test_an_older_driver_is_asked_for_the_older_structure(watched, until, tmp_path):
    scenario = NvmlScenario(tmp_path / "driver", profile="H100", gpus=1)
    scenario.set(0, "fabric_version", 2)
    scenario.set(0, "fabric_health_mask", 0x1)
    one = watched.over(scenario)
    until(lambda: faults_of(one) == {"degraded_bandwidth"})


def test_a_device_that_is_on_no_fabric_has_none_of_its_faults(watched, until):
    one = watched(profile="L40S", gpus=1)
    until(one.all_said)
    assert not _has(one, "hw.gpu.fabric.fault")


def _has(one, metric):
    return any(
        sample.metric == metric
        for subject in SUBJECTS
        for sample in one.supervisor.samples(subject, since=0.0)
    )


@pytest.mark.parametrize(
    "profile",
    ["H100", *(pytest.param(p, marks=pytest.mark.long) for p in ("A100", "B200", "L40S", "T4"))],
)
def test_what_a_device_says_is_in_the_vocabulary_and_in_its_readers_entry(watched, until, profile):
    one = watched(profile=profile, gpus=2)
    until(one.all_said)
    for subject in SUBJECTS:
        for sample in one.supervisor.samples(subject, since=0.0):
            metric = metrics.catalogue()[sample.metric]
            names = {name for name, _ in sample.attributes}
            assert set(metric.attributes) <= names <= {*metric.attributes, *metric.optional}
            assert sample.metric in catalogue.entries()[subject].metrics
            assert sample.value >= 0


@pytest.mark.parametrize(
    ("profile", "missing"),
    [
        ("T4", ["hw.gpu.nvlink.up", "hw.gpu.row_remap", "hw.gpu.sm.activity"]),
        pytest.param("L40S", ["hw.gpu.nvlink.up"], marks=pytest.mark.long),
        pytest.param("A100", ["hw.gpu.sm.activity"], marks=pytest.mark.long),
    ],
)
def test_what_a_device_does_not_have_gives_no_series_and_no_failure(
    watched, until, profile, missing
):
    one = watched(profile=profile, gpus=1)
    until(one.all_said)
    assert [metric for metric in missing if _has(one, metric)] == []
    assert one.answering() == [True]
    assert one.codes() == []
    until(lambda: one.supervisor.notes()[one.uuid(0)])  # which says why


def test_functions_that_an_old_driver_does_not_have_leave_the_others_alone(watched, until):
    one = watched(gpus=1)
    one.scenario.absent(
        "nvmlDeviceGetCurrentClocksEventReasons",
        "nvmlDeviceGetMemoryInfo_v2",
        "nvmlDeviceGetFieldValues",
        "nvmlGpmQueryDeviceSupport",
    )
    one.scenario.set(0, "throttle_reasons", 0x4)
    until(lambda: "nvmlDeviceGetFieldValues" in one.supervisor.notes().get(one.uuid(0), {}))
    until(lambda: one.value("hw.gpu.throttle", reason="power_cap") == 1)  # by the older name
    assert one.value("hw.gpu.memory.limit") > 0
    assert one.answering() == [True]


def test_one_reading_that_fails_costs_nothing_but_itself(watched, until):
    one = watched(gpus=1)
    until(one.all_said)
    one.scenario.fail(0, "nvmlDeviceGetPowerUsage", 999)
    one.scenario.set(0, "temperature_c", 44)
    until(lambda: "nvmlDeviceGetPowerUsage" in one.supervisor.notes()[one.uuid(0)])
    until(lambda: one.value("hw.temperature", hw_sensor="gpu") == 44)
    power = one.supervisor.samples("gpu_power", since=0.0)
    assert "hw.power.limit" in {sample.metric for sample in power}
    one.scenario.unset(0, "error.nvmlDeviceGetPowerUsage")
    until(lambda: _has(one, "hw.power"))
