"""Network ports of a node in sysfs: RDMA devices with their counters, and plain interfaces."""

from pathlib import Path
from typing import Literal

from .kernel_files import KernelFiles, table

Kind = Literal["infiniband", "roce"]

COUNTERS, HW_COUNTERS = table("counters"), table("hw_counters")
STATISTICS = table("statistics")
RATES = {100: "100 Gb/sec (4X EDR)", 200: "200 Gb/sec (4X HDR)", 400: "400 Gb/sec (4X NDR)"}

_COLUMNS = (
    ("bytes", "packets", "errs", "drop", "fifo", "frame", "compressed", "multicast"),
    ("bytes", "packets", "errs", "drop", "fifo", "colls", "carrier", "compressed"),
)
"""Of /proc/net/dev, received and sent; sysfs has other words for some."""
_SYSFS = {
    "errs": "errors",
    "drop": "dropped",
    "fifo": "fifo_errors",
    "frame": "frame_errors",
    "carrier": "carrier_errors",
}

_INFINIBAND, _ETHERNET = 32, 1  # ARPHRD numbers, what `type` says


class NetworkTree:
    """Builds ports and changes what they say."""

    def __init__(self, files: KernelFiles) -> None:
        self._files = files

    def rdma(
        self, device: str, card: Path, *, kind: Kind, gigabits: int, interface: str, port: int = 1
    ) -> Path:
        """Add an RDMA device of one port to a card of the PCI tree; returns the port's folder."""
        files = self._files
        place = card / "infiniband" / device
        ethernet = kind == "roce"
        for name, value in {
            "fw_ver": "28.39.3560",
            "hca_type": "MT4129",
            "board_id": "MT_0000000838",
            "node_type": "1: CA",
            "node_guid": f"9c63:c003:00{abs(hash_of(device)) % 256:02x}:0001",
        }.items():
            files.write(place / name, value)
        below = place / "ports" / str(port)
        for name, text in {
            "link_layer": "Ethernet" if ethernet else "InfiniBand",
            "rate": RATES[gigabits],
            "state": "4: ACTIVE",
            "phys_state": "5: LinkUp",
            "gid_attrs/ndevs/0": interface,
        }.items():
            files.write(below / name, text)
        for name in COUNTERS:
            files.write(below / "counters" / name, 0)
        for name in HW_COUNTERS:
            files.write(below / "hw_counters" / name, 12 if name == "lifespan" else 0)
        files.link(place / "device", card)
        files.link(files.sys / "class" / "infiniband" / device, place)
        self.interface(
            interface,
            card,
            megabits=gigabits * 1000,
            arp_type=_ETHERNET if ethernet else _INFINIBAND,
        )
        return below

    def interface(
        self,
        name: str,
        card: Path | None,
        *,
        megabits: int = 10_000,
        arp_type: int = _ETHERNET,
        up: bool = True,
    ) -> Path:
        """Add a network interface to a card, or to none (loopback, bridges); returns its folder."""
        files = self._files
        place = (card or files.sys / "devices" / "virtual") / "net" / name
        for key, value in {
            "type": arp_type,
            "dev_port": 0,
            "mtu": 4200 if arp_type == _ETHERNET else 4092,
            "speed": megabits,
            "flags": "0x1003",
            "operstate": "up",
            "carrier": 1,
            "carrier_changes": 1,
            "carrier_up_count": 1,
            "carrier_down_count": 0,
            "address": "02:00:00:00:00:01",
        }.items():
            files.write(place / key, value)
        for key in STATISTICS:
            files.write(place / "statistics" / key, 0)
        if card is not None:
            files.link(place / "device", card)
        files.link(files.sys / "class" / "net" / name, place)
        if not up:
            self._carry(name, carrier=False, changes=0)
        return place

    # -- what befalls a port -----------------------------------------------------------------

    def port(self, device: str, port: int = 1) -> Path:
        return self._files.sys / "class" / "infiniband" / device / "ports" / str(port)

    def down(self, device: str, port: int = 1, *, polling: bool = True) -> None:
        """Let the link go down: looking for a partner, or (not polling) disabled."""
        below = self.port(device, port)
        self._files.write(below / "phys_state", "2: Polling" if polling else "3: Disabled")
        self._files.write(below / "state", "1: DOWN")
        self._files.add(below / "counters" / "link_downed", 1)
        self._carry(self._files.read(below / "gid_attrs/ndevs/0"), carrier=False)

    def up(self, device: str, port: int = 1) -> None:
        """Let the link come back."""
        below = self.port(device, port)
        self._files.write(below / "phys_state", "5: LinkUp")
        self._files.write(below / "state", "4: ACTIVE")
        self._carry(self._files.read(below / "gid_attrs/ndevs/0"), carrier=True)

    def flap(self, interface: str, times: int) -> None:
        """Let an interface lose and find its carrier between two looks: only the count shows it."""
        self._carry(interface, carrier=False, changes=times)
        self._carry(interface, carrier=True, changes=times)

    def interface_down(self, interface: str) -> None:
        """Let an interface lose its carrier."""
        self._carry(interface, carrier=False)

    def interface_up(self, interface: str) -> None:
        """Let an interface find its carrier."""
        self._carry(interface, carrier=True)

    def count(self, device: str, counter: str, by: int, port: int = 1) -> int:
        """Let a counter of a port grow (one of COUNTERS or HW_COUNTERS)."""
        folder = "hw_counters" if counter in HW_COUNTERS else "counters"
        return self._files.add(self.port(device, port) / folder / counter, by)

    def carry(self, device: str, sent: int, received: int, port: int = 1) -> None:
        """Let a port carry bytes; its own counters are in units of four."""
        self.count(device, "port_xmit_data", sent // 4, port)
        self.count(device, "port_rcv_data", received // 4, port)
        for way, size in (("xmit", sent), ("rcv", received)):
            self.count(device, f"port_{way}_packets", size // 4096, port)

    def traffic(self, interface: str, received: int, sent: int) -> None:
        """Let an interface carry bytes, as its own counters and /proc/net/dev have it."""
        statistics = self._files.sys / "class" / "net" / interface / "statistics"
        for way, size in (("rx", received), ("tx", sent)):
            self._files.add(statistics / f"{way}_bytes", size)
            self._files.add(statistics / f"{way}_packets", size // 1500)
        self.summarise()

    def summarise(self) -> None:
        """Write /proc/net/dev (the node's, by its first process) from the interfaces' counters."""
        lines = ["Inter-|   Receive  |  Transmit", f" face |{'|'.join(map(' '.join, _COLUMNS))}"]
        for folder in sorted((self._files.sys / "class" / "net").iterdir()):
            counts = {key: self._files.read(folder / "statistics" / key) for key in STATISTICS}
            row = [counts.get(f"rx_{_SYSFS.get(name, name)}", "0") for name in _COLUMNS[0]]
            row += [counts.get(f"tx_{_SYSFS.get(name, name)}", "0") for name in _COLUMNS[1]]
            lines.append(f"{folder.name:>6}: {' '.join(row)}")
        for place in (self._files.proc / "net", self._files.proc / "1" / "net"):
            self._files.write(place / "dev", "\n".join(lines))

    def unplug(self, device: str) -> None:
        """Take an RDMA device and its interface away, as when its driver lets go of the card."""
        link = self._files.sys / "class" / "infiniband" / device
        place, interface = link.resolve(), self._files.read(self.port(device) / "gid_attrs/ndevs/0")
        self._files.remove(link)
        self._files.remove(place)
        self.unplug_interface(interface)

    def unplug_interface(self, name: str) -> None:
        link = self._files.sys / "class" / "net" / name
        place = link.resolve()
        self._files.remove(link)
        self._files.remove(place)

    def _carry(self, interface: str, *, carrier: bool, changes: int = 1) -> None:
        place = self._files.sys / "class" / "net" / interface
        self._files.write(place / "carrier", int(carrier))
        self._files.write(place / "operstate", "up" if carrier else "down")
        self._files.add(place / "carrier_changes", changes)
        self._files.add(place / f"carrier_{'up' if carrier else 'down'}_count", changes)


def hash_of(text: str) -> int:
    """Return a small number that is the same at every run."""
    return sum(ord(letter) * (place + 1) for place, letter in enumerate(text))
