import os

import pytest

from rankscope.agent.readers.software import libraries
from rankscope.agent.readers.software.libraries import LibraryVersions
from rankscope.agent.readers.software.reader import SoftwareReader
from rankscope.vocabulary.samples import Event

NVIDIA = (
    "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56 UTC 2024\n"
    "GCC version:  gcc version 12.3.0\n"
)
OPEN = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build  (dvs)\n"
MAPS = """\
7f00-7f01 r-xp 00000000 08:01 11 /usr/lib/x86_64-linux-gnu/libcuda.so.550.54.15
7f01-7f02 r--p 00000000 08:01 11 /usr/lib/x86_64-linux-gnu/libcuda.so.550.54.15
7f03-7f04 r-xp 00000000 08:01 12 {nccl}
7f05-7f06 rw-p 00000000 00:00 0
7f05-7f06 rw-p 00000000 00:00 0 [heap]
"""


class Host:
    def __init__(self, root):
        self.root = root
        self.events: list[Event] = []
        for folder in ("state", "sys", "proc"):
            (root / folder).mkdir(exist_ok=True)
        self.put("proc/sys/kernel/osrelease", "6.8.0-40-generic")

    def put(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")

    def firmware(self, **versions):
        for device, version in versions.items():
            self.put(f"sys/class/infiniband/{device}/fw_ver", version)
            self.put(f"sys/class/infiniband/{device}/board_id", "MT_0000000838")

    def start(self, trainers=()):
        return SoftwareReader(
            emit=self.events.append,
            trainers=lambda: trainers,
            state=self.root / "state",
            proc=self.root / "proc",
            sys=self.root / "sys",
        )

    def told(self):
        told = [(event.attributes["kind"], event.attributes["text"]) for event in self.events]
        self.events.clear()
        return told


@pytest.fixture
def host(tmp_path):
    return Host(tmp_path)


def versions(reader):
    return {pairs["name"]: pairs["version"] for pairs in _pairs(reader)}


def _pairs(reader):
    return [dict(one.attributes) for one in reader.read(1.0)]


@pytest.mark.parametrize(("text", "version"), [(NVIDIA, "550.54.15"), (OPEN, "570.86.15")])
def test_the_nvidia_driver_says_its_version_in_either_flavour(host, text, version):
    host.put("proc/driver/nvidia/version", text)
    assert versions(host.start())["nvidia"] == version


def test_modules_firmware_and_settings_have_the_same_names_on_every_host(host):
    host.put("sys/module/nvidia/version", "535.1")
    host.put("sys/module/mlx5_core/version", "24.04-0.6.6")
    host.firmware(mlx5_0="28.39.1002")
    host.put("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never")
    host.put("proc/sys/kernel/numa_balancing", "1")
    for cpu, governor in enumerate(("performance", "powersave", "performance")):
        host.put(f"sys/devices/system/cpu/cpufreq/policy{cpu}/scaling_governor", governor)
    host.put("proc/cmdline", "BOOT_IMAGE=/vmlinuz root=/dev/sda1 iommu=pt nosmt pci=realloc pci=x")
    assert versions(host.start()) == {
        "kernel": "6.8.0-40-generic",
        "nvidia": "535.1",
        "mlx5_core": "24.04-0.6.6",
        "firmware.MT_0000000838": "28.39.1002",
        "transparent_hugepage": "madvise",
        "numa_balancing": "1",
        "cpu_governor": "performance,powersave",
        "cmdline.iommu": "pt",
        "cmdline.nosmt": "on",
        "cmdline.pci": "realloc,x",
    }


def test_a_version_that_changes_while_the_agent_runs_is_told_once(host):
    host.put("proc/driver/nvidia/version", NVIDIA)
    host.put("proc/sys/kernel/numa_balancing", "0")
    reader = host.start()
    reader.read(0.0)
    assert host.told() == []
    host.put("proc/driver/nvidia/version", OPEN)
    host.put("proc/sys/kernel/numa_balancing", "1")
    reader.read(60.0)
    assert host.told() == [
        ("driver", "nvidia is 570.86.15, it was 550.54.15"),
        ("config", "numa_balancing is 1, it was 0"),
    ]
    reader.read(120.0)
    assert host.told() == []


def test_a_version_that_changed_since_the_last_run_is_told_and_the_first_run_tells_nothing(host):
    host.start().read(0.0)
    assert host.told() == []
    host.put("proc/sys/kernel/osrelease", "6.8.0-41-generic")
    host.start().read(0.0)
    assert host.told() == [("driver", "kernel is 6.8.0-41-generic, it was 6.8.0-40-generic")]
    host.start().read(0.0)
    assert host.told() == []


def test_a_driver_that_is_unloaded_and_comes_back_as_another_is_told(host):
    host.put("sys/module/mlx5_core/version", "1")
    reader = host.start()
    reader.read(0.0)
    (host.root / "sys/module/mlx5_core/version").unlink()
    reader.read(60.0)
    assert host.told() == []
    host.put("sys/module/mlx5_core/version", "2")
    reader.read(120.0)
    assert host.told() == [("driver", "mlx5_core is 2, it was 1")]


def test_devices_of_one_board_with_two_firmwares_show_both_and_one_that_leaves_is_no_change(host):
    host.firmware(mlx5_0="28.39.1002", mlx5_1="28.40.1000")
    reader = host.start()
    found = [one["version"] for one in _pairs(reader) if one["name"] == "firmware.MT_0000000838"]
    assert found == ["28.39.1002", "28.40.1000"]
    (host.root / "sys/class/infiniband/mlx5_1/fw_ver").unlink()
    reader.read(60.0)
    assert host.told() == []
    host.firmware(mlx5_1="28.41.1000")
    reader.read(120.0)
    assert host.told() == [("driver", "firmware of mlx5_1 is 28.41.1000, it was 28.40.1000")]


def test_libraries_are_those_that_trainers_have_mapped(host, make_trainer):
    host.put("proc/100/maps", MAPS.format(nccl="/opt/lib/libnccl.so.2.18.5"))
    host.put("proc/101/maps", MAPS.format(nccl="/opt/lib/libnccl.so.2.21.5"))
    found = _pairs(host.start([make_trainer(100), make_trainer(101), make_trainer(None)]))
    assert {"name": "libcuda", "version": "550.54.15"} in found
    assert [one["version"] for one in found if one["name"] == "libnccl"] == ["2.18.5", "2.21.5"]
    assert host.told() == []


def test_a_library_without_a_version_in_its_name_has_that_of_its_package(host, make_trainer):
    site = "/opt/venv/lib/python3.11/site-packages"
    host.put("proc/100/maps", MAPS.format(nccl=f"{site}/nvidia/nccl/lib/libnccl.so.2"))
    dist = host.root / f"proc/100/root{site}/nvidia_nccl_cu12-2.21.5.dist-info"
    dist.mkdir(parents=True)
    assert versions(host.start([make_trainer(100)]))["libnccl"] == "2.21.5"


def test_a_process_is_looked_at_again_only_until_its_library_is_there(host, make_trainer):
    maps = host.root / "proc/100/maps"
    host.put("proc/100/maps", "7f05-7f06 rw-p 00000000 00:00 0 [heap]")
    trainers = [make_trainer(100)]
    found = LibraryVersions(trainers=lambda: trainers, proc=host.root / "proc")
    assert found.find() == set()
    host.put("proc/100/maps", MAPS.format(nccl="/opt/lib/libnccl.so.2.18.5"))
    expected = {("libnccl", "2.18.5"), ("libcuda", "550.54.15")}
    assert found.find() == expected
    maps.unlink()
    assert found.find() == expected
    trainers.clear()
    assert found.find() == set()


def test_a_process_that_may_not_be_read_has_no_libraries(tmp_path, make_trainer):
    found = LibraryVersions(trainers=lambda: [make_trainer(100)], proc=tmp_path)
    assert [found.find() for _ in range(5)] == [set()] * 5


def test_the_map_of_a_real_process_names_its_libraries():
    assert any("libc.so" in name for name in libraries.mapped(f"/proc/{os.getpid()}/maps"))
