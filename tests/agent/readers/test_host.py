import ctypes
import os
from pathlib import Path

import psutil
import pytest

from rankscope.agent import procfs
from rankscope.agent.readers import clock_offset
from rankscope.agent.readers.blocked import BlockedProcessesReader
from rankscope.agent.readers.clock_offset import ClockOffsetReader
from rankscope.agent.readers.disks import DiskReader
from rankscope.agent.readers.filesystems import FilesystemReader
from rankscope.agent.readers.memory import MemoryReader
from rankscope.agent.readers.shared_memory import SharedMemory


def values(reader):
    return {
        (one.metric, *(value for _, value in one.attributes)): one.value for one in reader.read(1.0)
    }


def test_memory_in_use_is_what_cannot_be_had_any_more():
    found = values(MemoryReader(period=5))
    assert found[("system.memory.limit",)] == os.sysconf("SC_PHYS_PAGES") * os.sysconf(
        "SC_PAGE_SIZE"
    )
    assert 0 < found[("system.memory.usage",)] < found[("system.memory.limit",)]


class Mount:
    def __init__(self, device, mountpoint, fstype):
        self.device, self.mountpoint, self.fstype = device, mountpoint, fstype


def status(*, blocks=1000, free=400, available=350, files=100, free_files=75, flags=0):
    fields = (4096, 4096, blocks, free, available, files, free_files, free_files, flags, 255)
    return os.statvfs_result(fields)


def filesystems(monkeypatch, **found):
    """Return what is told of the filesystems mounted at /NAME; None cannot be looked at."""
    mounts = [Mount(f"/dev/{name}", f"/{name}", "ext4") for name in found]
    monkeypatch.setattr(psutil, "disk_partitions", lambda **_: mounts)

    def statvfs(mountpoint):
        if found[mountpoint[1:]] is None:
            raise OSError("unmounted meanwhile")
        return found[mountpoint[1:]]

    monkeypatch.setattr(os, "statvfs", statvfs)
    return values(FilesystemReader(period=5))


def test_each_filesystem_is_told_once_by_its_first_mount(monkeypatch):
    mounts = [
        Mount("/dev/sda1", "/", "ext4"),
        Mount("/dev/sda1", "/var/lib/kubelet/pods/x", "ext4"),
        Mount("/dev/loop0", "/snap/a", "squashfs"),
    ]
    monkeypatch.setattr(psutil, "disk_partitions", lambda **_: mounts)
    told = [pairs for _, *pairs in values(FilesystemReader(period=5))]
    assert told == [["/"]] * len(told)


def test_a_filesystem_is_as_full_as_its_ordinary_users_find_it(monkeypatch):
    told = filesystems(monkeypatch, data=status(), gone=None)
    assert told == {
        ("system.filesystem.utilization", "/data"): 600 / 950,
        ("system.filesystem.read_only", "/data"): 0,
        ("system.filesystem.inodes.utilization", "/data"): 0.25,
    }


def test_a_filesystem_that_may_not_be_written_says_so(monkeypatch):
    told = filesystems(monkeypatch, data=status(flags=os.ST_RDONLY | os.ST_NOSUID))
    assert told[("system.filesystem.read_only", "/data")] == 1


def test_a_read_only_mount_of_a_filesystem_that_is_written_elsewhere_is_no_fault(monkeypatch):
    """As every mount of a container with a read-only root is."""
    mountinfo = "63 43 254:0 /data /data ro,relatime - ext4 /dev/data {},discard\n"
    flags = status(flags=os.ST_RDONLY)
    for options, expected in (("rw", 0), ("ro", 1)):
        text = mountinfo.format(options)
        monkeypatch.setattr(procfs, "read", lambda _, text=text: text)
        told = filesystems(monkeypatch, data=flags)
        assert expected == told[("system.filesystem.read_only", "/data")]


def test_a_filesystem_without_a_number_of_inodes_tells_no_share_of_them(monkeypatch):
    told = filesystems(monkeypatch, data=status(files=0, free_files=0))
    assert ("system.filesystem.inodes.utilization", "/data") not in told


def test_only_whole_disks_are_told(monkeypatch):
    counter = type("Counter", (), {"busy_time": 1500, "read_bytes": 7, "write_bytes": 9})()
    whole = sorted(
        path.name
        for path in Path("/sys/block").iterdir()
        if not path.name.startswith(("loop", "ram", "zram"))
    )
    given = dict.fromkeys([*whole, "loop0", "zram0", "no-such-disk1"], counter)
    monkeypatch.setattr(psutil, "disk_io_counters", lambda **_: given)
    expected: dict[tuple[str, ...], float] = {}
    for name in whole:
        expected[("system.disk.io_time", name)] = 1.5
        expected[("system.disk.io", name, "read")] = 7
        expected[("system.disk.io", name, "write")] = 9
    assert values(DiskReader(period=5)) == expected


def test_no_disk_at_all_is_an_answer(monkeypatch):
    monkeypatch.setattr(psutil, "disk_io_counters", lambda **_: None)
    assert DiskReader(period=5).supported()[0] is False


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
    assert values(BlockedProcessesReader(period=5, proc=root)) == {
        ("system.processes.blocked",): 3.0
    }
    assert BlockedProcessesReader(period=5, proc=proc(stat="cpu 1 2 3\n")).supported()[0] is False


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

    reader = ClockOffsetReader(period=5)
    monkeypatch.setattr(reader, "_libc", Libc)
    assert [one.value for one in reader.read(1.0)] == ([] if expected is None else [expected])
    assert reader.supported()[0] == (expected is not None)


def test_a_clock_that_may_not_be_asked_says_why(monkeypatch):
    class Libc:
        @staticmethod
        def adjtimex(reference):
            ctypes.set_errno(1)
            return -1

    reader = ClockOffsetReader(period=5)
    monkeypatch.setattr(reader, "_libc", Libc)
    assert reader.supported() == (False, "adjtimex: [Errno 1] Operation not permitted")


def test_the_real_call_answers_with_a_state():
    timex = clock_offset._TimexStruct()
    assert ClockOffsetReader(period=5)._libc.adjtimex(ctypes.byref(timex)) >= 0
    assert timex.modes == 0
