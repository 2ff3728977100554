"""Kernel logs beside a job's own: which of their lines are the job's, of which rank, and when."""

import os
from datetime import UTC, datetime

import pytest

from rankscope.collector.artefacts.kinds import gather
from rankscope.vocabulary.samples import TelemetryResource

NOON = datetime(2026, 5, 13, 12, tzinfo=UTC).timestamp()
LOST = "NVRM: Xid (PCI:0000:04:00): 79, pid=103, name=python, GPU has fallen off the bus."
ECC = "NVRM: Xid (PCI:0000:02:00): 94, pid=999, name=python, Contained ECC error."
STEP = (
    " [{:%Y-%m-%d %H:%M:%S}] iteration {:8d}/     500 | consumed samples: 32 | elapsed time per "
    "iteration (ms): 10000.0 | learning rate: 2.0E-06 | global batch size: 16 | lm loss: 1.08E+01 |"
    " loss scale: 1.0 | grad norm: 3.2 | number of skipped iterations:   0 |\n"
)
TIMEOUT = (
    "[rank{0}]:[E513 12:15:00.714781661 ProcessGroupNCCL.cpp:685] [Rank {0}] Watchdog caught "
    "collective operation timeout: WorkNCCL(SeqNum=61, OpType=ALLREDUCE, NumelIn=64, NumelOut=64, "
    "Timeout(ms)=600000) ran for 600042 milliseconds before timing out.\n"
)


def moment(at: float) -> datetime:
    return datetime.fromtimestamp(at, UTC)


@pytest.fixture
def job(tmp_path):
    """Four ranks on node-a make steps from noon to five past; ranks 0 to 2 then wait in vain."""
    for rank in range(4):
        text = (
            f"node-a:{100 + rank}:{100 + rank} [{rank}] NCCL INFO comm 0x55 rank {rank} nranks 4 "
            f"cudaDev {rank} nvmlDev {rank} busId {rank + 1}000 commId 0x11 - Init COMPLETE\n"
        )
        if rank == 0:
            text += "".join(STEP.format(moment(NOON + 10 * n), n) for n in range(1, 31))
        (tmp_path / f"rank_{rank}.log").write_text(
            text + (TIMEOUT.format(rank) if rank < 3 else "")
        )
    return tmp_path


def explained(explain, folder):
    document = explain(folder, zone=UTC).document()
    assert document is not None
    return document


def first(document):
    found = document["root_cause"]["hypotheses"][0]
    return found["fault"], found["entity"]["ranks"], found["entity"]["host"]


def quotes(folder):
    """Return what kernel logs of a folder say: the role and text of each line."""
    found = gather([folder], TelemetryResource("", job="job", attempt=0), zone=UTC)
    return [(one.role, one.text) for one in found.quotes if one.text.startswith(("NVRM", "amdgpu"))]


def devices(folder):
    """Return which devices are said to have failed: id, code and host."""
    found = gather([folder], TelemetryResource("", job="job", attempt=0), zone=UTC)
    return [
        (one.attributes["hw.id"], one.attributes["code"], one.resource.host)
        for one in found.events
        if one.name == "gpu.fault"
    ]


def roles(folder):
    return [role for role, _ in quotes(folder)]


def dmesg(at: float, text: str) -> str:
    return f"[{moment(at):%a %b %d %H:%M:%S %Y}] {text}\n"


def test_a_device_that_was_lost_while_the_job_ran_is_its_cause(explain, job):
    (job / "dmesg_node-a.txt").write_text(dmesg(NOON + 299, LOST))
    assert ("gpu.lost", [3], "node-a") == first(explained(explain, job))
    assert ["root"] == roles(job)


UUID = "NVRM: GPU at PCI:0000:{:02}:00: GPU-6a1d3c5e-0001-4000-8000-00000000000{}"


def test_a_driver_that_names_its_devices_by_their_ids_means_those_of_the_ranks(explain, job):
    """NCCL names a device by its address: the line above the fault says which id has it."""
    named = dmesg(NOON + 299, UUID.format(4, 4))
    (job / "dmesg_node-a.txt").write_text(named + dmesg(NOON + 299, LOST.replace("103", "'<x>'")))
    assert ("gpu.lost", [3], "node-a") == first(explained(explain, job))


def test_a_device_with_an_id_that_no_rank_used_is_none_of_the_job_s(job):
    strange = LOST.replace(":04:", ":09:").replace("103", "'<x>'")
    (job / "dmesg_node-a.txt").write_text(
        dmesg(NOON + 299, UUID.format(9, 9)) + dmesg(NOON + 299, strange)
    )
    assert ["background"] == roles(job)


@pytest.mark.parametrize(
    "line",
    [
        dmesg(NOON - 21 * 86_400, ECC),
        f"Apr 22 12:58:18 node-a kernel: {ECC}\n",
        f"2026-04-22T12:58:18+0000 node-a kernel: {ECC}\n",
        f'{{"__REALTIME_TIMESTAMP":"1776862698000000","_HOSTNAME":"node-a","MESSAGE":"{ECC}"}}\n',
        dmesg(NOON - 3600, LOST),
    ],
)
def test_a_fault_of_before_the_job_is_background_with_its_age(job, line):
    (job / "dmesg_node-a.txt").write_text(line)
    ((role, text),) = quotes(job)
    assert "background" == role
    assert "before the job's first sign" in text


def test_a_fault_of_weeks_ago_is_not_the_job_s_cause(explain, job):
    (job / "dmesg_node-a.txt").write_text(dmesg(NOON - 21 * 86_400, ECC))
    document = explained(explain, job)
    assert ("software.stuck_process", [3], "node-a") == first(document)
    shown = [one["text"] for one in document["leftovers"]["lines"] if one["role"] == "background"]
    assert [f"{ECC} (2026-04-22 12:00 UTC, 21 days before the job's first sign)"] == shown


def test_a_fault_that_steps_followed_for_long_is_background(job):
    steps = "".join(STEP.format(moment(NOON + 10 * n), n) for n in range(31, 200))
    with (job / "rank_0.log").open("a") as log:
        log.write(steps)
    (job / "dmesg_node-a.txt").write_text(dmesg(NOON + 200, ECC))
    ((role, text),) = quotes(job)
    assert "background" == role
    assert "the job made steps for 30 minutes after it" in text


def test_a_fault_of_long_after_the_job_is_background(job):
    (job / "dmesg_node-a.txt").write_text(dmesg(NOON + 7200, LOST))
    ((role, text),) = quotes(job)
    assert "background" == role
    assert "after the job's last sign" in text


def test_a_log_that_is_cut_at_its_beginning_has_run_since_its_first_step(job):
    """Step 360 of ten seconds each: the job began an hour before its first line."""
    lines = (job / "rank_0.log").read_text().splitlines(keepends=True)
    late = "".join(STEP.format(moment(NOON + 10 * n), 360 + n) for n in range(1, 31))
    (job / "rank_0.log").write_text(lines[0] + late + TIMEOUT.format(0))
    (job / "dmesg_node-a.txt").write_text(dmesg(NOON - 30, LOST))
    assert ["root"] == roles(job)


def test_a_log_of_time_outs_alone_lets_the_fault_be_as_old_as_they_are_long(job):
    for rank in range(3):
        (job / f"rank_{rank}.log").write_text(TIMEOUT.format(rank))
    (job / "job.log").write_text(
        "[2026-05-13 12:15:01,000] torch.distributed.elastic.multiprocessing.api: [ERROR] failed "
        "(exitcode: 1) local_rank: 0 (pid: 100) of binary: /usr/bin/python\n"
    )
    (job / "dmesg_node-a.txt").write_text(dmesg(NOON + 298, LOST))
    assert ["root"] == roles(job)


def test_times_since_boot_alone_are_those_of_the_job_where_they_may_be(explain, job):
    (job / "dmesg_node-a.txt").write_text(
        f"[90000.000000] {LOST}\n[90100.000000] usb 1-1: new device\n"
    )
    assert ("gpu.lost", [3], "node-a") == first(explained(explain, job))


def test_times_since_boot_that_are_older_than_the_job_are_background(job):
    (job / "dmesg_node-a.txt").write_text(
        f"[100.000000] {ECC}\n[1900000.000000] usb 1-1: new device\n"
    )
    ((role, text),) = quotes(job)
    assert "background" == role
    assert "at the latest 22 days before" in text


@pytest.mark.parametrize(
    "lines",
    [
        (
            "NVRM: The NVIDIA GPU 0000:04:00.0\n   NVRM: (PCI ID: 10de:2330) installed in this "
            "system has\n   NVRM: fallen off the bus and is not responding to commands.\n"
        ),
        "NVRM: GPU has fallen off the bus.\n   NVRM: GPU 0000:04:00.0: GPU serial number is 16.\n",
        "NVRM: GPU 0000:04:00.0: GPU lost from the bus\n",
    ],
)
def test_a_device_is_named_by_the_line_above_or_below_its_fault(job, lines):
    (job / "dmesg_node-a.txt").write_text(dmesg(NOON + 299, lines.rstrip("\n")))
    assert [("pci:0000:04:00.0", "79", "node-a")] == devices(job)


@pytest.mark.parametrize(
    ("name", "prefix"),
    [
        ("dmesg.txt", "2026-05-13T12:04:59+0000 node-a.example.org kernel: "),
        ("node-a/dmesg", "[Wed May 13 12:04:59 2026] "),
        ("kernel.txt", "node-a: [Wed May 13 12:04:59 2026] "),
        ("notes.md", "[Wed May 13 12:04:59 2026] "),
        ("notes.md", "kernel: "),
        ("dmesg.txt", "2026-05-13T12:04:59+0000 gke-pool-7 kernel: "),
    ],
)
def test_whose_a_line_is_follows_from_the_line_the_file_the_folder_or_the_only_host(
    job, name, prefix
):
    path = job / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(prefix + LOST + "\n")
    assert [("pci:0000:04:00.0", "79", "node-a")] == devices(job)


def test_a_line_of_a_kernel_inside_a_job_s_log_is_read(job):
    with (job / "rank_3.log").open("a") as log:
        log.write(f"[Wed May 13 12:04:59 2026] {LOST}\n")
    assert [("pci:0000:04:00.0", "79", "node-a")] == devices(job)


def test_an_error_that_a_program_brought_about_accuses_no_device(explain, job):
    line = "NVRM: Xid (PCI:0000:04:00): 45, pid=103, name=python, Ch 00000008"
    (job / "dmesg_node-a.txt").write_text(dmesg(NOON + 299, line))
    assert "software.stuck_process" == first(explained(explain, job))[0]


def test_the_fault_of_another_vendor_s_device_is_named(explain, job):
    (job / "dmesg_node-a.txt").write_text(
        dmesg(
            NOON + 299,
            "amdgpu 0000:04:00.0: uncorrectable hardware error(ERREVENT_ATHUB_INTERRUPT) detected!",
        )
        + dmesg(NOON + 299, "amdgpu 0000:01:00.0: amdgpu: GPU reset begin!")
    )
    assert ("gpu.memory_uncorrectable", [3], "node-a") == first(explained(explain, job))


def test_a_host_that_was_booted_while_the_job_ran_is_told(job):
    (job / "dmesg_node-a.txt").write_text(
        dmesg(NOON - 86_400, "usb 1-1: x") + dmesg(NOON + 290, "Linux version 6.8.0")
    )
    found = gather([job], TelemetryResource("", job="job", attempt=0), zone=UTC)
    (told,) = [one for one in found.quotes if one.signature == "host.rebooted"]
    assert ("dmesg_node-a.txt", 2, NOON + 290, "root") == (
        told.file,
        told.line,
        told.at,
        told.role,
    )


def test_a_host_that_was_booted_before_the_job_or_after_it_is_none_of_its_troubles(job):
    (job / "dmesg_node-a.txt").write_text(
        dmesg(NOON - 86_400, "Linux version 6.8.0") + dmesg(NOON + 7200, "Linux version 6.8.0")
    )
    found = gather([job], TelemetryResource("", job="job", attempt=0), zone=UTC)
    assert not [one for one in found.quotes if one.signature == "host.rebooted"]


def test_the_year_of_a_log_alone_is_that_of_its_file(tmp_path):
    log = tmp_path / "messages_node-a"
    log.write_text(f"Dec 31 23:59:00 node-a kernel: {LOST}\n")
    written = datetime(2025, 1, 2, tzinfo=UTC).timestamp()
    os.utime(log, (written, written))
    found = gather([tmp_path], TelemetryResource("", job="job", attempt=0), zone=UTC)
    (quote,) = found.quotes
    assert datetime(2024, 12, 31, 23, 59, tzinfo=UTC).timestamp() == quote.at


def test_of_a_log_alone_the_last_fault_is_asked_about(explain, tmp_path):
    (tmp_path / "dmesg_node-a.txt").write_text(dmesg(NOON - 21 * 86_400, ECC) + dmesg(NOON, LOST))
    assert {
        ("root", LOST),
        (
            "background",
            f"{ECC} (2026-04-22 12:00 UTC, 21 days before the last fault of these logs)",
        ),
    } == set(quotes(tmp_path))
    assert ("gpu.lost", [], "node-a") == first(explained(explain, tmp_path))
