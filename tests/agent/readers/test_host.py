import ctypes
import os
from pathlib import Path

import pytest

from rankscope.agent.readers.blocked import BlockedProcessesReader
from rankscope.agent.readers.clock_offset import ClockOffsetReader
from rankscope.agent.readers.disks import DiskReader
from rankscope.agent.readers.filesystems import FilesystemReader
from rankscope.agent.readers.memory import MemoryReader
from rankscope.agent.readers.shared_memory import SharedMemory
from rankscope.formats import kernel_clock


def values(reader):
    return {
        (one.metric, *(value for _, value in one.attributes)): one.value for one in reader.read(1.0)
    }


def test_memory_in_use_is_what_cannot_be_had_any_more(proc):
    root = proc(meminfo="MemTotal:  100 kB\nMemFree:  20 kB\nMemAvailable:  60 kB\nCached: 5 kB\n")
    assert values(MemoryReader(period=5, proc=root)) == {
        ("system.memory.usage",): 40 * 1024,
        ("system.memory.limit",): 100 * 1024,
    }


def test_what_is_available_beyond_a_containers_memory_is_the_hosts(proc):
    """LXC shows the container's total and free memory beside what the host has available."""
    root = proc(meminfo="MemTotal:  100 kB\nMemFree:  20 kB\nMemAvailable:  600 kB\n")
    assert values(MemoryReader(period=5, proc=root))[("system.memory.usage",)] == 80 * 1024


def test_a_kernel_that_does_not_say_what_is_available_is_an_answer(proc):
    reader = MemoryReader(period=5, proc=proc(meminfo="MemTotal:  100 kB\nMemFree:  20 kB\n"))
    assert (reader.supported()[0], values(reader)) == (False, {})


def test_the_real_memory_disks_and_filesystems_can_be_read():
    found = values(MemoryReader(period=5))
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert found[("system.memory.limit",)] == pages
    assert 0 < found[("system.memory.usage",)] < pages
    for reader in (DiskReader(period=5), FilesystemReader(period=5)):
        assert reader.supported()[0] == bool(values(reader))


KINDS = "nodev\ttmpfs\nnodev\tnfs4\nnodev\tzfs\n\text4\n\tsquashfs\n"
MOUNT = "63 43 254:0 / {} ro,relatime shared:1 - {} {} {}\n"


def status(*, blocks=1000, free=400, available=350, files=100, free_files=75, flags=0):
    fields = (4096, 4096, blocks, free, available, files, free_files, free_files, flags, 255)
    return os.statvfs_result(fields)


@pytest.fixture
def told(proc, monkeypatch):
    """Return what is told of mounts (mountpoint, kind, source, options of the filesystem)."""

    def tell(*mounts, **found):
        """Take by name what each mountpoint answers, `status()` without one, None: it is gone."""
        text = "".join(MOUNT.format(*mount) for mount in mounts)
        root = proc(filesystems=KINDS, self__mountinfo=text)

        def statvfs(mountpoint):
            answer = found.get(mountpoint[1:], status())
            if answer is None:
                raise OSError("unmounted meanwhile")
            return answer

        monkeypatch.setattr(os, "statvfs", statvfs)
        return values(FilesystemReader(period=5, proc=root))

    return tell


DATA = ("/data", "ext4", "/dev/data", "rw,discard")


def mountpoints(told):
    return {mountpoint for _, mountpoint in told}


def test_each_filesystem_is_told_once_by_its_first_mount(told):
    found = told(
        ("/", "ext4", "/dev/sda1", "rw"),
        ("/var/lib/kubelet/pods/x", "ext4", "/dev/sda1", "rw"),
        ("/snap/a", "squashfs", "/dev/loop0", "ro"),
    )
    assert mountpoints(found) == {"/"}


def test_only_filesystems_on_devices_and_zfs_are_told(told):
    found = told(
        ("/run", "tmpfs", "tmpfs", "rw"),
        ("/home", "nfs4", "server:/home", "rw"),
        ("/tank", "zfs", "tank", "rw"),
        ("/odd", "ext4", "none", "rw"),
        DATA,
    )
    assert mountpoints(found) == {"/tank", "/data"}


def test_a_mountpoint_with_a_blank_is_looked_at_by_its_name(told):
    found = told(("/my\\040data", "ext4", "/dev/sda1", "rw"), **{"my data": status(free=0)})
    assert found[("system.filesystem.utilization", "/my data")] == 1000 / 1350


def test_a_filesystem_is_as_full_as_its_ordinary_users_find_it(told):
    assert told(DATA, ("/gone", "ext4", "/dev/gone", "rw"), gone=None) == {
        ("system.filesystem.utilization", "/data"): 600 / 950,
        ("system.filesystem.read_only", "/data"): 0,
        ("system.filesystem.inodes.utilization", "/data"): 0.25,
    }


@pytest.mark.parametrize(
    ("options", "flags", "expected"),
    [
        ("ro,discard", os.ST_RDONLY | os.ST_NOSUID, 1),
        # As every mount of a container with a read-only root is.
        ("rw,discard", os.ST_RDONLY, 0),
        ("rw,discard", 0, 0),
    ],
)
def test_a_filesystem_that_may_not_be_written_says_so_and_a_read_only_mount_of_it_is_no_fault(
    told, options, flags, expected
):
    found = told(("/data", "ext4", "/dev/data", options), data=status(flags=flags))
    assert found[("system.filesystem.read_only", "/data")] == expected


def test_a_filesystem_without_a_number_of_inodes_tells_no_share_of_them(told):
    found = told(DATA, data=status(files=0, free_files=0))
    assert ("system.filesystem.inodes.utilization", "/data") not in found


def test_nothing_mounted_that_has_a_device_is_an_answer(proc):
    root = proc(filesystems=KINDS, self__mountinfo=MOUNT.format("/run", "tmpfs", "tmpfs", "rw"))
    assert FilesystemReader(period=5, proc=root).supported()[0] is False


DISKSTATS = """\
   7       0 loop0 1 0 2 0 0 0 0 0 0 5 0 0 0 0 0 0 0
 259       0 nvme0n1 30 4 7 100 20 3 9 200 0 1500 300 0 0 0 0 0 0
 259       1 nvme0n1p1 30 4 7 100 20 3 9 200 0 1500 300 0 0 0 0 0 0
   8       0 sda 1 1 2 1 1 1 4 1 0 250 2
 252       0 zram0 1 1 2 1 1 1 4 1 0 250 2
"""


def test_only_whole_disks_are_told_in_seconds_and_bytes(proc, tmp_path):
    for name in ("loop0", "nvme0n1", "sda", "zram0"):
        (tmp_path / "sys/block" / name).mkdir(parents=True)
    reader = DiskReader(period=5, proc=proc(diskstats=DISKSTATS), sys=tmp_path / "sys")
    assert reader.supported() == (True, "")
    assert values(reader) == {
        ("system.disk.io_time", "nvme0n1"): 1.5,
        ("system.disk.io", "nvme0n1", "read"): 7 * 512,
        ("system.disk.io", "nvme0n1", "write"): 9 * 512,
        ("system.disk.io_time", "sda"): 0.25,
        ("system.disk.io", "sda", "read"): 2 * 512,
        ("system.disk.io", "sda", "write"): 4 * 512,
    }


def test_no_disk_at_all_is_an_answer(proc):
    assert DiskReader(period=5, proc=proc()).supported()[0] is False


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
        (-2_500_000, kernel_clock.NANOSECONDS, -0.0025),
        (1500, kernel_clock.UNSYNCHRONISED, None),
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
    timex = kernel_clock.KernelTimex()
    assert ClockOffsetReader(period=5)._libc.adjtimex(ctypes.byref(timex)) >= 0
    assert timex.modes == 0
