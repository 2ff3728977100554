"""Tables of all tools: where they begin and end, and what is read of each."""

import math

import pytest
from hypothesis import given, strategies
from tests.formats.device_tables import pasted
from tests.formats.device_tables.pasted import ShownDevice

from rankscope.formats.device_tables import MARKS, fields, reading
from rankscope.formats.device_tables.tables import (
    MEMORY,
    POWER,
    POWER_LIMIT,
    TEMPERATURE,
    UNCORRECTED,
    UTILIZATION,
)
from rankscope.vocabulary import metrics
from rankscope.vocabulary.samples import attributes

MIB = 2.0**20


def tables(text):
    return reading.read(enumerate(text.splitlines()))


def shown(device):
    """Return utilization, power, its limit and temperature."""
    return [device.values.get(one) for one in (UTILIZATION, POWER, POWER_LIMIT, TEMPERATURE)]


def test_a_row_of_nvidia_smi_has_its_address_values_and_processes():
    (table,) = tables(
        pasted.nvidia_smi(
            [ShownDevice(), ShownDevice(98, 640, 61000, "3", 66)], [(1, 4711, "python a.py", 60990)]
        )
    )
    assert ("nvidia", "node-7", pasted.STAMP) == (table.vendor, table.host, table.stamp)
    device = table.devices[1]
    assert (1, "0000:11:00.0", "NVIDIA H100 80GB HBM3") == (
        device.index, device.bus_id, device.name,
    )  # fmt: skip
    assert [0.98, 640.0, 700.0, 66.0] == shown(device)
    assert (61000 * MIB, 3.0) == (device.values[MEMORY], device.values[UNCORRECTED])
    (process,) = table.processes
    assert (1, 4711, "python a.py", 60990 * MIB) == (
        process.index, process.pid, process.name, process.memory,
    )  # fmt: skip


@pytest.mark.parametrize("moments", [1, 3])
def test_processes_of_pmon_are_those_of_each_moment(moments):
    rows = [(0, 4711, "C", 61000, "python train.py"), (0, 1200, "G", 90, "Xorg"),
            (1, None, "", 0, ""), (2, 4713, "C+G", 60990, "python")]  # fmt: skip
    found = tables(pasted.pmon(rows, moments=moments))
    assert moments == len(found)
    for table in found:
        assert [0, 1, 2] == [one.index for one in table.devices]
        held = [(one.index, one.pid, one.name, one.memory) for one in table.processes]
        assert [(0, 4711, "python train.py", 61000 * MIB), (2, 4713, "python", 60990 * MIB)] == held


def test_pmon_without_memory_knows_the_processes_alone():
    (table,) = tables(pasted.pmon([(3, 4711, "C", 0, "python")], memory=False))
    assert [(3, 4711, None)] == [(one.index, one.pid, one.memory) for one in table.processes]


def test_processes_as_csv_have_the_addresses_of_their_devices():
    rows = [(0, 4711, 61000, "python"), (0, 4712, 1520, "python"), (1, 4712, 61000, "python")]
    (table,) = tables(pasted.compute_apps(rows))
    assert ["0000:10:00.0", "0000:11:00.0"] == [one.bus_id for one in table.devices]
    assert [(0, 4711), (0, 4712), (1, 4712)] == [(one.index, one.pid) for one in table.processes]
    assert 1520 * MIB == table.processes[1].memory


@pytest.mark.parametrize("header", ["pid, process_name", "gpu_uuid, pid, name", "# pid  command"])
def test_lists_that_name_no_device_or_memory_are_none(header):
    assert [] == tables(f"{header}\n4711, python, 3\n")


@pytest.mark.parametrize("word", ["N/A", "Off", "ERR!"])
def test_what_is_no_count_of_errors_is_none(word):
    (table,) = tables(pasted.nvidia_smi([ShownDevice(ecc=word)]))
    assert UNCORRECTED not in table.devices[0].values
    assert "" == table.devices[0].failed


def test_a_device_of_which_everything_is_an_error_does_not_answer():
    (table,) = tables(pasted.nvidia_smi([ShownDevice(), ShownDevice(answers=False)]))
    assert ["", "ERR!"] == [one.failed for one in table.devices]


def test_a_fan_without_a_sensor_is_no_device_that_does_not_answer():
    text = pasted.nvidia_smi([ShownDevice()]).replace("| N/A   34C", "|ERR!   34C")
    text = text.replace("70W /  700W", "ERR! / ERR!")
    assert "" == tables(text)[0].devices[0].failed


def test_the_layout_of_old_drivers_without_a_column_of_mig_is_read():
    (table,) = tables(
        "| NVIDIA-SMI 390.116                Driver Version: 390.116                   |\n"
        "|-------------------------------+----------------------+----------------------+\n"
        "| GPU  Name        Persistence-M| Bus-Id        Disp.A | Volatile Uncorr. ECC |\n"
        "| Fan  Temp  Perf  Pwr:Usage/Cap|         Memory-Usage | GPU-Util  Compute M. |\n"
        "|===============================+======================+======================|\n"
        "|   0  Tesla V100-SXM2...  Off  | 00000000:00:1E.0 Off |                    2 |\n"
        "| N/A   41C    P0    38W / 300W |   1050MiB / 16160MiB |     17%      Default |\n"
        "+-------------------------------+----------------------+----------------------+\n"
        "| Processes:                                                       GPU Memory |\n"
        "|  GPU       PID   Type   Process name                             Usage      |\n"
        "|=============================================================================|\n"
        "|    0     30511      C   python                                      1039MiB |\n"
    )
    assert [0.17, 38.0, 300.0, 41.0] == shown(table.devices[0])
    assert 2.0 == table.devices[0].values[UNCORRECTED]
    assert [30511] == [one.pid for one in table.processes]


def test_what_a_runtime_writes_before_each_line_is_no_part_of_a_table():
    text = "".join(
        f"2026-11-23T10:11:12.0Z stdout F {line}\n"
        for line in pasted.nvidia_smi([ShownDevice(7)]).splitlines()
    )
    assert 0.07 == tables(text)[0].devices[0].values[UTILIZATION]


def test_parts_of_a_device_that_mig_divides_are_no_devices():
    text = pasted.nvidia_smi([ShownDevice(ecc="0")], [(0, 4711, "python", 900)])
    parts = (
        "+-----------------------------------------------------------------------------------+\n"
        "| MIG devices:                                                                      |\n"
        "|==================+==================================+===========+=================|\n"
        "|  0    7   0   0  |              13MiB /  9728MiB    | 14      0 |  1   0    0    0 |\n"
        "+------------------+----------------------------------+-----------+-----------------+\n"
    )
    head, processes = text.split("\n\n")
    (table,) = tables(f"{head}\n\n{parts}\n{processes}")
    assert ([0], [4711]) == (
        [one.index for one in table.devices], [one.pid for one in table.processes],
    )  # fmt: skip


def test_sections_of_a_query_are_told_apart_by_their_path():
    (table,) = tables(pasted.sections({"width": "8x", "dram": "3", "heat": "Active"}))
    device = table.devices[2]
    assert [0.99, 601.5, 700.0, 61.0] == shown(device)
    said = {(name, *dict(pairs).values()): value for (name, pairs), value in device.values.items()}
    assert (8.0, 16.0) == (said["hw.gpu.pcie.width",], said["hw.gpu.pcie.width.max",])
    assert 3.0 == said["hw.errors", "uncorrected", "hbm"]  # of the driver's time, not for ever
    assert (1.0, 0.0) == (
        said["hw.gpu.throttle", "thermal_hw"], said["hw.gpu.throttle", "power_brake"],
    )  # fmt: skip
    assert (pasted.STAMP, 4002) == (table.stamp, table.processes[2].pid)


def test_columns_of_csv_are_known_by_their_header_and_each_round_is_a_moment():
    header = (
        "timestamp, index, pci.bus_id, utilization.gpu [%], power.draw [W], temperature.gpu, "
        "clocks_event_reasons.active"
    )
    rows = [
        f"2026/11/23 10:11:{second:02}.120, {index}, 00000000:{index}7:00.0, {90 + index} %, "
        f"300.5 W, 60, 0x0000000000000048"
        for second in (0, 5)
        for index in range(2)
    ]
    first, second = tables("\n".join([header, *rows]))
    assert [0, 1] == [one.index for one in second.devices]
    assert [0.91, 300.5, None, 60.0] == shown(second.devices[1])
    assert ("0000:17:00.0", "2026-11-23 10:11:05.120") == (second.devices[1].bus_id, second.stamp)
    heat = "hw.gpu.throttle", attributes({"reason": "thermal_hw"})
    assert 1.0 == first.devices[0].values[heat]


def test_units_that_a_header_names_hold_for_cells_without_one():
    (table,) = tables("index, utilization.gpu [%], memory.used [MiB]\n0, 50, 100\n")
    assert (0.5, 100 * MIB) == tuple(table.devices[0].values[one] for one in (UTILIZATION, MEMORY))


def test_a_device_that_a_query_has_lost_says_so_in_its_row():
    text = "index, name, utilization.gpu [%], power.draw [W]\n0, A100, 9 %, 60.00 W\n"
    (table,) = tables(f"{text}1, A100, [GPU is lost], [GPU is lost]\n")
    assert ["", "GPU is lost"] == [one.failed for one in table.devices]


@pytest.mark.parametrize("word", ["[N/A]", "[Not Supported]"])
def test_what_is_not_supported_is_no_value_and_no_failure(word):
    (table,) = tables(f"index, utilization.gpu [%], power.draw [W]\n0, {word}, {word}\n")
    assert ({}, "") == (table.devices[0].values, table.devices[0].failed)


def test_rounds_of_dmon_are_moments():
    head = "# gpu    pwr  gtemp     sm    mem\n# Idx      W      C      %      %\n"
    rounds = tables(
        head + "    0    120     45    100     1\n    1     80     40      0     0\n" * 3
    )
    assert [2, 2, 2] == [len(one.devices) for one in rounds]
    assert [0.0, 80.0, None, 40.0] == shown(rounds[2].devices[1])


def test_links_are_up_or_inactive_by_device():
    (table,) = tables(pasted.links({(3, 5)}))
    up = "hw.gpu.nvlink.up", attributes({"link": "5"})
    assert [1.0, 0.0] == [table.devices[index].values[up] for index in (2, 3)]
    assert table.devices[3].uuid.startswith("GPU-00000003-")


BOXES = {
    "habana": (
        (
            "| HL-SMI Version:                              hl-1.21.1-fw-59.2.3.0          |\n"
            "|===============================+======================+======================|\n"
            "|   0  HL-225              N/A  | 0000:33:00.0     N/A |                  21  |\n"
            "| N/A   35C   P0  525W /  600W  | 94963MiB /  98304MiB |    88%           96% |\n"
        ),
        [0.88, 525.0, 600.0, 35.0],
    ),
    "metax": (
        (
            "| MX-SMI 2.1.12                       Kernel Mode Driver Version: 2.12.13         |\n"
            "|====================================+=====================+======================|\n"
            "| 0           MetaX C500             | 0000:0e:00.0        | 7%                   |\n"
            "| 36C         69W / 350W             | 5680/65536 MiB      |                      |\n"
        ),
        [0.07, 69.0, 350.0, 36.0],
    ),
    "cambricon": (
        (
            "| CNMON v5.10.22                                               Driver v5.10.22 |\n"
            "|===============================+======================+=======================|\n"
            "| 0     /   MLU370-X8    v1.1.6 |         0000:13:00.0 | 3%                  4 |\n"
            "|  0%   28C        107 W/ 250 W |     0 MiB/ 20638 MiB | FULL          Default |\n"
        ),
        [0.03, 107.0, 250.0, 28.0],
    ),
    "amd": (
        (
            "| AMD-SMI 26.2.2+671d39a71e    amdgpu version: Linuxver ROCm version: 7.2.2    |\n"
            "|=====================================+========================================|\n"
            "| 0000:67:00.0         Instinct MI210 | 0 %      52 °C   0            42/300 W |\n"
            "|   0       0     N/A             N/A | 5 %        N/A             10/65520 MB |\n"
        ),
        [0.05, 42.0, 300.0, 52.0],
    ),
    "ascend": (pasted.npu_smi(["OK"]), [0.05, 88.2, None, 30.0]),
}


@pytest.mark.parametrize("vendor", BOXES)
def test_framed_tables_of_other_vendors_are_read(vendor):
    text, expected = BOXES[vendor]
    (table,) = tables(text)
    assert (vendor, expected) == (table.vendor, shown(table.devices[0]))


@pytest.mark.parametrize("vendor", ["habana", "cambricon"])
def test_counts_that_healthy_devices_have_are_no_errors(vendor):
    (table,) = tables(BOXES[vendor][0])
    assert UNCORRECTED not in table.devices[0].values


def test_health_of_ascend_devices_is_kept_as_it_is_written():
    (table,) = tables(pasted.npu_smi(["OK", "Alarm"]))
    assert ["OK", "Alarm"] == [one.status for one in table.devices]


def test_rows_of_rocm_smi_have_power_its_limit_and_utilization():
    head = "Device  Node  Temp    Power   Partitions    SCLK     Fan  Perf  PwrCap  VRAM%  GPU%\n"
    ruler = "=" * 90 + "\n"
    row = "0       1     39.0°C  191.0W  NPS1, SPX, 0  2105Mhz  0%   auto  750.0W  95%    98%\n"
    (table,) = tables(head + ruler + row + ruler)
    assert [0.98, 191.0, 750.0, 39.0] == shown(table.devices[0])


def test_lines_of_gpustat_are_devices():
    (table,) = tables("[0] NVIDIA A100 | 45'C,  99 %,   60 / 400 W | 1000 / 81920 MB | me(900M)\n")
    assert [0.99, 60.0, 400.0, 45.0] == shown(table.devices[0])


def test_df_free_and_ibstat_tell_of_a_host():
    disks, memory, ports = tables(
        "Filesystem      Size  Used Avail Use% Mounted on\n"
        "overlay         1.8T  1.8T     0 100% /\n"
        "               total        used        free      shared  buff/cache   available\n"
        "Mem:           2.0Gi       1.9Gi       3.0Mi        10Mi        20Mi       512Mi\n"
        + pasted.ibstat([("Active", "LinkUp"), ("Initializing", "LinkUp")])
    )
    assert {"/": 1.0} == {mount: share for mount, (share, *_) in disks.filesystems.items()}
    assert (2.0**29, 2.0**31) == memory.memory
    assert ["active", "initializing"] == [one.state for one in ports.ports]


@pytest.mark.parametrize(
    "line",
    [
        "epoch, loss, accuracy",
        "step 5 | loss 0.3 | gpu 45",
        "| epoch | loss |",
        "GPU 0 has a total capacity of 79.15 GiB",
        "[0] NVIDIA A100 is the first device",
        "Mounted on / is the disk",
        "# gpu count is 8",
        "iteration, power, loss",
    ],
)
def test_lines_of_a_log_are_no_tables(line):
    assert [] == tables(f"{line}\n1, 2, 3\n")


WHOLE = "".join([
    pasted.nvidia_smi([ShownDevice(98, 640, 61000, "3", 66)] * 2, [(1, 4711, "python", 60990)]),
    pasted.sections({"dram": "3"}), pasted.links({(3, 5)}), pasted.npu_smi(["OK", "Alarm"]),
    pasted.ibstat([("Active", "LinkUp")]), *(text for text, _ in BOXES.values()),
    "index, utilization.gpu [%], pci.bus_id\n0, 5 %, 00000000:17:00.0\n",
    "# gpu    pwr  gtemp     sm\n    0    120     45    100\n",
])  # fmt: skip


@given(
    start=strategies.integers(0, len(WHOLE)),
    cut=strategies.integers(0, 400),
    instead=strategies.text(max_size=20) | strategies.just("9" * 5000) | strategies.just("\u00b2"),
)
def test_a_torn_or_hostile_table_is_read_as_far_as_it_goes(start, cut, instead):
    for table in tables(WHOLE[:start] + instead + WHOLE[start + cut :]):
        values = [value for one in getattr(table, "devices", ()) for value in one.values.values()]
        assert all(map(math.isfinite, values))


def test_every_table_has_a_mark_by_which_it_is_found():
    heads = [
        pasted.nvidia_smi([ShownDevice()]), pasted.sections({}), pasted.links(),
        pasted.ibstat([("Active", "LinkUp")]), *(text for text, _ in BOXES.values()),
        "index, utilization.gpu [%], memory.used [MiB]", "# gpu    pwr  gtemp     sm",
    ]  # fmt: skip
    unmarked = [one for one in heads if not any(mark in one.encode() for mark in MARKS)]
    assert [] == unmarked


def test_fields_are_metrics_of_the_vocabulary():
    named = {one.metric for one in (*fields.by_column().values(), *fields.by_path().values())}
    assert set() == named - metrics.catalogue().keys()
