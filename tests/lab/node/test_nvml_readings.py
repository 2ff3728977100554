"""A stock NVML client reads from the stub what the scenario says, of each kind of GPU."""

import pytest

from rankscope.lab.node import nvml
from rankscope.lab.node.nvml import NvmlScenario

NOT_SUPPORTED = {"code": 3}


def test_devices_have_the_identity_of_the_scenario(client):
    assert client("n.nvmlDeviceGetCount()") == 8
    assert client("n.nvmlDeviceGetName(d[3])") == "NVIDIA H100 80GB HBM3"
    assert client("n.nvmlDeviceGetUUID(d[3])") == nvml.gpu_uuid(3)
    assert client("n.nvmlDeviceGetMinorNumber(d[3])") == 3
    assert client("n.nvmlDeviceGetIndex(d[3])") == 3
    assert client("n.nvmlSystemGetDriverVersion()") == nvml.DRIVERS["driver_version"]
    assert client("n.nvmlSystemGetCudaDriverVersion_v2()") == nvml.DRIVERS["cuda_version"]
    assert client("n.nvmlDeviceGetCudaComputeCapability(d[0])") == [9, 0]
    pci = client("n.nvmlDeviceGetPciInfo(d[3])")
    assert pci["busId"] == "00000000:61:00.0"
    assert (pci["bus"], pci["pciDeviceId"]) == (0x61, 0x233010DE)


def test_a_device_is_found_by_its_uuid_and_by_its_bus_address(client):
    uuid = nvml.gpu_uuid(5)
    assert client(f"n.nvmlDeviceGetIndex(n.nvmlDeviceGetHandleByUUID({uuid!r}))") == 5
    assert client("n.nvmlDeviceGetIndex(n.nvmlDeviceGetHandleByPciBusId('0000:c3:00.0'))") == 5
    assert client("n.nvmlDeviceGetHandleByUUID('GPU-nobody')") == {"code": 6}
    assert client("n.nvmlDeviceGetHandleByIndex(8)") == {"code": 2}


def test_the_first_form_of_memory_counts_the_reserve_as_used_and_the_second_does_not(client):
    total, used, reserved = 85520809984, 72477573120, 576716800
    first = client("n.nvmlDeviceGetMemoryInfo(d[0])")
    assert first == {"total": total, "used": used + reserved, "free": total - used - reserved}
    second = client("n.nvmlDeviceGetMemoryInfo(d[0], version=n.nvmlMemory_v2)")
    assert (second["used"], second["reserved"]) == (used, reserved)


def test_readings_are_in_nvmls_units(client):
    assert client("n.nvmlDeviceGetPowerUsage(d[0])") == 612_000
    assert client("n.nvmlDeviceGetEnforcedPowerLimit(d[0])") == 700_000
    assert client("n.nvmlDeviceGetPowerManagementLimitConstraints(d[0])") == [200_000, 700_000]
    assert client("n.nvmlDeviceGetTemperature(d[0], 0)") == 58
    assert client("n.nvmlDeviceGetTemperatureThreshold(d[0], 1)") == 89
    assert client("n.nvmlDeviceGetClockInfo(d[0], n.NVML_CLOCK_SM)") == 1755
    assert client("n.nvmlDeviceGetMaxClockInfo(d[0], n.NVML_CLOCK_MEM)") == 2619
    assert client("n.nvmlDeviceGetUtilizationRates(d[0])") == {"gpu": 98, "memory": 41}
    assert client("n.nvmlDeviceGetCurrPcieLinkGeneration(d[0])") == 5
    assert client("n.nvmlDeviceGetCurrPcieLinkWidth(d[0])") == 16
    assert client("n.nvmlDeviceGetMarginTemperature(d[0])") == 0


def test_a_device_answers_its_own_value_before_that_of_all(scenario, client, until):
    scenario.set("all", "temperature_c", 40)
    scenario.set(2, "temperature_c", 91)
    reads = "[n.nvmlDeviceGetTemperature(d[i], 0) for i in (1, 2)]"
    until(lambda: client(reads) == [40, 91])
    scenario.unset(2, "temperature_c")
    until(lambda: client(reads) == [40, 40])


def test_energy_is_the_integral_of_power_and_never_goes_back(scenario, client, until):
    before = client("n.nvmlDeviceGetTotalEnergyConsumption(d[0])")
    scenario.set(0, "power_mw", 1)
    until(lambda: client("n.nvmlDeviceGetPowerUsage(d[0])") == 1)
    after = client("n.nvmlDeviceGetTotalEnergyConsumption(d[0])")
    assert after >= before
    scenario.set(0, "power_mw", 500_000_000)
    until(lambda: client("n.nvmlDeviceGetTotalEnergyConsumption(d[0])") > after + 1_000_000)


def test_error_counters_ramp(scenario, client, until):
    scenario.ramp(4, "ecc_sbe", 1000)
    count = "n.nvmlDeviceGetTotalEccErrors(d[{}], 0, 0)"
    until(lambda: client(count.format(4)) > 50)
    assert client(count.format(3)) == 0
    scenario.set(4, "ecc_dbe", 3)
    until(lambda: client("n.nvmlDeviceGetTotalEccErrors(d[4], 1, 0)") == 3)
    assert client("n.nvmlDeviceGetMemoryErrorCounter(d[4], 1, 0, n.NVML_MEMORY_LOCATION_DRAM)") == 3
    assert client("n.nvmlDeviceGetMemoryErrorCounter(d[4], 1, 0, n.NVML_MEMORY_LOCATION_SRAM)") == 0


def test_row_remapping_and_retired_pages_say_what_is_pending(scenario, client, until):
    scenario.set(1, "remap_pending", 1)
    scenario.set(1, "remap_failed", 1)
    until(lambda: client("n.nvmlDeviceGetRemappedRows(d[1])") == [0, 0, 1, 1])
    assert client("n.nvmlDeviceGetRowRemapperHistogram(d[1])")["max"] == 2560
    assert client("n.nvmlDeviceGetRetiredPages(d[1], 0)") == NOT_SUPPORTED
    scenario.set(1, "retired_dbe", "0x1000, 0x2000")
    until(lambda: client("n.nvmlDeviceGetRetiredPages(d[1], 1)") == [0x1000, 0x2000])
    assert [page["address"] for page in client("n.nvmlDeviceGetRetiredPages_v2(d[1], 1)")] == [
        0x1000,
        0x2000,
    ]


def test_throttle_reasons_are_a_mask_and_violations_are_nanoseconds(scenario, client, until):
    scenario.set(6, "throttle_reasons", 0x8 | 0x40)
    until(lambda: client("n.nvmlDeviceGetCurrentClocksEventReasons(d[6])") == 0x48)
    assert client("n.nvmlDeviceGetCurrentClocksThrottleReasons(d[6])") == 0x48
    assert client("n.nvmlDeviceGetCurrentClocksEventReasons(d[5])") == 0
    scenario.set(6, "violation_thermal_ns", 5_000_000_000)
    until(
        lambda: (
            client("n.nvmlDeviceGetViolationStatus(d[6], n.NVML_PERF_POLICY_THERMAL)")[
                "violationTime"
            ]
            == 5_000_000_000
        )
    )


def test_links_have_states_and_error_counters_of_their_own(scenario, client, until):
    scenario.set(0, "nvlink.7.state", 0)
    scenario.set(0, "nvlink.7.crc_flit", 41)
    states = "[n.nvmlDeviceGetNvLinkState(d[0], link) for link in range(18)]"
    until(lambda: client(states) == [1] * 7 + [0] + [1] * 10)
    flits = "n.nvmlDeviceGetNvLinkErrorCounter(d[0], {}, n.NVML_NVLINK_ERROR_DL_CRC_FLIT)"
    assert [client(flits.format(link)) for link in (6, 7)] == [0, 41]
    assert client("n.nvmlDeviceGetNvLinkState(d[0], 18)") == {"code": 2}
    assert client("n.nvmlDeviceGetNvLinkVersion(d[0], 0)") == 4


def values(client, fields):
    """Return (code, value) of each field asked of device 0."""
    got = client(
        f"[(v.nvmlReturn, v.value.siVal if v.valueType == 5 else v.value.ullVal)"
        f" for v in n.nvmlDeviceGetFieldValues(d[0], {fields!r})]"
    )
    return [tuple(one) for one in got]


def test_fields_agree_with_the_functions_that_read_the_same(scenario, client, until):
    scenario.set(0, "nvlink.2.crc_flit", 5)
    scenario.set(0, "recovery_action", 2)
    until(lambda: values(client, [230]) == [(0, 2)])
    assert values(client, [82, 186, 34, 38, (163, 2), (163, 3), 194, 91]) == [
        (0, 66),  # memory temperature
        (0, 612_000),  # power at this instant
        (0, 5),  # CRC flits of link 2, by the old id of that lane
        (0, 5),  # and of all lanes
        (0, 5),  # and by the new id, the link as scope
        (0, 0),
        (0, -2),  # a temperature limit below zero
        (0, 18),
    ]
    assert values(client, [215]) == [(3, 0)], "an H100 does not report recoveries this way"


def test_a_field_without_a_scope_is_that_of_the_first_link(scenario, client, until):
    scenario.set(0, "nvlink_data_tx_kib", 18_000)
    every = 0xFFFFFFFF
    until(lambda: values(client, [(138, every)]) == [(0, 18_000)])
    assert values(client, [138, (138, 17)]) == [(0, 1000), (0, 1000)]
    assert values(client, [(138, 18)])[0][0] == 2, "there is no link 18"


def test_a_field_may_be_said_outright(scenario, client, until):
    scenario.set(0, "field.173", 12)
    scenario.set(0, "field.221.4", 99)
    until(lambda: values(client, [173, (221, 4)]) == [(0, 12), (0, 99)])


def test_processes_are_listed_with_their_memory(scenario, client, until):
    assert client("n.nvmlDeviceGetComputeRunningProcesses(d[0])") == []
    scenario.processes(0, {4242: 80 << 30, 4243: 1 << 20})
    listed = "n.nvmlDeviceGetComputeRunningProcesses_v3(d[0])"
    found = until(lambda: client(listed))
    assert [(one["pid"], one["usedGpuMemory"]) for one in found] == [
        (4242, 80 << 30),
        (4243, 1 << 20),
    ]
    assert client("n.nvmlDeviceGetGraphicsRunningProcesses_v3(d[0])") == []


def test_process_utilization_is_told_for_samples_newer_than_the_last_seen(scenario, client, until):
    ask = "n.nvmlDeviceGetProcessUtilization(d[0], {})"
    assert client(ask.format(0)) == {"code": 6}
    scenario.set(0, "process_utilization", "4242:97:40:0:0, 4243:1:0:0:0")
    found = until(lambda: not isinstance(client(ask.format(0)), dict) and client(ask.format(0)))
    assert [(one["pid"], one["smUtil"]) for one in found] == [(4242, 97), (4243, 1)]
    assert client(ask.format(found[0]["timeStamp"] + 10**12)) == {"code": 6}


def test_gpm_metrics_come_from_two_samples_in_order(client):
    get = (
        "(lambda g: (setattr(g, 'version', 1), setattr(g, 'numMetrics', 3),"
        " setattr(g.metrics[0], 'metricId', 2), setattr(g.metrics[1], 'metricId', 5),"
        " setattr(g.metrics[2], 'metricId', 33),"
        " setattr(g, 'sample1', {}), setattr(g, 'sample2', {}), n.nvmlGpmMetricsGet(g),"
        " [(g.metrics[i].nvmlReturn, g.metrics[i].value) for i in range(3)])[-1])"
        "(n.c_nvmlGpmMetricsGet_t())"
    )
    assert client("n.nvmlGpmQueryDeviceSupport(d[0])")["isSupportedDevice"] == 1
    client.hold("a", "n.nvmlGpmSampleGet(d[0], n.nvmlGpmSampleAlloc())")
    client.hold("b", "n.nvmlGpmSampleGet(d[0], n.nvmlGpmSampleAlloc())")
    assert client(get.format("a", "b")) == [[0, 88.1], [0, 54.2], [3, 0.0]]
    assert client(get.format("b", "a")) == {"code": 2}
    client.hold("other", "n.nvmlGpmSampleGet(d[1], n.nvmlGpmSampleAlloc())")
    assert client(get.format("a", "other")) == {"code": 2}


def test_a_mig_device_is_a_device_with_fewer_answers(scenario, client, until):
    with scenario.together():
        scenario.set(0, "mig_mode", 1)
        scenario.set(0, "mig.0", f"MIG-one:9:0:{1 << 30}:{10 << 30}")
        scenario.set(0, "processes", f"77:{1 << 29}:9:0, 78:{1 << 29}:11:0")
    until(lambda: client("n.nvmlDeviceGetMigMode(d[0])") == [1, 1])
    assert client("n.nvmlDeviceGetMigMode(d[1])") == [0, 0]
    client.hold("m", "n.nvmlDeviceGetMigDeviceHandleByIndex(d[0], 0)")
    assert client("n.nvmlDeviceGetUUID(m)") == "MIG-one"
    assert client("n.nvmlDeviceGetGpuInstanceId(m)") == 9
    assert client("n.nvmlDeviceGetMemoryInfo(m)")["total"] == 10 << 30
    found = client("n.nvmlDeviceGetComputeRunningProcesses_v3(m)")
    assert [one["pid"] for one in found] == [77]
    assert client("n.nvmlDeviceGetPowerUsage(m)") == NOT_SUPPORTED
    assert client("n.nvmlDeviceGetMigDeviceHandleByIndex(d[0], 1)") == {"code": 6}


# What each kind lacks: (NVLink, memory temperature, row remapping, GPM, retired pages).
LACKS = {
    "T4": {"nvlink", "memory_temperature", "row_remap", "gpm", "mig", "margin"},
    "A100": {"gpm", "retired", "margin"},
    "H100": {"retired"},
    "L40S": {"nvlink", "memory_temperature", "gpm", "retired", "mig"},
    "B200": {"retired"},
}
PROBES = {
    "nvlink": "n.nvmlDeviceGetNvLinkState(n.nvmlDeviceGetHandleByIndex(0), 0)",
    "row_remap": "n.nvmlDeviceGetRemappedRows(n.nvmlDeviceGetHandleByIndex(0))",
    "retired": "n.nvmlDeviceGetRetiredPages(n.nvmlDeviceGetHandleByIndex(0), 0)",
    "mig": "n.nvmlDeviceGetMigMode(n.nvmlDeviceGetHandleByIndex(0))",
    "margin": "n.nvmlDeviceGetMarginTemperature(n.nvmlDeviceGetHandleByIndex(0))",
    "gpm": "n.nvmlGpmSampleGet(n.nvmlDeviceGetHandleByIndex(0), n.nvmlGpmSampleAlloc()) and 1",
    "memory_temperature": "(lambda v: {'code': v.nvmlReturn} if v.nvmlReturn else v.value.uiVal)"
    "(n.nvmlDeviceGetFieldValues(n.nvmlDeviceGetHandleByIndex(0), [82])[0])",
}


@pytest.mark.parametrize("kind", sorted(LACKS))
def test_each_kind_of_gpu_lacks_what_it_lacks(kind, tmp_path, start):
    client = start(NvmlScenario(tmp_path, profile=kind, gpus=1).environment())
    lacking = {name for name, call in PROBES.items() if client(call) == NOT_SUPPORTED}
    assert LACKS[kind] == lacking


@pytest.mark.parametrize("kind", sorted(LACKS))
def test_an_idle_gpu_draws_less_and_its_link_is_at_rest(kind, tmp_path, start):
    client = start(NvmlScenario(tmp_path, profile=kind, gpus=1, busy=False).environment())
    client.hold("d", "n.nvmlDeviceGetHandleByIndex(0)")
    assert client("n.nvmlDeviceGetPowerUsage(d)") < client("n.nvmlDeviceGetEnforcedPowerLimit(d)")
    assert client("n.nvmlDeviceGetUtilizationRates(d)")["gpu"] == 0
    assert client("n.nvmlDeviceGetCurrPcieLinkGeneration(d)") == 1
    assert client("n.nvmlDeviceGetMaxPcieLinkGeneration(d)") > 1
    assert client("n.nvmlDeviceGetCurrentClocksEventReasons(d)") == 1


def test_an_unknown_profile_is_refused_with_those_there_are(tmp_path):
    with pytest.raises(KeyError, match="H100"):
        NvmlScenario(tmp_path, profile="V9000")
