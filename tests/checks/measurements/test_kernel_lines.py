"""Lines of the kernel about devices: what was written lately, and of what."""

import time

import pytest

from rankscope.checks.measurements import kernel_lines
from rankscope.checks.measurements.rows import CheckOrder

FIRMWARE = "NVRM: Xid (PCI:0000:18:00): 119, pid=1201, name=python, Timeout after 6s of waiting"
GONE = "NVRM: Xid (PCI:0000:18:00): 79, pid=1201, GPU has fallen off the bus."


def written(text):
    """Return a record as the kernel's buffer has it, written just now."""
    at = time.clock_gettime(time.CLOCK_MONOTONIC) * 1e6
    return f"3,812,{int(at)},-;{text}\n SUBSYSTEM=pci\n"


def count(measured, *records):
    (row,) = measured(CheckOrder("kernel_lost"), read=lambda: map(str.encode, records))
    return row


@pytest.mark.parametrize(
    ("measured", "text"), [(kernel_lines.firmware, FIRMWARE), (kernel_lines.lost, GONE)]
)
def test_each_kind_of_line_is_of_one_check(measured, text):
    assert text[:40] in count(measured, written(text)).failed
    other = FIRMWARE if text is GONE else GONE
    assert (0.0,) == count(measured, written(other)).samples


def test_what_was_written_long_ago_counts_no_more(monkeypatch):
    monkeypatch.setattr(time, "clock_gettime", lambda _clock: 9000.0)
    assert (0.0,) == count(kernel_lines.lost, f"3,812,7100000000,-;{GONE}").samples
    assert count(kernel_lines.lost, f"3,812,7300000000,-;{GONE}").failed


def test_records_that_are_none_are_passed_over():
    assert (0.0,) == count(kernel_lines.lost, "", "nothing", "a,b;c").samples


def test_a_buffer_that_may_not_be_read_is_not_measured():
    def refused():
        raise PermissionError(1, "Operation not permitted")

    (row,) = kernel_lines.lost(CheckOrder("kernel_lost"), read=refused)
    assert "Operation not permitted" in row.missing
