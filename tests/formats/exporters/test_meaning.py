"""What several series together say of one device."""

from rankscope.formats import exporters

NV = 'gpu="0",UUID="GPU-1"'


def test_capacity_is_the_sum_of_its_parts_once_however_many_pods_share_the_device(values):
    page = "".join(
        f'DCGM_FI_DEV_FB_{part}{{{NV},pod="{pod}"}} {mebibytes}\n'
        for part, mebibytes in (("FREE", 100), ("USED", 50), ("RESERVED", 10))
        for pod in ("a", "b")
    )
    found = values("nvidia", page)
    assert found["hw.gpu.memory.limit", ()] == 160 * 1048576
    assert found["hw.gpu.memory.usage", ()] == 50 * 1048576


def test_a_single_part_is_no_capacity_and_a_told_capacity_wins(values):
    assert ("hw.gpu.memory.limit", ()) not in values("nvidia", f"DCGM_FI_DEV_FB_FREE{{{NV}}} 100\n")
    page = "".join(f"DCGM_FI_DEV_FB_{part}{{{NV}}} 100\n" for part in ("FREE", "USED", "TOTAL"))
    assert values("nvidia", page)["hw.gpu.memory.limit", ()] == 100 * 1048576


def test_of_several_verdicts_on_a_device_the_worst_holds(values, read):
    page = "".join(
        f'DCGM_EXP_GPU_HEALTH_STATUS{{{NV},health_watch="{watch}"}} {verdict}\n'
        for watch, verdict in (("MEM", 20), ("PCIE", 0), ("NVLINK", 10))
    )
    assert values("nvidia", page) == {("hw.status", (("hw.state", "failed"),)): 1.0}
    unknown = f'DCGM_EXP_GPU_HEALTH_STATUS{{{NV},health_watch="MEM"}} 5\n'
    assert values("nvidia", unknown) == {}


def test_a_bitmask_becomes_its_reasons(values):
    found = values("nvidia", f"DCGM_FI_DEV_CLOCK_THROTTLE_REASONS{{{NV}}} 72\n")
    active = {pairs[0][1] for (_, pairs), value in found.items() if value}
    assert active == {"slowdown_hw", "thermal_hw"}
    assert len(found) == 10


def test_a_window_of_clock_events_speaks_only_where_the_bitmask_does_not(values):
    window = f'DCGM_EXP_CLOCK_EVENTS_COUNT{{{NV},clock_event="hw_thermal"}} 31\n'
    key = ("hw.gpu.throttle", (("reason", "thermal_hw"),))
    assert values("nvidia", window)[key] == 1.0
    assert values("nvidia", window + f"DCGM_FI_DEV_CLOCKS_EVENT_REASONS{{{NV}}} 0\n")[key] == 0.0


def test_a_mig_instance_is_a_part_of_its_device_which_is_not_counted_twice(read):
    page = "".join(
        f'{name}{{{NV},GPU_I_PROFILE="1g.10gb",GPU_I_ID="{instance}"}} {value}\n'
        for instance, value in (("1", 10), ("2", 20))
        for name in ("DCGM_FI_DEV_FB_USED", "DCGM_FI_DEV_POWER_USAGE")
    )
    found = {
        (one.metric, dict(one.attributes)["hw.id"]): one for one in read("nvidia", page).samples
    }
    used = {hw_id: one.value for (metric, hw_id), one in found.items() if metric.endswith("usage")}
    assert used == {"GPU-1/1": 10 * 1048576, "GPU-1/2": 20 * 1048576}
    assert found["hw.power", "GPU-1"].value == 20.0
    info = dict(found["hw.gpu.info", "GPU-1/2"].attributes)
    assert (info["hw.parent"], info["partition"]) == ("GPU-1", "1g.10gb")


def test_a_second_die_is_a_device_of_its_own_and_the_first_is_the_device(read):
    page = "".join(
        f'mx_memory_used{{deviceId="0",uuid="X",type="vram",die_id="{die}"}} 1\n' for die in (0, 1)
    )
    assert [one.hw_id for one in read("metax", page).devices] == ["X", "X/1"]


def test_a_device_that_is_renumbered_keeps_its_id(read):
    mapping = exporters.PageMapping(exporters.load("nvidia"))
    for index in (3, 5):
        line = f'DCGM_FI_DEV_POWER_USAGE{{gpu="{index}",UUID="GPU-1"}} 100\n'
        samples = mapping.read([line.encode()], now=1.0).samples
        assert {dict(one.attributes)["gpu"] for one in samples} == {index}
        assert {dict(one.attributes)["hw.id"] for one in samples} == {"GPU-1"}


def test_a_device_without_an_id_is_named_by_vendor_and_index(read):
    mapped = read("ascend", 'npu_chip_info_power{id="3",vdie_id="",pcie_bus_info=""} 70\n')
    assert [device.hw_id for device in mapped.devices] == ["ascend-3"]


def test_a_series_that_names_no_device_is_left_out(read):
    assert read("nvidia", "DCGM_FI_DEV_POWER_USAGE 100\n").samples == []


def test_holders_are_those_of_this_page(read):
    mapping = exporters.PageMapping(exporters.load("nvidia"))
    for pod in ("a", "b"):
        line = f'DCGM_FI_DEV_POWER_USAGE{{{NV},namespace="ml",pod="{pod}"}} 100\n'
        samples = mapping.read([line.encode()], now=1.0).samples
        held = [dict(one.attributes) for one in samples if one.metric == "hw.gpu.allocation"]
        assert [one["k8s.pod.name"] for one in held] == [pod]


def test_priority_pauses_of_both_directions_are_one_kind_of_congestion(values):
    page = "".join(
        f'npu_chip_mac_{way}_pfc_pkt_num{{id="2"}} {count}\n'
        for way, count in (("rx", 3), ("tx", 4))
    )
    pairs = (("device", "npu2"), ("kind", "pfc"), ("port", "0"))
    assert values("ascend", page)["hw.network.congestion", pairs] == 7.0


def test_pods_and_processes_that_come_and_go_do_not_pile_up_and_nothing_is_said_twice():
    mapping = exporters.PageMapping(exporters.load("nvidia"))
    for pod in range(3000):
        page = "".join(
            f'DCGM_FI_DEV_{name}{{{NV},pod="{pod}"}} 100\n' for name in ("POWER_USAGE", "GPU_TEMP")
        )
        mapped = mapping.read([page.encode()], now=float(pod))
        series = [(one.metric, one.attributes) for one in mapped.samples]
        assert len(series) == len(set(series)) == 4
    assert len(mapping._binder._slots) < 1000
