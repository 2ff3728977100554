"""Trees like /sys and /proc with network ports, as tests need them."""

from pathlib import Path
from typing import Any

import pytest

from rankscope.agent.health import AgentHealth
from rankscope.agent.readers.network.inventory import PortInventory
from rankscope.agent.readers.network.links import NetworkLinks
from rankscope.agent.readers.network.ports import NetworkPorts
from rankscope.agent.readers.network.rails import NetworkRails
from rankscope.agent.settings import NetworkSettings
from rankscope.vocabulary.samples import Event, Sample

COUNTERS = (
    "symbol_error", "link_downed", "link_error_recovery", "local_link_integrity_errors",
    "excessive_buffer_overrun_errors", "port_rcv_errors", "port_rcv_remote_physical_errors",
    "port_rcv_switch_relay_errors", "port_xmit_discards", "port_rcv_constraint_errors",
    "port_xmit_constraint_errors", "VL15_dropped", "port_xmit_wait", "port_rcv_data",
    "port_xmit_data", "port_rcv_packets", "port_xmit_packets",
)  # fmt: skip
HW_COUNTERS = (
    "rnr_nak_retry_err", "local_ack_timeout_err", "out_of_sequence", "packet_seq_err",
    "implied_nak_seq_err", "req_transport_retries_exceeded", "roce_slow_restart",
    "np_cnp_sent", "rp_cnp_handled", "np_ecn_marked_roce_packets", "lifespan",
)  # fmt: skip
STATISTICS = (
    "rx_bytes", "tx_bytes", "rx_errors", "tx_errors", "rx_crc_errors", "rx_missed_errors",
    "rx_dropped", "tx_dropped", "tx_carrier_errors",
)  # fmt: skip


class Tree:
    """A node's /sys and /proc below a folder; values may be written at any time."""

    def __init__(self, root: Path) -> None:
        self.sys, self.proc, self.state = root / "sys", root / "proc", root / "state"
        for folder in (self.sys / "class/net", self.proc / "net", self.state):
            folder.mkdir(parents=True)
        self.boot("boot-1")
        self.route("eth0")

    def boot(self, name: str) -> None:
        self._write(self.proc / "sys/kernel/random/boot_id", name)

    def route(self, *interfaces: str) -> None:
        head = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n"
        rows = [
            f"{one}\t00000000\t0100000A\t0003\t0\t0\t0\t00000000\t0\t0\t0" for one in interfaces
        ]
        (self.proc / "net/route").write_text(head + "\n".join(rows) + "\n")

    def pci(
        self, place: str, *, numa: int = 0, kind: str = "0x020700", vendor: str = "0x15b3"
    ) -> Path:
        """Make a PCI device; `place` is its path below sys/devices."""
        folder = self.sys / "devices" / place
        for name, text in (("class", kind), ("vendor", vendor), ("numa_node", str(numa))):
            self._write(folder / name, text)
        link = self.sys / "bus/pci/devices" / folder.name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(folder)
        return folder

    def gpu(self, place: str, *, numa: int = 0) -> None:
        self.pci(place, numa=numa, kind="0x030200", vendor="0x10de")

    def rdma(
        self,
        device: str,
        place: str,
        *,
        layer: str = "InfiniBand",
        interface: str = "",
        rate: str = "400 Gb/sec (4X NDR)",
        driver: str = "mlx5_core",
        numa: int = 0,
    ) -> Path:
        """Make an RDMA device with one port that is up; return the port's folder."""
        folder = self.pci(place, numa=numa)
        drivers = self.sys / "bus/pci/drivers" / driver
        drivers.mkdir(parents=True, exist_ok=True)
        (folder / "driver").symlink_to(drivers)
        (folder / "infiniband").mkdir()
        device_folder = self.sys / "class/infiniband" / device
        device_folder.mkdir(parents=True)
        (device_folder / "device").symlink_to(folder)
        port = device_folder / "ports/1"
        files = {"state": "4: ACTIVE", "phys_state": "5: LinkUp", "rate": rate, "link_layer": layer}
        for name, text in files.items():
            self._write(port / name, text)
        if driver != "efa":
            for name in COUNTERS:
                self._write(port / "counters" / name, "0")
            for name in HW_COUNTERS:
                self._write(port / "hw_counters" / name, "10" if name == "lifespan" else "0")
        if interface:
            self.net(interface, folder)
            self._write(port / "gid_attrs/ndevs/0", interface)
        return port

    def net(self, interface: str, device: Path | None = None, *, up: bool = True) -> Path:
        """Make an interface; without a device it is a virtual one."""
        folder = self.sys / "class/net" / interface
        if device is not None:
            (device / "net" / interface).mkdir(parents=True)
            folder.symlink_to(device / "net" / interface)
            (folder / "device").symlink_to(device)
        files = {
            "type": "1", "speed": "100000", "dev_port": "0",
            "carrier": str(int(up)), "operstate": "up" if up else "down",
            "flags": "0x1003" if up else "0x1002",
            "carrier_changes": "1" if up else "0", "carrier_up_count": str(int(up)),
        }  # fmt: skip
        for name, text in files.items():
            self._write(folder / name, text)
        for name in STATISTICS:
            self._write(folder / "statistics" / name, "0")
        return folder

    def put(self, path: Path, value: object) -> None:
        """Change a value in place, as the kernel's files do: who holds it open sees it."""
        assert path.exists(), path
        path.write_text(f"{value}\n")

    def _write(self, path: Path, text: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")


class Node:
    """The readers of the network over a tree, and what they told."""

    def __init__(self, tree: Tree, **settings: Any) -> None:
        self.tree = tree
        self.events: list[Event] = []
        self.health = AgentHealth()
        self.settings = NetworkSettings(**settings)
        self.inventory = PortInventory(settings=self.settings, sys=tree.sys, proc=tree.proc)
        boot = (tree.proc / "sys/kernel/random/boot_id").read_text().strip()
        given: Any = {"state": tree.state, "boot": boot, "emit": self.events.append}
        self.ports = NetworkPorts(period=5.0, inventory=self.inventory, health=self.health, **given)
        self.links = NetworkLinks(inventory=self.inventory, **given)
        self.rails = NetworkRails(
            period=30.0, inventory=self.inventory, settings=self.settings, switch="leaf-1"
        )

    def told(self) -> list[dict[str, Any]]:
        """Return what was told since the last call, and forget it."""
        told = [dict(event.attributes) for event in self.events]
        self.events.clear()
        return told


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


def values(samples: list[Sample]) -> dict[tuple[Any, ...], float]:
    """Return values by (metric, device, ...the other attributes)."""
    return {
        (one.metric, dict(one.attributes)["device"], *(
            value for name, value in one.attributes if name not in ("device", "port")
        )): one.value
        for one in samples
    }  # fmt: skip
