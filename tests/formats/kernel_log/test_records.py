from datetime import UTC, datetime
from typing import Any

import pytest

from rankscope.formats import kernel_log
from rankscope.formats.kernel_log import KernelRecord

AT = 1795229440.0  # 2026-11-21 02:50:40 UTC


def record(**told: Any) -> KernelRecord:
    """Return a line of a kernel's own form that says hello."""
    return KernelRecord("hello", **{"kernels": True, **told})


def test_a_record_of_kmsg_has_number_time_and_text():
    data = b"4,1234,5678901,-;NVRM: Xid (PCI:0000:05:00): 79, GPU has fallen off the bus.\n"
    assert KernelRecord(
        text="NVRM: Xid (PCI:0000:05:00): 79, GPU has fallen off the bus.",
        uptime=5.678901,
        sequence=1234,
        priority=4,
    ) == kernel_log.record(data)


def test_fields_that_newer_kernels_add_and_the_dictionary_do_not_disturb():
    data = b"30,7,99,c,caller=T12;a; text\n SUBSYSTEM=pci\n DEVICE=+pci:0000:05:00.0\n"
    found = kernel_log.record(data)
    assert found is not None
    assert ("a; text", 7, 6) == (found.text, found.sequence, found.priority)


def test_escapes_are_read_and_broken_utf_8_is_replaced():
    found = kernel_log.record(b"6,1,1,-;caf\\xc3\\xa9 \\x5c two\\x0alines \\xff")
    assert found is not None
    assert "caf\u00e9 \\ two\nlines \ufffd" == found.text


@pytest.mark.parametrize(
    "data", [b"", b";", b"text", b"1,2;x", b"a,b,c,-;x", b"1,2,-3,-;x", b" KEY=value", b"1;2,3,4"]
)
def test_what_is_no_record_is_none(data):
    assert kernel_log.record(data) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[  123.456789] hello", record(uptime=123.456789)),
        ("<4>[    0.000000] hello", record(uptime=0.0, priority=4)),
        ("[12.5] hello", record(uptime=12.5)),
        ("[   12.345678][ T1234] hello", record(uptime=12.345678)),
        ("[   12.345678 <    0.000012>] hello", record(uptime=12.345678)),
        ("kern  :err   : [   12.345678] hello", record(uptime=12.345678)),
        ("[  +0.000012] hello", record(since=0.000012)),
        ("[ 1234.567890] node-1 kernel: hello", record(uptime=1234.56789, host="node-1")),
        ("2026-11-21T02:50:40.5+00:00 node-1 kernel: hello", record(at=AT + 0.5, host="node-1")),
        ("2026-11-21T02:50:40,5Z node-1 kernel: hello", record(at=AT + 0.5, host="node-1")),
        (
            "2026-11-21T02:50:40+0000 node-1 kernel: [ 12.5] hello",
            record(at=AT, uptime=12.5, host="node-1"),
        ),
        ("2026-11-21T03:50:40,500000+01:00 hello", record(at=AT + 0.5, kernels=False)),
        ("kern  :err   : 2026-11-21T02:50:40,0+00:00 hello", record(at=AT, kernels=False)),
        ("Sat 2026-11-21 02:50:40 UTC node-1 kernel: hello", record(at=AT, host="node-1")),
        ("1795229440.500000 node-1 kernel: hello", record(at=AT + 0.5, host="node-1")),
        ("<4>1 2026-11-21T02:50:40Z node-1 kernel - - - hello", record(at=AT, host="node-1")),
        ("10.0.0.7: kern: warning: [2026-11-21T02:50:40Z]: hello", record(at=AT, host="10.0.0.7")),
        ("> [Sat Nov 21 02:50:40 2026] hello", record(at=AT)),
        ("node-1: [Sat Nov 21 02:50:40 2026] hello", record(at=AT, host="node-1")),
        ("3: [Sat Nov 21 02:50:40 2026] hello", record(at=AT)),
        (
            "2026-11-21T02:50:41.123456789Z Nov 21 02:50:40 node-1 kernel: [ 12.5] hello",
            record(at=AT + 1.123456, uptime=12.5, host="node-1", yearless=None),
        ),
        ("kernel: hello", record()),
        ("hello\n", KernelRecord("hello")),
        ("[not a time] hello", KernelRecord("[not a time] hello")),
        ("9999-99-99T99:99:99Z node-1 kernel: hello", record(host="node-1")),
    ],
)
def test_lines_of_every_form_lose_what_stands_before_them(text, expected):
    assert expected == kernel_log.line(text, UTC)


@pytest.mark.parametrize(
    "text",
    [
        "amdgpu 0000:9d:00.0: amdgpu: GPU reset begin!",
        "mlx5_core 0000:5e:00.0: device's health compromised",
        "nvme nvme0: I/O 23 QID 5 timeout",
        "habanalabs hl2: Device heartbeat failed!",
        "sd 0:0:0:0: [sda] x",
        "NVRM: Xid (PCI:0000:05:00): 79, x",
    ],
)
def test_a_driver_and_its_device_are_no_host_and_program(text):
    for before in ("[  100.5] ", "<4>[  100.5] ", "2026-11-21T02:50:40,500000+00:00 ",
                   "[Sat Nov 21 02:50:40 2026] "):  # fmt: skip
        found = kernel_log.line(before + text, UTC)
        assert (text, "") == (found.text, found.host)


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("Nov 21 02:50:40 node-1 kernel: hello", "node-1"),
        ("Nov 21 02:50:40.000000 node-1 kernel: [12345.678] hello", "node-1"),
        ("<4>Nov 21 02:50:40 node-1 kernel: hello", "node-1"),
        ("Nov 21 02:50:40 kernel: hello", ""),
    ],
)
def test_a_time_without_a_year_is_the_latest_that_is_not_in_the_future(text, host):
    for near, year in ((AT + 60.0, 2026), (AT - 5 * 86_400, 2025), (AT + 300 * 86_400, 2026)):
        found = kernel_log.line(text, UTC, near)
        assert ("hello", host) == (found.text, found.host)
        assert found.at == datetime(year, 11, 21, 2, 50, 40, tzinfo=UTC).timestamp()


def test_a_time_without_a_year_is_none_where_nobody_says_which_it_was():
    found = kernel_log.line("Nov 21 02:50:40 node-1 kernel: hello", UTC)
    assert found.at is None
    assert found.yearless is not None
    assert (11, 21) == (found.yearless.month, found.yearless.day)


def test_the_29_of_february_was_in_a_year_that_has_one():
    found = kernel_log.line("Feb 29 12:00:00 node-1 kernel: hello", UTC, AT)
    assert found.at == datetime(2024, 2, 29, 12, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            (
                '{"__REALTIME_TIMESTAMP":"1795229440000000","_HOSTNAME":"node-1","_TRANSPORT":"kernel",'
                '"__MONOTONIC_TIMESTAMP":"12500000","MESSAGE":"hello"}'
            ),
            record(at=AT, uptime=12.5, host="node-1"),
        ),
        ('{"pri":4,"time":   12.500000,"msg":"hello"},', record(uptime=12.5)),
        (
            '{"log":"[   12.500000] hello\\n","time":"2026-11-21T02:50:40Z"}',
            record(at=AT, uptime=12.5),
        ),
        (
            (
                '{"jsonPayload":{"MESSAGE":"hello","_HOSTNAME":"node-1"},'
                '"timestamp":"2026-11-21T02:50:40Z"}'
            ),
            record(at=AT, host="node-1", kernels=False),
        ),
        (
            (
                '{"_source":{"message":"hello","host":{"name":"node-1"},'
                '"@timestamp":"2026-11-21T02:50:40Z"}}'
            ),
            record(at=AT, host="node-1", kernels=False),
        ),
        (
            (
                "I1121 02:50:40.123456       1 log_monitor.go:160] New status generated: &{Source:"
                "kernel-monitor Events:[{Severity:warn Timestamp:2026-11-21 02:50:40.5 +0000 UTC "
                "m=+9 Reason:X Message:hello}] Conditions:[]}"
            ),
            record(at=AT + 0.5),
        ),
        ('{"loss": 2.5, "step": 3}', KernelRecord('{"loss": 2.5, "step": 3}')),
        ('{"MESSAGE": ', KernelRecord('{"MESSAGE": ')),
    ],
)
def test_a_line_inside_an_export_is_read_with_what_the_export_says_of_it(text, expected):
    assert expected == kernel_log.line(text, UTC)


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-21 02:50:40,123 INFO trainer: loss 3",
        "2026-11-21T02:50:40.123Z ERROR worker: lost",
        "[rank1]:[E513 12:15:00.714781661 ProcessGroupNCCL.cpp:685] x",
        " [2026-05-13 12:00:10] iteration        1/  500 | loss",
    ],
)
def test_a_line_of_a_job_is_of_no_kernel_and_names_no_host(text):
    found = kernel_log.line(text, UTC)
    assert (False, "") == (found.kernels, found.host)


def test_a_line_of_dmesg_in_wall_time_says_when_it_was():
    found = kernel_log.line("[Sat Nov 21 02:50:40 2026] hello")
    assert found.text == "hello"
    assert found.at is not None
    assert abs(found.at - 1795229440) <= 14 * 3600  # in the zone of whoever reads it
