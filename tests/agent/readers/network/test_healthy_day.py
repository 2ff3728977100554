"""A day of an ordinary node in steps of minutes: nothing may be told, and a fault in it is."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rankscope.agent.health import AgentHealth
from rankscope.agent.readers import NodeReader
from rankscope.agent.readers.oom import OomKills
from rankscope.agent.readers.software.reader import SoftwareReader

from .conftest import Node, Tree

STEP = 10
"""Minutes."""
DAY = 24 * 60
GROWING = {
    "port_rcv_data": 1_500_000_000,
    "port_xmit_data": 1_400_000_000,
    "port_xmit_wait": 40_000,
    "np_cnp_sent": 900,
    "rp_cnp_handled": 1100,
    "np_ecn_marked_roce_packets": 2500,
    "out_of_sequence": 3,
    "packet_seq_err": 1,
    "rx_bytes": 7_000_000,
    "tx_bytes": 6_000_000,
    "rx_dropped": 2,
}
"""What healthy ports count in a step."""
HOURLY = ("symbol_error", "port_rcv_errors", "local_ack_timeout_err", "roce_slow_restart")
"""What healthy ports count now and then."""
WRAPS = 1 << 32


class Day:
    """A node that lives through a day."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        for name, text in (
            ("vmstat", "pgmajfault 1\noom_kill 2"),
            ("sys/kernel/osrelease", "6.8.0"),
            ("self/mountinfo", ""),
        ):
            tree._write(tree.proc / name, text)
        self.told: list[tuple[str, dict[str, Any]]] = []
        self._start()

    def _start(self) -> None:
        node = Node(self.tree)
        tell, proc, sys = node.events.append, self.tree.proc, self.tree.sys
        self.node = node
        self.readers: list[NodeReader] = [
            node.links,
            node.ports,
            node.rails,
            OomKills(trainers=list, health=AgentHealth(), emit=tell, proc=proc),
            SoftwareReader(state=self.tree.state, sys=sys, emit=tell, proc=proc),
        ]
        for reader in self.readers:
            reader.supported()

    def restart(self) -> None:
        self.node.ports.close()
        self._start()

    def live(self, happens: dict[int, Callable[[], None]]) -> None:
        """Read in each step; `happens` tells what is done at which minute, before the reading."""
        for minute in range(0, DAY, STEP):
            self._count(minute)
            happens.get(minute, lambda: None)()
            for reader in self.readers:
                for sample in reader.read(1_700_000_000.0 + 60 * minute):
                    assert sample.value >= 0
            self.told += [(one.name, dict(one.attributes)) for one in self.node.events]
            self.node.events.clear()

    def _count(self, minute: int) -> None:
        for path in self._files():
            by = GROWING.get(path.name, int(path.name in HOURLY and minute % 60 == 0))
            if by:
                self.tree.put(path, (int(path.read_text()) + by) % WRAPS)

    def clear(self) -> None:
        """Set every counter to zero, as perfquery -R and a driver that is loaded anew do."""
        for path in self._files():
            self.tree.put(path, 0)

    def _files(self) -> list[Path]:
        return [
            *self.tree.sys.glob("class/infiniband/*/ports/1/*counters/[!l]*"),
            *self.tree.sys.glob("class/net/*/statistics/*"),
        ]


def nothing(tree: Tree) -> None:
    tree.net("lo")


def ethernet(tree: Tree) -> None:
    for number, name in enumerate(("eth0", "eth1")):
        tree.net(name, tree.pci(f"pci0000:00/0000:0{number}:00.0"))
    tree.net("eth2", tree.pci("pci0000:00/0000:05:00.0"), up=False)  # no cable, as delivered


def infiniband(tree: Tree) -> None:
    for number in (0, 1):
        tree.rdma(f"mlx5_{number}", f"pci0000:00/0000:1{number}:00.0", interface=f"ib{number}")
        tree.gpu(f"pci0000:00/0000:2{number}:00.0")
    unused = tree.rdma("mlx5_2", "pci0000:00/0000:12:00.0")
    tree.put(unused / "state", "1: DOWN")
    tree.put(unused / "phys_state", "2: Polling")
    for name in ("port_rcv_data", "port_xmit_data"):
        (unused / "counters" / name).unlink()  # such a port sends nothing
    tree.net("eth0", tree.pci("pci0000:00/0000:01:00.0"))


def roce(tree: Tree) -> None:
    for number in (0, 1):
        tree.rdma(
            f"mlx5_{number}",
            f"pci0000:00/0000:1{number}:00.0",
            layer="Ethernet",
            interface=f"ens{number}",
        )
    off = tree.rdma("mlx5_2", "pci0000:00/0000:12:00.0", layer="Ethernet", interface="ens2")
    tree.put(off / "state", "1: DOWN")
    for name, text in (("carrier", 0), ("flags", "0x1002"), ("carrier_changes", 2)):
        tree.put(tree.sys / "class/net/ens2" / name, text)  # set down on purpose, long ago


PROFILES = [nothing, ethernet, infiniband, roce]


@pytest.mark.parametrize("profile", PROFILES, ids=lambda one: one.__name__)
def test_a_healthy_day_tells_nothing(tree, profile):
    profile(tree)
    day = Day(tree)
    rdma = tree.sys / "class/infiniband"

    def reload() -> None:
        """Take the driver away for one look."""
        if rdma.exists():
            rdma.rename(tree.sys / "away")

    def back() -> None:
        if (tree.sys / "away").exists():
            (tree.sys / "away").rename(rdma)
        day.clear()

    def reboot() -> None:
        tree.boot("boot-2")
        day.clear()
        day.restart()

    day.live({
        6 * 60: day.restart,
        9 * 60 + 30: reload,
        9 * 60 + 40: back,
        12 * 60: day.clear,
        18 * 60: day.restart,
        20 * 60: reboot,
    })  # fmt: skip
    assert day.told == []


@pytest.mark.parametrize("profile", [infiniband, roce], ids=lambda one: one.__name__)
def test_a_fault_on_such_a_day_is_told_once(tree, profile):
    profile(tree)
    day = Day(tree)
    port = tree.sys / "class/infiniband/mlx5_1/ports/1"
    day.live({15 * 60: lambda: tree.put(port / "counters/link_downed", 1)})
    raised = [said for name, said in day.told if name == "network.fault"]
    assert [(one["device"], one["code"], one["state"]) for one in raised] == [
        ("mlx5_1", "link_downed", "raised"),
        ("mlx5_1", "link_downed", "cleared"),
    ]
    assert len(day.told) == 2
