"""The page as dcgm-exporter's readers expect it: names, units, labels, one series a device."""

import re

import pytest
from tests.agent.dcgm_names.pages import GPU_0, NODE, Page

from rankscope.agent.attribution import DeviceAttribution
from rankscope.agent.dcgm_names import DcgmPage
from rankscope.agent.dcgm_names.fields import fields
from rankscope.vocabulary.samples import Sample, TelemetryResource, attributes


def lines_of(page, name):
    return [line for line in page.text().splitlines() if re.match(rf"{name}[{{ ]", line)]


def test_a_series_reads_to_the_letter_as_dcgm_exporter_writes_it(gpu):
    page = Page()
    page.see(*gpu(0))
    page.give(("job-0", "GPU-0"))
    assert (
        "# HELP DCGM_FI_DEV_GPU_TEMP Temperature of the GPU die.\n"
        "# TYPE DCGM_FI_DEV_GPU_TEMP gauge\n"
        'DCGM_FI_DEV_GPU_TEMP{gpu="0",UUID="GPU-0",pci_bus_id="00000000:07:00.0",device="nvidia0",'
        'modelName="NVIDIA H100 80GB HBM3",Hostname="n1",DCGM_FI_DRIVER_VERSION="550.54.15",'
        'container="train",namespace="ml",pod="job-0"} 41\n'
    ) in page.text()


OLD = {
    "DCGM_FI_DEV_SM_CLOCK": 1755,
    "DCGM_FI_DEV_MEM_CLOCK": 2619,
    "DCGM_FI_DEV_MAX_SM_CLOCK": 1980,
    "DCGM_FI_DEV_CLOCKS_EVENT_REASONS": 0x4 | 0x40,
    "DCGM_FI_DEV_GPU_TEMP": 41,
    "DCGM_FI_DEV_MEMORY_TEMP": 52,
    "DCGM_FI_DEV_POWER_USAGE": 612.345679,
    "DCGM_FI_DEV_ENFORCED_POWER_LIMIT": 700,
    "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION": 123456789,
    "DCGM_FI_DEV_PCIE_REPLAY_COUNTER": 3,
    "DCGM_FI_DEV_PCIE_LINK_GEN": 5,
    "DCGM_FI_DEV_PCIE_LINK_WIDTH": 16,
    "DCGM_FI_PROF_PCIE_TX_BYTES": 1000,
    "DCGM_FI_PROF_PCIE_RX_BYTES": 2000,
    "DCGM_FI_DEV_GPU_UTIL": 57,
    "DCGM_FI_DEV_MEM_COPY_UTIL": 31,
    "DCGM_FI_DEV_ENC_UTIL": 0,
    "DCGM_FI_DEV_DEC_UTIL": 2,
    "DCGM_FI_DEV_FB_TOTAL": 81920,
    "DCGM_FI_DEV_FB_FREE": 81920 - 61440 - 512,
    "DCGM_FI_DEV_FB_USED": 61440,
    "DCGM_FI_DEV_FB_RESERVED": 512,
    "DCGM_FI_DEV_FB_USED_PERCENT": 0.75,
    "DCGM_FI_DEV_XID_ERRORS": 0,
    "DCGM_FI_DEV_GPU_RECOVERY_ACTION": 1,
    "DCGM_FI_DEV_POWER_VIOLATION": 2500000000,
    "DCGM_FI_DEV_THERMAL_VIOLATION": 250000000,
    "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL": 7,
    "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL": 0,
    "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS": 1,
    "DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS": 4,
    "DCGM_FI_DEV_ROW_REMAP_FAILURE": 0,
    "DCGM_FI_DEV_ROW_REMAP_PENDING": 1,
    "DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL": 1000,
    "DCGM_FI_PROF_NVLINK_TX_BYTES": 512000000,
    "DCGM_FI_PROF_NVLINK_RX_BYTES": 512000000,
    "DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL": 6,
    "DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL": 6,
    "DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL": 6,
    "DCGM_FI_PROF_GR_ENGINE_ACTIVE": 0.91,
    "DCGM_FI_PROF_SM_ACTIVE": 0.8125,
    "DCGM_FI_PROF_SM_OCCUPANCY": 0.25,
    "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE": 0.375,
    "DCGM_FI_PROF_DRAM_ACTIVE": 0.5,
    "DCGM_FI_PROF_PIPE_FP16_ACTIVE": 0.125,
}
"""Every field these samples make, in DCGM's units: MHz, C, W, mJ, %, MiB, ns, MB/s, ratios."""

NEW = {
    "DCGM_FI_DEV_SM_CLOCK_HERTZ": 1755e6,
    "DCGM_FI_DEV_MEMORY_CLOCK_HERTZ": 2619e6,
    "DCGM_FI_DEV_GPU_TEMP_CELSIUS": 41,
    "DCGM_FI_DEV_MEMORY_TEMP_CELSIUS": 52,
    "DCGM_FI_DEV_BOARD_POWER_WATTS": 612.345679,
    "DCGM_FI_DEV_GPU_ENERGY_JOULES_TOTAL": 123456.789,
    "DCGM_FI_DEV_PCIE_REPLAY_TOTAL": 3,
    "DCGM_FI_DEV_GPU_UTIL_RATIO": 0.57,
    "DCGM_FI_DEV_MEMORY_UTIL_RATIO": 0.31,
    "DCGM_FI_DEV_DEC_UTIL_RATIO": 0.02,
    "DCGM_FI_DEV_XID_ERROR": 0,
    "DCGM_FI_DEV_FB_CAPACITY_BYTES": 80 * 2**30,
    "DCGM_FI_DEV_FB_FREE_BYTES": 20 * 2**30 - 512 * 2**20,
    "DCGM_FI_DEV_FB_USED_BYTES": 60 * 2**30,
    "DCGM_FI_DEV_FB_RESERVED_BYTES": 512 * 2**20,
    "DCGM_FI_DEV_NVLINK_THROUGHPUT_BYTES_PER_SECOND": 1024000000,
    "DCGM_FI_DEV_ROW_REMAP_UNCORRECTABLE_TOTAL": 1,
    "DCGM_FI_DEV_ROW_REMAP_FAILED": 0,
    "DCGM_FI_DEV_GPU_POWER_THROTTLE_SECONDS_TOTAL": 2.5,
    "DCGM_FI_PROF_GR_ENGINE_UTIL_RATIO": 0.91,
    "DCGM_FI_PROF_TENSOR_UTIL_RATIO": 0.375,
    "DCGM_FI_PROF_DRAM_UTIL_RATIO": 0.5,
    "DCGM_FI_PROF_SM_UTIL_RATIO": 0.8125,
}


def test_every_old_name_has_its_value_in_its_own_unit(gpu):
    page = Page("old")
    page.see(*gpu(0))
    found = {name: value for name, ((_, value),) in only(page).items()}
    assert found == OLD


def only(page):
    """Leave out what is counted over readings: it has tests of its own."""
    return {name: one for name, one in page.values().items() if "DCGM_EXP" not in name}


def test_new_names_have_base_units(gpu):
    page = Page("new")
    page.see(*gpu(0))
    found = page.values()
    assert {name: found[name][0][1] for name in NEW} == NEW
    assert {name for name in OLD if name not in {one.name for one in fields("new")}} & set(
        found
    ) == set()


def test_hosts_are_labelled_as_each_generation_does(gpu):
    for names, expected in (
        ("old", {"Hostname"}),
        ("new", {"hostname"}),
    ):
        page = Page(names)
        page.see(*gpu(0))
        for series in page.values().values():
            assert all({"Hostname", "hostname"} & set(labels) == expected for labels, _ in series)


def test_with_both_a_name_that_did_not_change_stands_once_and_has_both_labels(gpu):
    page = Page("both")
    page.see(*gpu(0))
    found = page.values()
    assert {*OLD, *NEW} <= set(found)
    ((labels, _),) = found["DCGM_FI_DEV_PCIE_LINK_GEN"]
    assert (labels["Hostname"], labels["hostname"]) == ("n1", "n1")
    ((labels, _),) = found["DCGM_FI_DEV_GPU_TEMP"]
    assert "hostname" not in labels


def test_types_and_heads_stand_once_before_their_series(gpu):
    page = Page("both")
    page.see(*gpu(0), *gpu(1))
    heads = [line.split()[2] for line in page.text().splitlines() if line.startswith("# TYPE")]
    assert len(heads) == len(set(heads))
    assert "# TYPE DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION counter" in page.text()


def test_eight_devices_are_a_series_each_in_order(gpu):
    page = Page()
    page.see(*(sample for index in reversed(range(8)) for sample in gpu(index)))
    labels = [labels for labels, _ in page.values()["DCGM_FI_DEV_GPU_UTIL"]]
    assert [one["gpu"] for one in labels] == [str(index) for index in range(8)]
    assert labels[1]["pci_bus_id"] == "00000000:08:00.0"
    assert "pod" not in labels[0]


def test_devices_of_other_vendors_are_not_dcgms(gpu):
    page = Page()
    other = attributes({"hw.id": "npu-0", "gpu": 0, "hw.vendor": "ascend"})
    page.see(Sample("hw.gpu.utilization", 0.5, 1.0, other))
    assert page.text() == ""


def test_a_device_that_is_only_known_by_a_value_is_shown_with_what_there_is():
    page = Page()
    page.see(Sample("hw.power", 100.0, 1.0, attributes({"hw.id": "GPU-0", "gpu": 0})))
    labels = 'gpu="0",UUID="GPU-0",pci_bus_id="",device="nvidia0",modelName="",Hostname="n1"'
    expected = [f"DCGM_FI_DEV_POWER_USAGE{{{labels}}} 100"]
    assert lines_of(page, "DCGM_FI_DEV_POWER_USAGE") == expected


def test_what_has_no_reading_has_no_series(gpu):
    page = Page()
    page.see(*(one for one in gpu(0) if one.metric not in ("hw.power", "hw.gpu.memory.usage")))
    found = page.values()
    for name in ("POWER_USAGE", "FB_USED", "FB_FREE", "FB_USED_PERCENT", "ECC_SBE_AGG_TOTAL"):
        assert f"DCGM_FI_DEV_{name}" not in found


def test_memory_that_the_driver_does_not_tell_apart_counts_as_used(gpu):
    page = Page()
    page.see(*(one for one in gpu(0) if one.metric != "hw.gpu.memory.reserved"))
    assert page.values()["DCGM_FI_DEV_FB_FREE"][0][1] == 81920 - 61440


def test_a_total_that_is_told_wins_over_the_sum_of_its_parts(gpu):
    page = Page()
    page.see(*gpu(0), Sample("hw.gpu.nvlink.throughput", 1024000.0, 1.0, attributes(GPU_0)))
    assert page.values()["DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL"][0][1] == 1


def test_without_a_rate_of_links_it_follows_from_their_bytes(gpu):
    page = Page()
    for at, value in ((1.0, 0.0), (11.0, 10240000000.0)):
        pairs = {**GPU_0, "direction": "transmit"}
        page.see(
            *(one for one in gpu(0, at=at) if one.metric != "hw.gpu.nvlink.throughput"),
            Sample("hw.gpu.nvlink.io", value, at, attributes(pairs)),
        )
    assert page.values()["DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL"][0][1] == 1000


def test_links_one_by_one_are_shown_when_asked_for(gpu):
    page = Page(links=4)
    page.see(*gpu(0))
    found = page.values()
    assert found["DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_L3"][0][1] == 3
    assert "DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_L4" not in found


def test_odd_characters_are_escaped(gpu):
    page = Page()
    page.see(*gpu(0))
    page.give(('a "b" \\ c\n', "GPU-0"))
    assert page.values()["DCGM_FI_DEV_GPU_UTIL"][0][0]["pod"] == 'a "b" \\ c\n'


def test_no_more_series_than_there_is_room_for(gpu):
    page = Page()
    page.see(*gpu(0), *gpu(1))
    series = [(NODE, one.metric, one.attributes, one.value) for one in page.samples]
    everything, shown, left_out = page.dcgm_page.render(series, 1.0, room=10_000)
    assert left_out == 0
    fewer, kept, dropped = page.dcgm_page.render(series, 1.0, room=7)
    assert (kept, dropped) == (7, shown - 7)
    assert everything.startswith(fewer)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_what_is_no_number_is_not_shown(value):
    page = Page()
    page.see(Sample("hw.power", value, 1.0, attributes({"hw.id": "GPU-0", "gpu": 0})))
    assert lines_of(page, "DCGM_FI_DEV_POWER_USAGE") == []


def test_what_an_exporter_tells_of_a_device_beside_the_driver_is_not_added_up(gpu):
    page = Page()
    pairs = attributes({**GPU_0, "hw.sensor": "gpu"})
    again = attributes({**GPU_0, "hw.sensor": "gpu", "source": "exporter"})
    page.see(
        Sample("hw.temperature", 41.0, 1.0, pairs),
        Sample("hw.temperature", 43.0, 1.0, again),
        Sample("hw.temperature", 43.0, 1.0, pairs),
    )
    assert [value for _, value in page.values()["DCGM_FI_DEV_GPU_TEMP"]] == [41.0]


def test_processes_that_are_gone_are_not_kept_for_ever():
    dcgm_page = DcgmPage(names="new", host="n", attribution=DeviceAttribution())
    for pid in range(2000):
        mine = attributes({"hw.id": "GPU-1", "gpu": 0, "hw.vendor": "nvidia", "pid": pid})
        series = [(TelemetryResource(host="n"), "hw.gpu.process.memory", mine, 1.0)]
        dcgm_page.render(series, 1.0, room=100)
    assert len(dcgm_page._plans) < 600
