"""The kernel log's double gives records as the kernel does, one by one and in storms."""

import os
import re
import threading

import pytest

from bench.node.kernel_log import INFO, KernelLogDouble


def parts(line):
    """Return level, number, microseconds and text of a record."""
    found = re.match(rb"^(\d+),(\d+),(\d+),-;(.*)$", line)
    assert found, line
    return int(found[1]), int(found[2]), int(found[3]), found[4].decode()


@pytest.fixture
def log(tmp_path):
    log = KernelLogDouble(tmp_path / "kmsg", uptime=lambda: 12.5)
    yield log
    log.close()


@pytest.fixture
def reader(log):
    fd = os.open(log.path, os.O_RDONLY | os.O_NONBLOCK)
    yield fd
    os.close(fd)


def test_a_record_has_level_number_time_and_text(log, reader):
    assert log.write("usb 1-1: new device") == 1
    log.write("eth0: link up", level=INFO)
    lines = os.read(reader, 4096).splitlines()
    assert lines == [b"3,1,12500000,-;usb 1-1: new device", b"6,2,12500000,-;eth0: link up"]


def test_fields_follow_on_lines_of_their_own_and_odd_letters_are_escaped(log, reader):
    log.write("a\\b\ttäg", fields={"SUBSYSTEM": "pci", "DEVICE": "+pci:0000:05:00.0"})
    assert os.read(reader, 4096) == (
        b"3,1,12500000,-;a\\x5cb\\x09t\\xc3\\xa4g\n SUBSYSTEM=pci\n DEVICE=+pci:0000:05:00.0\n"
    )


def test_a_reader_may_come_late_leave_and_return_without_an_end_of_file(log):
    log.write("before anybody")
    for text in ("first", "second"):
        fd = os.open(log.path, os.O_RDONLY | os.O_NONBLOCK)
        log.write(text)
        assert text.encode() in os.read(fd, 4096)
        with pytest.raises(BlockingIOError):
            os.read(fd, 4096)
        os.close(fd)


def test_a_full_log_drops_and_the_sequence_tells(log, reader):
    while not log.dropped:
        log.write("x" * 1000)
    lost = log.sequence - 1
    os.read(reader, 1 << 20)
    log.write("after")
    numbers = [parts(line)[1] for line in os.read(reader, 1 << 20).splitlines()]
    assert lost not in numbers
    assert numbers[-1] == lost + 1


def test_a_storm_loses_nothing_and_waits_for_its_reader(log):
    read: list[bytes] = []
    fd = os.open(log.path, os.O_RDONLY)

    def drain():
        while b"the end" not in b"".join(read[-2:]):
            read.append(os.read(fd, 65536))

    thread = threading.Thread(target=drain)
    thread.start()
    log.storm("NVRM: Xid (PCI:0000:1b:00): 95, uncontained", 20_000)
    log.write("the end")
    thread.join(timeout=60)
    os.close(fd)
    numbers = [parts(line)[1] for line in b"".join(read).splitlines()]
    assert numbers == list(range(1, 20_002))
    assert log.dropped == 0


def test_a_storm_that_nobody_reads_ends_with_an_error(log):
    with pytest.raises(TimeoutError, match="nobody reads"):
        log.storm("x" * 100, 10_000, patience_seconds=0.05)


def test_skipped_records_are_a_gap_in_the_numbers(log, reader):
    log.write("one")
    log.skip(500)
    assert log.write("two") == 502


def test_driver_lines_have_the_public_forms(log, reader):
    log.xid("0000:1b:00.0", 79, "GPU has fallen off the bus.", pid=4242, name="python")
    log.xid("0000:1b:00.0", 119, "Timeout waiting for RPC from GSP1!")
    log.sxid("0000:85:00.0", 12028, "egress non-posted PRIV error", link=4, fatal=True)
    log.oom_kill(4242, "python3", "/kubepods/pod1")
    texts = [parts(line)[3] for line in os.read(reader, 8192).splitlines()]
    assert texts[0] == (
        "NVRM: Xid (PCI:0000:1b:00): 79, pid=4242, name=python, GPU has fallen off the bus."
    )
    assert texts[1].startswith("NVRM: Xid (PCI:0000:1b:00): 119, pid='<unknown>', name=<unknown>,")
    assert "SXid (PCI:0000:85:00.0): 12028, Fatal, Link 04 egress" in texts[2]
    assert "task_memcg=/kubepods/pod1,task=python3,pid=4242" in texts[3]
    assert "Killed process 4242 (python3)" in texts[4]


def test_a_file_keeps_what_was_logged(tmp_path):
    log = KernelLogDouble(tmp_path / "kmsg", fifo=False)
    log.write("kept")
    log.storm("again", 100)
    log.close()
    lines = (tmp_path / "kmsg").read_bytes().splitlines()
    assert len(lines) == 101
    assert lines[0].endswith(b";kept")
