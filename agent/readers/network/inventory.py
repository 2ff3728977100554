"""Which network ports this node has for training: RDMA ports, or plain interfaces where none is.

Left out are virtual functions, what has no hardware behind it, and the interface of the default
route where the node has other RDMA ports or interfaces than that one (it is for management).
Settings `network.include` and `network.exclude` have the last word.
"""

import math
import os
import re
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ... import kernel_files

if TYPE_CHECKING:
    from ...settings import NetworkSettings

Kind = Literal["infiniband", "roce", "efa", "ethernet"]

_BDF = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_ETHERNET = 1  # ARPHRD_ETHER
LOOK_SECONDS = 30.0
_HASTE_SECONDS = 0.9
MISSES = 3
"""A device is gone when so many looks in a row did not find it."""


@dataclass(frozen=True, slots=True)
class NetworkPort:
    """One port. `device` and `port` name it in metrics; a plain interface is its own port 1.

    `folder` is the RDMA port's in sysfs ("" for a plain interface), `interface` the network
    interface that belongs to it ("" when there is none that we may see).
    """

    device: str
    port: str
    kind: Kind
    folder: str
    interface: str
    place: str
    """The device's real folder, whose nesting shows how it is plugged in."""

    @property
    def key(self) -> str:
        """Return what distinguishes it from the others."""
        return f"{self.device}/{self.port}"

    @property
    def pci(self) -> str:
        """Return its PCI address, "" when it has none."""
        found = _BDF.findall(self.place)
        return found[-1] if found else ""


class PortInventory:
    """Looks again every 30 s, or when asked to. For every thread."""

    def __init__(self, *, settings: "NetworkSettings", sys: Path, proc: Path) -> None:
        self._settings = settings
        self.sys = str(sys)
        self._listed = (f"{sys}/class/infiniband", f"{sys}/class/net")
        self._proc = str(proc)
        self._lock = threading.Lock()
        self._ports: Sequence[NetworkPort] = []
        self._missed: dict[str, int] = {}
        self._looked_at = -math.inf
        self._seen = False
        self._with_rdma = False

    def ports(self, now: float, *, look: bool = False) -> Sequence[NetworkPort]:
        """Return what there is; what one or two looks in a row missed is still among it.

        `look`: do so at once, since a port did not answer. While one is missed, each second looks
        again, whoever asks.
        """
        wanted = _HASTE_SECONDS if look or self._missed else LOOK_SECONDS
        due = not 0 <= now - self._looked_at < wanted
        # A driver may let one who looks wait for ever: the others go on with what was seen before.
        # Before the first look is over there is nothing to go on with, and they wait for it.
        first = not self._seen
        if (due or first) and self._lock.acquire(blocking=first):
            try:
                if due or not self._seen:
                    self._looked_at = now
                    self._look()
                    self._seen = True
            finally:
                self._lock.release()
        return self._ports

    def present(self, port: NetworkPort) -> bool:
        return Path(port.folder or self.net(port.interface)).exists()

    def listed(self) -> set[str]:
        """Return the names of all RDMA devices and interfaces there are: two cheap readings."""
        found: set[str] = set()
        for folder in self._listed:
            with suppress(OSError):
                found.update(os.listdir(folder))  # noqa: PTH208  names, in any order
        return found

    def net(self, interface: str) -> str:
        return f"{self.sys}/class/net/{interface}"

    def _look(self) -> None:
        found = {port.key: port for port in self._chosen()}
        missed: dict[str, int] = {}
        for port in self._ports:
            if port.key in found or self.present(port):
                continue
            looks = self._missed.get(port.key, 0) + 1
            if looks < MISSES:
                missed[port.key] = looks
                found[port.key] = port
        self._missed = missed
        self._ports = [port for _, port in sorted(found.items())]

    def _chosen(self) -> list[NetworkPort]:
        management = self._routed()
        rdma = self._rdma()
        plain = self._plain({port.interface for port in rdma})
        training = [port for port in rdma if self._trains(port, management)]
        # A node that had RDMA ports has lost them when there are none: its plain interfaces are not
        # what it trains with now.
        self._with_rdma = self._with_rdma or bool(training)
        if not self._with_rdma:
            training = (
                [port for port in plain if self._trains(port, management)]
                or [port for port in rdma if not self._virtual(port)]
                or [port for port in plain if not self._virtual(port)]
            )
        forced = [port for port in (*rdma, *plain) if self._named(port, "include")]
        chosen = {port.key: port for port in (*training, *forced)}
        return [port for port in chosen.values() if not self._named(port, "exclude")]

    def _trains(self, port: NetworkPort, management: set[str]) -> bool:
        return port.interface not in management and not self._virtual(port)

    def _named(self, port: NetworkPort, which: Literal["include", "exclude"]) -> bool:
        patterns = self._settings.include if which == "include" else self._settings.exclude
        names = (port.device, port.interface)
        return any(fnmatchcase(name, pattern) for pattern in patterns for name in names if name)

    def _virtual(self, port: NetworkPort) -> bool:
        return Path(port.place, "physfn").exists()

    def _rdma(self) -> list[NetworkPort]:
        ports: list[NetworkPort] = []
        folder = f"{self.sys}/class/infiniband"
        for device in kernel_files.names(folder):
            place = os.path.realpath(f"{folder}/{device}/device")
            driver = Path(os.path.realpath(f"{place}/driver")).name
            for number in kernel_files.names(f"{folder}/{device}/ports"):
                below = f"{folder}/{device}/ports/{number}"
                kind: Kind = "infiniband"
                if driver == "efa":
                    kind = "efa"
                elif kernel_files.text(f"{below}/link_layer") == "Ethernet":
                    kind = "roce"
                interface = self._interface(below, place, number)
                ports.append(NetworkPort(device, number, kind, below, interface, place))
        return ports

    def _interface(self, below: str, place: str, number: str) -> str:
        """Return the interface of an RDMA port: as its first address says, else by its number."""
        named = kernel_files.text(f"{below}/gid_attrs/ndevs/0")
        if named:
            return named
        there = kernel_files.names(f"{place}/net")
        for name in there:
            dev_port = kernel_files.number(f"{place}/net/{name}/dev_port")
            if dev_port is not None and str(dev_port + 1) == number:
                return name
        return there[0] if len(there) == 1 else ""

    def _plain(self, taken: set[str]) -> list[NetworkPort]:
        ports: list[NetworkPort] = []
        for name in kernel_files.names(f"{self.sys}/class/net"):
            folder = self.net(name)
            place = f"{folder}/device"
            if name in taken or not Path(place).exists():
                continue  # loopback, bridges, bonds and pairs have no device behind them
            if kernel_files.number(f"{folder}/type") not in (None, _ETHERNET):
                continue
            if Path(place, "infiniband").exists():
                continue  # it is reported as the RDMA port that it belongs to
            ports.append(NetworkPort(name, "1", "ethernet", "", name, os.path.realpath(place)))
        return ports

    def _routed(self) -> set[str]:
        """Return the interfaces of the default route, and those beneath them (bonds, VLANs)."""
        found = {
            fields[0]
            for line in _lines(self._proc, "net/route")[1:]
            if len(fields := line.split()) > 7 and fields[1] == fields[7] == "00000000"
        }
        found |= {
            fields[9]
            for line in _lines(self._proc, "net/ipv6_route")
            if len(fields := line.split()) > 9 and fields[0] == "0" * 32 and fields[1] == "00"
        }
        found.discard("lo")
        waiting = list(found)
        while waiting:
            for entry in kernel_files.names(self.net(waiting.pop())):
                name = entry.removeprefix("lower_")
                if name != entry and name not in found:
                    found.add(name)
                    waiting.append(name)
        return found


def _lines(proc: str, name: str) -> list[str]:
    """Return the lines of a file below the host's /proc/net, else below our own."""
    for folder in (f"{proc}/1", proc):
        text = kernel_files.text(f"{folder}/{name}")
        if text:
            return text.splitlines()
    return []
