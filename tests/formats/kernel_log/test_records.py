import pytest

from rankscope.formats import kernel_log
from rankscope.formats.kernel_log import KernelRecord


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
        ("[  123.456789] hello", KernelRecord("hello", uptime=123.456789)),
        ("<4>[    0.000000] hello", KernelRecord("hello", uptime=0.0, priority=4)),
        ("[12.5] hello", KernelRecord("hello", uptime=12.5)),
        (
            "2026-11-21T02:50:40.5+00:00 node-1 kernel: hello",
            KernelRecord("hello", at=1795229440.5),
        ),
        ("2026-11-21T02:50:40,5Z node-1 kernel: hello", KernelRecord("hello", at=1795229440.5)),
        (
            "2026-11-21T02:50:40+0000 node-1 kernel: [ 12.5] hello",
            KernelRecord("hello", at=1795229440.0, uptime=12.5),
        ),
        ("Nov 21 02:50:40 node-1 kernel: hello", KernelRecord("hello")),
        ("Nov  1 02:50:40 node-1 kernel: [  3.25] hello", KernelRecord("hello", uptime=3.25)),
        ("hello\n", KernelRecord("hello")),
        ("[not a time] hello", KernelRecord("[not a time] hello")),
        ("9999-99-99T99:99:99Z node-1 kernel: hello", KernelRecord("hello")),
    ],
)
def test_lines_of_dmesg_and_journal_lose_what_stands_before_them(text, expected):
    assert expected == kernel_log.line(text)


def test_a_line_of_dmesg_in_wall_time_says_when_it_was():
    found = kernel_log.line("[Sat Nov 21 02:50:40 2026] hello")
    assert found.text == "hello"
    assert found.at is not None
    assert abs(found.at - 1795229440) <= 14 * 3600  # in the zone of whoever reads it
