import math
from datetime import UTC

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankscope.formats import kernel_log
from rankscope.formats.kernel_log import (
    DeviceFault,
    KernelLogParser,
    KernelLogReading,
    OomKill,
)

PIECES = st.sampled_from(
    [
        "NVRM: Xid (PCI:0000:05:00): ", "NVRM: ", "SXid (PCI:", "): ", "79, ", "154, ", "149, ",
        "pid=", "pid='<unknown>', ", "name=x, ", "Fatal ", "XC0 i0 Link ", "-1 (0x", "0000:05:00.0",
        "fallen off the bus", "GPU at PCI:0000:05:00: GPU-12345678", "oom-kill:constraint=",
        "Killed process ", "123", "(python)", ",task_memcg=/a,task=b,pid=", "Task in /x killed as",
        " a result of limit of /y", "\n", "recovery action changed from 0x0 to 0x", "AER: ",
        "segfault at ", "99999999999999999999", "\x00", "\u2603",
    ]
)  # fmt: skip
LINES = st.lists(st.one_of(PIECES, st.text(max_size=8)), max_size=12).map("".join)


@given(st.binary(max_size=400))
def test_any_bytes_are_a_record_or_none_and_a_line_in_any_case(data):
    found = kernel_log.record(data)
    assert found is None or isinstance(found.text, str)
    assert isinstance(kernel_log.line(data.decode("latin-1")).text, str)
    kernel_log.relevant(data)


@given(st.lists(LINES, max_size=20))
def test_no_line_upsets_the_parser_and_what_it_returns_is_bounded(lines):
    parser = KernelLogParser()
    for number, line in enumerate(lines):
        for found in parser.feed(line, float(number)):
            assert len(found.text) <= 300
            if isinstance(found, DeviceFault):
                assert found.code
                assert found.pid is None or 0 <= found.pid < 10**9
            if isinstance(found, OomKill):
                assert 0 <= found.pid < 10**9


HEADS = st.sampled_from(
    [
        "[   12.5] ",
        "<4>",
        "[Wed May 13 12:00:00 2026] ",
        "[Fri Feb 31 25:61:61 2026] ",
        "[May13 12:00] ",
        "[  +1.5] ",
        "Feb 29 12:00:00 node-a kernel: ",
        "Feb 30 99:99:99 node-a kernel: ",
        "kernel: ",
        "2026-05-13T12:00:00Z node-a kernel: ",
        "9999-99-99 99:99:99 ",
        "node-a: ",
        "> ",
        "  ",
        "\r",
        "-- Boot 0123456789abcdef0123456789abcdef --",
        "__REALTIME_TIMESTAMP=",
        "MESSAGE=",
        "\u0662",
        '{"MESSAGE":"',
        '"}',
        '{"MESSAGE":[1,2,300],"_HOSTNAME":{}}',
        '"time": ',
        '"msg": "',
        "\u00b2" * 12,
        "rtc setting system clock to x (1778673600)",
        "audit(9999999999.9:1)",
        "Hostname set to <a>",
        "Linux version ",
        "Message:",
        "Timestamp:2026-05-13 12:00:00.5 +0000 UTC m=+1 Reason:x ",
    ]
)
LOGS = st.lists(st.lists(st.one_of(HEADS, LINES), max_size=6).map("".join), max_size=20)


@given(LOGS, st.one_of(st.none(), st.floats(0.0, 4e9)))
def test_no_log_upsets_its_reading_and_every_time_is_finite(lines, near):
    reading = KernelLogReading(UTC, near)
    written = enumerate((line.encode("utf-8", "replace") + b"\n" for line in lines), 1)
    found = list(reading.read((number, line, True) for number, line in written))
    reading.settle(near)
    for line in found:
        at = reading.when(line)
        assert at is None or math.isfinite(at)
        assert isinstance(line.host, str)


@given(LINES)
def test_what_the_parser_tells_of_a_line_the_pre_filter_lets_through(line):
    if KernelLogParser().feed(line, 0.0):
        assert kernel_log.relevant(line.encode("utf-8", "replace"))


@given(
    st.integers(0, 0xFFFF), st.integers(0, 255), st.integers(0, 31), st.integers(1, 999),
    st.integers(1, 2**22),
)  # fmt: skip
def test_every_xid_that_can_be_written_is_read_back(domain, bus, slot, code, pid):
    text = f"NVRM: Xid (PCI:{domain:04x}:{bus:02x}:{slot:02x}): {code}, pid={pid}, name=p, x"
    (fault,) = KernelLogParser().feed(text, 0.0)
    assert isinstance(fault, DeviceFault)
    assert (str(code), f"{domain:04x}:{bus:02x}:{slot:02x}.0", pid) == (
        fault.code,
        fault.pci,
        fault.pid,
    )


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "needle",
    [
        "ilesystem", "Port module event", "AER: ", "PCIe Bus Error", "segfault at ", "NVRM: Xid (",
        "INFO: task blocked for more than", "oom-kill:constraint=", "nvme nvme0: I/O ",
    ],
)  # fmt: skip
def test_long_hostile_lines_are_read_in_time_that_grows_with_their_length(needle):
    """A pattern that tries every pair of positions would take hours here: the test would hang."""
    parser = KernelLogParser()
    for line in (needle * 20_000, "(" * 100_000 + needle, needle + "a" * 100_000):
        assert all(len(found.text) <= 300 for found in parser.feed(line, 0.0))
