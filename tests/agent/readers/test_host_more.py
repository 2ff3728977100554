"""Pressure, paging, interfaces and the memory of containers."""

import pytest

from rankscope.agent.readers.container_memory import ContainerMemory
from rankscope.agent.readers.interfaces import InterfaceReader
from rankscope.agent.readers.paging import PagingReader
from rankscope.agent.readers.pressure import PressureReader

PRESSURE = (
    "some avg10=12.50 avg60=0.02 avg300=1.38 total=4369318065\n"
    "full avg10=0.25 avg60=0.00 avg300=0.00 total=1500000\n"
)
NET_DEV = """\
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes packets errs drop fifo colls carrier compressed
    lo: 10 1 0 0 0 0 0 0 10 1 0 0 0 0 0 0
  eth0:1000 9 1 2 0 0 0 0 2000 8 3 4 0 0 0 0
veth12: 77 1 0 0 0 0 0 0 77 1 0 0 0 0 0 0
 ens1v0: 77 1 0 0 0 0 0 0 77 1 0 0 0 0 0 0
"""  # noqa: E501  the kernel's own lines
SNMP = """\
Ip: Forwarding DefaultTTL
Ip: 1 64
Tcp: RtoAlgorithm InSegs OutSegs RetransSegs InErrs
Tcp: 1 100 200 17 0
"""


def values(reader):
    return {
        (one.metric, *(value for _, value in one.attributes)): one.value for one in reader.read(1.0)
    }


def test_pressure_is_a_share_of_the_last_seconds_and_a_time_in_all(proc):
    root = proc(pressure__cpu=PRESSURE, pressure__memory=PRESSURE)
    assert values(PressureReader(period=5, proc=root)) == {
        ("system.pressure", "some", "cpu"): 0.125,
        ("system.pressure", "some", "memory"): 0.125,
        ("system.pressure", "full", "memory"): 0.0025,
        ("system.pressure.time", "some", "cpu"): 4369.318065,
        ("system.pressure.time", "some", "memory"): 4369.318065,
        ("system.pressure.time", "full", "memory"): 1.5,
    }


def test_a_kernel_without_pressure_says_so(proc):
    supported, reason = PressureReader(period=5, proc=proc()).supported()
    assert (supported, "CONFIG_PSI" in reason) == (False, True)


def test_paging_tells_swap_in_bytes_and_the_faults_that_waited(proc):
    root = proc(
        vmstat="pgfault 9\npgmajfault 12\npswpin 3\npswpout 4\n",
        meminfo="MemTotal: 100 kB\nSwapTotal:       8 kB\nSwapFree:        5 kB\nHugePages: 2\n",
    )
    assert values(PagingReader(period=5, proc=root)) == {
        ("system.paging.operations", "in"): 3,
        ("system.paging.operations", "out"): 4,
        ("system.paging.major_faults",): 12,
        ("system.paging.usage",): 3 * 1024,
        ("system.paging.limit",): 8 * 1024,
    }


@pytest.fixture
def interfaces(proc, tmp_path):
    for name in ("eth0", "ens1v0"):
        (tmp_path / "sys/class/net" / name / "device").mkdir(parents=True)
    (tmp_path / "sys/class/net/ens1v0/device/physfn").mkdir()
    (tmp_path / "sys/class/net/veth12").mkdir()

    def make(**files):
        return InterfaceReader(period=5, proc=proc(**files), sys=tmp_path / "sys")

    return make


def test_only_interfaces_with_hardware_behind_them_are_told(interfaces):
    assert values(interfaces(net__dev=NET_DEV, net__snmp=SNMP)) == {
        ("system.network.io", "eth0", "receive"): 1000,
        ("system.network.io", "eth0", "transmit"): 2000,
        ("system.network.errors", "eth0", "receive"): 1,
        ("system.network.errors", "eth0", "transmit"): 3,
        ("system.network.packet.dropped", "eth0", "receive"): 2,
        ("system.network.packet.dropped", "eth0", "transmit"): 4,
        ("system.network.tcp.retransmits",): 17,
    }


def test_the_interfaces_of_the_hosts_first_process_come_before_our_own(interfaces):
    own = NET_DEV.replace("1000", "5")
    found = values(interfaces(**{"1__net__dev": NET_DEV, "net__dev": own}))
    assert found[("system.network.io", "eth0", "receive")] == 1000


def test_the_memory_of_a_trainers_cgroup_has_a_limit_only_where_one_is_set(
    proc, make_trainer, tmp_path
):
    root = tmp_path / "cgroup"
    tree = proc(
        **{
            "self__mountinfo": f"35 24 0:30 / {root} rw - cgroup2 cgroup2 rw\n",
            "100__cgroup": "0::/a\n",
            "101__cgroup": "0::/b\n",
            "102__cgroup": "0::/gone\n",
        }
    )
    for name, usage, limit in (("a", 500, "1000"), ("b", 700, "max")):
        (root / name).mkdir(parents=True)
        (root / name / "memory.current").write_text(f"{usage}\n")
        (root / name / "memory.max").write_text(f"{limit}\n")
    trainers = [make_trainer(pid, rank=pid - 100) for pid in (100, 101, 102)]
    reader = ContainerMemory(period=5, trainers=lambda: trainers, proc=tree)
    assert values(reader) == {
        ("container.memory.usage", "/a", 100, 0): 500,
        ("container.memory.limit", "/a", 100, 0): 1000,
        ("container.memory.usage", "/b", 101, 1): 700,
    }


def test_version_1_writes_a_huge_number_where_there_is_no_limit(proc, make_trainer, tmp_path):
    root = tmp_path / "cgroup"
    tree = proc(
        **{
            "self__mountinfo": f"36 24 0:31 / {root} rw - cgroup cgroup rw,memory\n",
            "100__cgroup": "4:memory:/a\n",
        }
    )
    (root / "a").mkdir(parents=True)
    (root / "a/memory.usage_in_bytes").write_text("500\n")
    limit = root / "a/memory.limit_in_bytes"
    limit.write_text("9223372036854771712\n")
    reader = ContainerMemory(period=5, trainers=lambda: [make_trainer(100)], proc=tree)
    assert values(reader) == {("container.memory.usage", "/a", 100, 0): 500}
    limit.write_text("4096\n")
    assert values(reader)[("container.memory.limit", "/a", 100, 0)] == 4096


def test_the_real_kernels_pressure_is_told_exactly_where_it_says_that_it_is():
    reader = PressureReader(period=5)
    assert reader.supported()[0] == (("system.pressure", "some", "cpu") in values(reader))
