"""Whole logs: when lines were written, on which host, in which boot."""

from datetime import UTC, datetime
from pathlib import Path

from rankscope.detectors.hardware import fault_codes
from rankscope.formats.kernel_log import (
    DeviceFault,
    KernelLogParser,
    KernelLogReading,
    LogFault,
    OomKill,
)

NOON = datetime(2026, 5, 13, 12, tzinfo=UTC).timestamp()
XID = "NVRM: Xid (PCI:0000:02:00): 94, pid=9, name=python, Contained ECC error."
HEALTHY = Path(__file__).parent / "healthy_boot.log"


def read(*lines, near=None, until=None):
    reading = KernelLogReading(UTC, near)
    written = (line.encode() + b"\n" for line in lines)
    found = list(reading.read((number, line, True) for number, line in enumerate(written, 1)))
    reading.settle(until)
    return reading, found


def test_a_line_that_continues_another_has_its_time_and_host():
    _, found = read(
        "2026-05-13T12:00:00+00:00 node-a kernel: NVRM: The NVIDIA GPU 0000:04:00.0",
        "                           NVRM: (PCI ID: 10de:2330) installed in this system has",
        "                           NVRM: fallen off the bus and is not responding to commands.",
    )
    assert [(NOON, "node-a")] * 3 == [(line.at, line.host) for line in found]
    parser = KernelLogParser()
    (fault,) = [report for line in found for report in parser.feed(line.text, line.at)]
    assert isinstance(fault, DeviceFault)
    assert ("79", "0000:04:00.0") == (fault.code, fault.pci)


def test_a_line_that_continues_one_that_says_nothing_has_its_time_too():
    _, found = read("[Wed May 13 12:00:00 2026] usb 1-1: new device", "  " + XID)
    assert [NOON] == [line.at for line in found]


def test_times_since_boot_become_times_of_day_by_the_real_time_clock():
    reading, (line,) = read(
        "[    1.0] rtc_cmos 00:00: setting system clock to 2026-05-13T12:00:00 UTC (1778673600)",
        f"[  601.000000] {XID}",
    )
    assert NOON + 600 == reading.when(line)


def test_times_since_boot_become_times_of_day_by_an_audit():
    reading, (line,) = read(
        f"[  601.000000] {XID}", "[  602.000000] audit: type=1400 audit(1778674201.500:3): apparmor"
    )
    assert NOON + 600.5 == reading.when(line)


def test_without_any_clock_the_last_line_is_as_old_as_the_log():
    reading, (line,) = read(f"[  100.000000] {XID}", "[  700.000000] usb 1-1: x", until=NOON)
    assert NOON - 600 == reading.when(line)
    reading, (line,) = read(f"[  100.000000] {XID}", "[  700.000000] usb 1-1: x")
    assert reading.when(line) is None


def test_a_boot_before_another_ended_before_that_began():
    reading, (first, second) = read(
        "[    0.000000] Linux version 6.8.0",
        f"[ 5000.000000] {XID}",
        "[    0.000000] Linux version 6.8.0",
        f"[  600.000000] {XID}",
        until=NOON,
    )
    assert [0, 1] == [first.boot, second.boot]
    assert (NOON - 600, NOON) == (reading.when(first), reading.when(second))


def test_a_journal_says_where_a_boot_begins():
    reading, (first, second) = read(
        f"May 12 12:00:00 node-a kernel: {XID}",
        "-- Boot 0123456789abcdef0123456789abcdef --",
        f"May 13 12:00:00 node-a kernel: {XID}",
        near=NOON + 60,
    )
    assert [0, 1] == [first.boot, second.boot]
    assert (NOON - 86_400, NOON) == (reading.when(first), reading.when(second))


def test_a_log_of_times_since_boot_names_its_host_where_the_host_names_itself():
    _, (line,) = read("[    8.0] systemd[1]: Hostname set to <node-a>.", f"[   9.0] {XID}")
    assert "node-a" == line.host


def test_a_journal_s_entries_of_several_lines_are_one_line_each():
    _, found = read(
        "Wed 2026-05-13 12:00:00.000000 UTC [s=1;i=1]",
        "    _HOSTNAME=node-a",
        "    __REALTIME_TIMESTAMP=1778673600000000",
        f"    MESSAGE={XID}",
        "",
        "__CURSOR=s=1;i=2",
        "__REALTIME_TIMESTAMP=1778673601000000",
        "_TRANSPORT=kernel",
        f"MESSAGE={XID}",
    )
    assert [(NOON, "node-a"), (NOON + 1, "node-a")] == [(line.at, line.host) for line in found]
    assert {XID} == {line.text for line in found}


def test_dmesg_s_own_json_is_read_as_it_stands_on_several_lines():
    _, (line,) = read(
        "{", '   "dmesg": [', "      {", '         "pri": 4,', '         "time":   12.500000,',
        f'         "msg": "{XID}"', "      },{",
    )  # fmt: skip
    assert (XID, 12.5) == (line.text, line.uptime)


def test_times_that_count_from_the_line_above_are_added_up():
    _, (line,) = read("[May13 12:00] usb 1-1: x", f"[  +2.500000] {XID}", near=NOON + 60)
    assert NOON + 2.5 == line.at


def test_a_healthy_boot_accuses_nobody():
    parser = KernelLogParser()
    reading = KernelLogReading(UTC, None)
    with HEALTHY.open("rb") as opened:
        told = [
            report
            for line in reading.read((number, data, True) for number, data in enumerate(opened, 1))
            for report in parser.feed(line.text, line.uptime or 0.0)
        ]
    assert not [one for one in told if isinstance(one, OomKill)]
    assert {"confirmation"} == {one.role for one in told if isinstance(one, LogFault)}
    codes = {one.code for one in told if isinstance(one, DeviceFault)}
    assert codes <= fault_codes.APPLICATION
    assert "node-a" == reading.host
