import ctypes
import os
from pathlib import Path

import psutil
import pytest

from rankscope.agent.readers import clock_offset
from rankscope.agent.readers.blocked import Blocked
from rankscope.agent.readers.clock_offset import ClockOffset
from rankscope.agent.readers.disks import Disks
from rankscope.agent.readers.filesystems import Filesystems
from rankscope.agent.readers.memory import Memory
from rankscope.agent.readers.shared_memory import SharedMemory


def values(reader):
    return {
        (one.metric, *(value for _, value in one.attributes)): one.value for one in reader.read(1.0)
    }


def test_memory_in_use_is_what_cannot_be_had_any_more():
    found = values(Memory(period=5))
    assert found[("system.memory.limit",)] == os.sysconf("SC_PHYS_PAGES") * os.sysconf(
        "SC_PAGE_SIZE"
    )
    assert 0 < found[("system.memory.usage",)] < found[("system.memory.limit",)]


def test_each_filesystem_is_told_once_by_its_first_mount(monkeypatch):
    mounts = [
        ("/dev/sda1", "/", "ext4"),
        ("/dev/sda1", "/var/lib/kubelet/pods/x", "ext4"),
        ("/dev/sdb", "/gone", "xfs"),
        ("/dev/loop0", "/snap/a", "squashfs"),
    ]

    class Mount:
        def __init__(self, device, mountpoint, fstype):
            self.device, self.mountpoint, self.fstype = device, mountpoint, fstype

    monkeypatch.setattr(psutil, "disk_partitions", lambda **_: [Mount(*one) for one in mounts])

    def usage(mountpoint):
        if mountpoint == "/gone":
            raise OSError("unmounted meanwhile")
        return type("Usage", (), {"total": 100, "percent": 25.0})()

    monkeypatch.setattr(psutil, "disk_usage", usage)
    assert values(Filesystems(period=5)) == {("system.filesystem.utilization", "/"): 0.25}


def test_only_whole_disks_are_told(monkeypatch):
    counter = type("Counter", (), {"busy_time": 1500})()
    whole = sorted(
        path.name
        for path in Path("/sys/block").iterdir()
        if not path.name.startswith(("loop", "ram", "zram"))
    )
    given = dict.fromkeys([*whole, "loop0", "zram0", "no-such-disk1"], counter)
    monkeypatch.setattr(psutil, "disk_io_counters", lambda **_: given)
    assert values(Disks(period=5)) == {("system.disk.io_time", name): 1.5 for name in whole}


def test_no_disk_at_all_is_an_answer(monkeypatch):
    monkeypatch.setattr(psutil, "disk_io_counters", lambda **_: None)
    assert Disks(period=5).supported()[0] is False


def test_shared_memory_in_use_grows_with_what_is_put_there():
    reader = SharedMemory(period=5)
    before = values(reader)[("system.shm.usage",)]
    path = Path(f"/dev/shm/rankscope-test-{os.getpid()}")
    try:
        path.write_bytes(bytes(8 << 20))
        assert values(reader)[("system.shm.usage",)] >= before + (7 << 20)
    finally:
        path.unlink()


def test_a_machine_without_shared_memory_says_so(tmp_path):
    supported, reason = SharedMemory(period=5, folder=tmp_path / "shm").supported()
    assert (supported, "not mounted" in reason) == (False, True)


def test_blocked_processes_are_the_kernels_count(proc):
    root = proc(stat="cpu 1 2 3\nprocs_running 2\nprocs_blocked 3\n")
    assert values(Blocked(period=5, proc=root)) == {("system.processes.blocked",): 3.0}
    assert Blocked(period=5, proc=proc(stat="cpu 1 2 3\n")).supported()[0] is False


@pytest.mark.parametrize(
    ("offset", "status", "expected"),
    [
        (1500, 0, 0.0015),
        (-2_500_000, clock_offset._NANOSECONDS, -0.0025),
        (1500, clock_offset._UNSYNCHRONISED, None),
    ],
)
def test_the_clocks_offset_is_in_the_unit_that_its_status_says(
    monkeypatch, offset, status, expected
):
    class Libc:
        @staticmethod
        def adjtimex(reference):
            reference._obj.offset = offset
            reference._obj.status = status
            return 0

    reader = ClockOffset(period=5)
    monkeypatch.setattr(reader, "_libc", Libc)
    assert [one.value for one in reader.read(1.0)] == ([] if expected is None else [expected])
    assert reader.supported()[0] == (expected is not None)


def test_a_clock_that_may_not_be_asked_says_why(monkeypatch):
    class Libc:
        @staticmethod
        def adjtimex(reference):
            ctypes.set_errno(1)
            return -1

    reader = ClockOffset(period=5)
    monkeypatch.setattr(reader, "_libc", Libc)
    assert reader.supported() == (False, "adjtimex: [Errno 1] Operation not permitted")


def test_the_real_call_answers_with_a_state():
    timex = clock_offset._Timex()
    assert ClockOffset(period=5)._libc.adjtimex(ctypes.byref(timex)) >= 0
    assert timex.modes == 0
