"""Pasted tables of devices and hosts: what they mean, and what a healthy one does not."""

import pytest
from tests.formats.device_tables import pasted
from tests.formats.device_tables.pasted import ShownDevice

BUSY = ShownDevice(99, 610, 61000)
WAITS, STUCK, FREE = (
    ShownDevice(100, 118, 61000), ShownDevice(0, 82, 61000), ShownDevice(0, 70, 3),
)  # fmt: skip


def trainers(count, first=1000):
    return [(index, first + index, "/usr/bin/python3", 60000) for index in range(count)]


def one_among(other, usual, count=8, place=3):
    """Return devices of which one is another."""
    return [other if index == place else usual for index in range(count)]


@pytest.fixture
def said(tmp_path, explain):
    """Return a function that diagnoses texts by file: (fault, entity, severity), None for quiet."""

    def diagnosed(**files):
        for name, text in files.items():
            (tmp_path / f"{name}.txt").write_text(text)
        incident = explain(tmp_path).incident
        if incident is None:
            return None
        first = incident["root_cause"]["hypotheses"][0]
        return first["fault"], first["entity"]["id"], incident["severity"]

    return diagnosed


def test_a_device_of_which_everything_is_an_error_is_lost(said):
    table = pasted.nvidia_smi(one_among(ShownDevice(answers=False), FREE))
    assert ("gpu.lost", "pci:0000:13:00.0", "critical") == said(a=table)


def test_memory_errors_that_could_not_be_corrected_name_the_device(said):
    table = pasted.nvidia_smi(one_among(ShownDevice(ecc="2"), FREE))
    assert ("gpu.memory_uncorrectable", "pci:0000:13:00.0", "critical") == said(a=table)


@pytest.mark.parametrize("processes", [trainers(8), []])
def test_the_one_idle_device_of_a_job_whose_others_wait_is_where_it_is_stuck(said, processes):
    table = pasted.nvidia_smi(one_among(STUCK, WAITS), processes)
    assert ("software.stuck_process", "3", "warning") == said(a=table)


def test_devices_in_use_that_wait_beside_an_unused_one_have_no_cause_that_shows(said):
    assert ("unknown", "node-7", "info") == said(a=pasted.nvidia_smi(one_among(FREE, WAITS)))


def test_several_tables_have_to_show_the_same(said):
    changing = "".join(
        pasted.nvidia_smi(
            one_among(STUCK, WAITS, place=second % 8), stamp=f"Mon Nov 23 10:11:{second:02} 2026"
        )
        for second in range(10)
    )
    assert None is said(a=changing)


JUPYTER = [(2, 7, "jupyter", 900)]
NO_LINKS = {(device, link) for device in range(8) for link in range(18)}
UNUSED = [*[("Active", "LinkUp")] * 4, *[("Down", "Polling")] * 2]
COLD = {"slowdown": "Active", "heat": "Active", "util": "0 %"}
DF = "Filesystem  Size  Used Avail Use% Mounted on\n"

QUIET = {
    "all are busy": pasted.nvidia_smi([BUSY] * 8, trainers(8)),
    "all are idle": pasted.nvidia_smi([FREE] * 8),
    "trainers rest": pasted.nvidia_smi([STUCK] * 8, trainers(8)),
    "one of busy ones rests": pasted.nvidia_smi(one_among(STUCK, BUSY), trainers(8)),
    "somebody else has memory": pasted.nvidia_smi([BUSY] * 4, trainers(4) + JUPYTER),
    "no ECC": pasted.nvidia_smi([ShownDevice(ecc="N/A")] * 4),
    "a query": pasted.sections({}),
    "an idle device is hot": pasted.sections(COLD),
    "an idle link is narrow": pasted.sections({"width": "8x", "util": "0 %"}),
    "all links are up": pasted.links(),
    "no device has links": pasted.links(NO_LINKS),
    "Ascend": pasted.npu_smi(["OK"] * 8),
    "Ascend warns": pasted.npu_smi([*["OK"] * 7, "Warning"]),
    "ports are active": pasted.ibstat([("Active", "LinkUp")] * 4),
    "ports without a cable": pasted.ibstat(UNUSED),
    "disks have room": f"{DF}overlay 1.8T 1.0T 0.8T 56% /\n/dev/loop1 64M 64M 0 100% /snap/core\n",
}  # fmt: skip


@pytest.mark.parametrize("table", QUIET.values(), ids=QUIET)
def test_nothing_is_said_of_a_healthy_table(said, table):
    assert None is said(a=table)


@pytest.mark.parametrize(
    ("changed", "fault", "severity"),
    [
        ({"dram": "3"}, "gpu.memory_uncorrectable", "critical"),
        ({"pending": "Yes"}, "gpu.row_remap", "info"),
        ({"failed": "Yes"}, "gpu.row_remap", "warning"),
        ({"slowdown": "Active", "heat": "Active"}, "gpu.thermal_throttle", "warning"),
        ({"slowdown": "Active", "brake": "Active"}, "gpu.power_limited", "warning"),
        ({"width": "8x"}, "gpu.pcie_degraded", "warning"),
    ],
)
def test_a_query_of_a_working_device_names_what_is_wrong(said, changed, fault, severity):
    assert (fault, "pci:0000:12:00.0", severity) == said(a=pasted.sections(changed))


def test_a_link_that_all_other_devices_have_up_is_down(said):
    uuid = "GPU-00000003-0000-4000-8000-000000000001"
    assert ("gpu.nvlink", uuid, "warning") == said(a=pasted.links({(3, 5)}))


def test_a_link_is_named_by_the_address_that_a_table_beside_it_shows(said):
    table = pasted.nvidia_smi([BUSY] * 8, prompt="")
    assert ("gpu.nvlink", "pci:0000:13:00.0", "warning") == said(a=table + pasted.links({(3, 5)}))


def test_contexts_of_all_ranks_on_one_device_are_told(said):
    contexts = [(0, 1000 + rank, "/usr/bin/python3", 1520) for rank in range(1, 4)]
    table = pasted.nvidia_smi([BUSY] * 4, [*trainers(4), *contexts])
    assert ("memory.rank0_contexts", "pci:0000:10:00.0", "warning") == said(a=table)


EMPTY = ShownDevice()


@pytest.mark.parametrize("count", [2, 4])
@pytest.mark.parametrize("where", [0, 1])
def test_ranks_that_all_took_one_device_are_told(said, count, where):
    """No rank chose its device, or all chose the same: the others hold nothing."""
    devices = [BUSY if index == where else EMPTY for index in range(count)]
    held = [(where, 4100 + 9 * rank, "python3", 9000 if rank == 0 else 1520)
            for rank in range(count)]  # fmt: skip
    fault, entity, severity = said(a=pasted.nvidia_smi(devices, held))
    assert ("memory.rank0_contexts", f"pci:0000:{16 + where:x}:00.0") == (fault, entity)
    assert "warning" == severity


@pytest.mark.parametrize(
    ("devices", "held"),
    [
        ([BUSY, EMPTY], [(0, 4100, "python3"), (0, 9000, "python3")]),
        ([BUSY, EMPTY], [(0, 4100, "python3"), (0, 4101, "ffmpeg")]),
        ([BUSY, EMPTY, EMPTY], [(0, 4100, "python3"), (0, 4101, "python3")]),
        ([BUSY, ShownDevice(memory=9000)], [(0, 4100, "python3"), (0, 4101, "python3")]),
    ],
    ids=["started apart", "two programs", "fewer than devices", "the other holds memory"],
)
def test_processes_on_one_device_that_may_be_of_several_jobs_are_not_told(said, devices, held):
    assert None is said(a=pasted.nvidia_smi(devices, [(*one, 7000) for one in held]))


def test_what_draws_a_screen_is_no_process_of_a_job(said):
    table = pasted.nvidia_smi([BUSY, EMPTY], [(0, 4100, "python3", 9000)])
    screen = (
        "|    0   N/A  N/A      1204      G   python3                                       90MiB |"
    )
    lines = table.splitlines()
    assert None is said(a="\n".join([*lines[:-1], screen, lines[-1]]) + "\n")


def test_a_strangers_process_beside_a_rank_is_told_for_information(said):
    """It was not started with the others; what it costs them no table shows."""
    table = pasted.nvidia_smi([BUSY] * 8, [*trainers(8), (3, 77, "/usr/bin/python3", 15000)])
    assert ("gpu.foreign_process", "pci:0000:13:00.0", "info") == said(a=table)


LEFT = one_among(ShownDevice(0, 70, 40000), BUSY, count=4)
OF_OTHER_DEVICES = [(index, 1000 + index, "python3", 60500) for index in (0, 1, 2)]


def test_memory_that_no_listed_process_has_is_told_for_information(tmp_path, explain):
    (tmp_path / "a.txt").write_text(pasted.nvidia_smi(LEFT, OF_OTHER_DEVICES))
    document = explain(tmp_path).document()
    (line,) = document["leftovers"]["lines"]
    assert "info" == document["severity"]
    assert "device 3 holds 39.1 GiB that no listed process has" == line["text"]


@pytest.mark.parametrize(
    ("devices", "held"),
    [
        (LEFT, []),
        (LEFT, [(index, 1000 + index, "python3", 30000) for index in (0, 1, 2)]),
        (one_among(ShownDevice(0, 70, 900), BUSY, count=4), OF_OTHER_DEVICES),
        (LEFT, [*OF_OTHER_DEVICES, (3, 1003, "python3", 39000)]),
    ],
    ids=["a container", "some are not listed", "a driver's own", "its process is listed"],
)
def test_memory_that_may_be_of_processes_nobody_sees_is_quiet(said, devices, held):
    assert None is said(a=pasted.nvidia_smi(devices, held))


OF_OTHERS = [(0, 4100 + rank, 1520) for rank in range(1, 4)]
OF_EACH = [(rank, 4100 + rank, 60000) for rank in range(4)]


@pytest.mark.parametrize(
    ("table", "device"),
    [
        (pasted.pmon([(index, pid, "C", held, "python") for index, pid, held in
                      sorted([*OF_EACH, *OF_OTHERS])]), "nvidia-0"),
        (pasted.compute_apps([(*one, "python") for one in [*OF_EACH, *OF_OTHERS]]),
         "pci:0000:10:00.0"),
    ],
    ids=["pmon", "csv"],
)  # fmt: skip
def test_lists_of_processes_show_the_same(said, table, device):
    assert ("memory.rank0_contexts", device, "warning") == said(a=table)


def test_a_list_with_one_process_on_each_device_is_quiet(said):
    assert None is said(a=pasted.compute_apps([(*one, "python") for one in OF_EACH]))


def test_a_device_of_ascend_with_an_alarm_stands_out(said):
    fault, _, severity = said(a=pasted.npu_smi([*["OK"] * 7, "Alarm"]))
    assert ("unknown", "warning") == (fault, severity)


def test_a_port_that_its_subnet_manager_did_not_make_active_is_out_of_order(said):
    ports = pasted.ibstat([*[("Active", "LinkUp")] * 3, ("Initializing", "LinkUp")])
    fault, entity, _ = said(a=ports)
    assert ("network.nic_down", "unnamed-host/mlx5_3:1") == (fault, entity)


@pytest.mark.parametrize(
    ("mount", "fault"), [("/", "host.disk_full"), ("/dev/shm", "memory.shm_exhausted")]
)
def test_a_file_system_without_room_is_full(said, mount, fault):
    table = f"{DF}none 64M 64M 0 100% {mount}\n"
    assert fault == said(a=table)[0]


STEPS = "".join(
    f"2026-11-23 10:00:{second:02} step {second} loss 2.31\n" for second in range(0, 60, 10)
)


def test_beside_a_log_whose_steps_ended_the_idle_device_names_the_rank(said):
    rank = "[rank7]: world_size=8\n"
    table = pasted.nvidia_smi(one_among(STUCK, WAITS), trainers(8))
    assert ("software.stuck_process", "3") == said(job=STEPS + rank, smi=table)[:2]


def test_a_table_of_weeks_later_is_none_of_the_jobs(said):
    table = pasted.nvidia_smi(
        one_among(ShownDevice(ecc="2"), FREE), stamp="Mon Dec 14 10:11:12 2026"
    )
    assert None is said(job=STEPS, smi=table)


def test_a_log_with_a_table_in_it_stays_a_log(tmp_path, explain):
    table = pasted.nvidia_smi([BUSY] * 2, stamp="")
    (tmp_path / "job.log").write_text(f"{STEPS}{table}[rank0]: ValueError: boom\n")
    found = explain(tmp_path)
    assert "tables of NVIDIA-SMI" in found.found.read["job.log"]
    assert "software.crash" == found.incident["root_cause"]["hypotheses"][0]["fault"]


def test_a_table_in_the_middle_of_a_long_log_is_found(said):
    filler = "INFO nothing to see\n" * 40_000
    table = pasted.nvidia_smi(one_among(ShownDevice(ecc="2"), FREE), stamp="")
    assert "gpu.memory_uncorrectable" == said(job=filler + table + filler)[0]


def test_tables_of_two_hosts_name_the_device_of_the_right_one(tmp_path, explain):
    sick = pasted.nvidia_smi(one_among(ShownDevice(ecc="2"), FREE), trainers(8))
    well = pasted.nvidia_smi([FREE] * 8, trainers(8, 2000), prompt="me@node-8:~$ nvidia-smi")
    (tmp_path / "a.txt").write_text(well)
    (tmp_path / "b.txt").write_text(sick)
    first = explain(tmp_path).incident["root_cause"]["hypotheses"][0]
    assert ("pci:0000:13:00.0", "node-7") == (first["entity"]["id"], first["entity"]["host"])


def test_what_a_table_says_is_quoted_with_its_line(tmp_path, explain):
    (tmp_path / "a.txt").write_text(pasted.nvidia_smi([FREE, ShownDevice(ecc="2")]))
    (quote,) = explain(tmp_path).found.quotes
    assert ("a.txt", 14, "root") == (quote.file, quote.line, quote.role)
    assert "2 errors that could not be corrected" in quote.text


def test_the_same_bytes_give_the_same_document(tmp_path, explain):
    (tmp_path / "a.txt").write_text(pasted.nvidia_smi(one_among(STUCK, WAITS), trainers(8)))
    assert explain(tmp_path).document() == explain(tmp_path).document()


def test_processes_alone_show_whose_contexts_are_on_the_first_device(said):
    processes = [(0, 4000 + rank, "python", 871 if rank else 26167) for rank in range(8)]
    processes += [(rank, 4000 + rank, "python", 20065) for rank in range(1, 8)]
    whole = pasted.nvidia_smi([FREE] * 8, processes)
    alone = whole[whole.index("| Processes:") :]
    assert "memory.rank0_contexts" == said(a=alone)[0]


def test_all_devices_busy_at_little_power_are_news(said):
    table = pasted.nvidia_smi([WAITS] * 8, trainers(8))
    assert "info" == said(a=table)[2]


def test_each_process_on_each_device_is_the_rank_of_the_one_where_it_holds_most(said):
    held = [(index, 31 + rank, "luajit", 339 if rank == index else 151)
            for index in range(3) for rank in range(3)]  # fmt: skip
    whole = pasted.nvidia_smi([FREE] * 3, held)
    assert "memory.rank0_contexts" == said(a=whole[whole.index("| Processes:") :])[0]


@pytest.mark.parametrize("at", [1_794_000_000.0, 1_794_000_000.7, 1_794_123_456.2])
def test_of_equal_devices_the_first_is_named_whenever_the_table_was_written(
    explain, written, tmp_path, at
):
    """Three processes hold a context on each of three devices: no device is guiltier."""
    row = "|    {}   N/A  N/A   {:>9}      C   ./solver                          {:>6}MiB |\n"
    held = [
        row.format(device, 4100 + rank, 310 if rank == device else 140)
        for device in range(3)
        for rank in range(3)
    ]
    head = (
        "| Processes:                                                               GPU Memory |\n"
        "|  GPU   GI   CI        PID   Type   Process name                          Usage      |\n"
        "|=====================================================================================|\n"
    )
    (tmp_path / "smi.txt").write_text(head + "".join(held))
    written(tmp_path, at)
    first = explain(tmp_path).document()["root_cause"]["hypotheses"][0]
    assert ("memory.rank0_contexts", "nvidia-0") == (first["fault"], first["entity"]["id"])
