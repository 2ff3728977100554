"""Whether the network ports are up: seen within a second, told at once, flapping folded.

A port that was never up since the host started is not "down": it is not in use, and nothing is said
of it. Neither is a port that somebody had set down before the agent ever saw it up.
"""

import json
import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ....vocabulary.samples import Event, Sample, Scalar, attributes
from ... import baselines
from . import kernel_files
from .flapping import Flapping
from .inventory import Inventory, Port
from .kernel_files import HeldFile, Trouble

State = Literal["up", "down", "off", "away", "unknown"]
"""off: set down on this host. away: its files are gone. unknown: nothing to tell it by."""

_UP_FLAG = 0x1
_DISABLED = "3:"
_FILE = "network_links.json"

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Link:
    """A port, the files that tell its state, and what is known of it."""

    port: Port
    carrier: HeldFile | None
    changes: HeldFile | None
    state_file: HeldFile | None
    flapping: Flapping
    was_up: bool
    up: bool | None = None
    changed: int | None = None


class NetworkLinks:
    """Holds the files of sysfs open and reads them every second."""

    name = "network_links"

    def __init__(
        self,
        *,
        inventory: Inventory,
        period: float = 1.0,
        state: Path | None = None,
        boot: str = "",
        tell: Callable[[Event], None],
    ) -> None:
        self.period = period
        self._inventory = inventory
        self._tell = tell
        self._path = state / _FILE if state else None
        self._boot = boot
        self._links: dict[str, _Link] = {}
        self._known = _load(self._path, boot)

    def supported(self) -> tuple[bool, str]:
        """Tell whether there is a port to watch, and which ones were never up since the start."""
        ports = self._inventory.ports(0.0, look=True)
        if not ports:
            return False, "no network port to watch; see network_ports"
        unused = [port.key for port in ports if self._unused(self._link(port))]
        if unused:
            return True, f"not in use, never up since the host started: {', '.join(unused)}"
        return True, ""

    def read(self, now: float) -> list[Sample]:
        """Return 1 or 0 for each port that was up since the host started; tell what changed."""
        ports = self._inventory.ports(now)
        states: dict[str, State] = {port.key: self._state(self._link(port)) for port in ports}
        listed = self._inventory.listed()
        if "away" in states.values() or any(port.device not in listed for port in ports):
            ports = self._inventory.ports(now, look=True)
        there = {port.key for port in ports}
        for key, link in [*self._links.items()]:
            if key in there:
                continue
            if self._inventory.present(link.port):
                del self._links[key]  # it is there and no longer among those that are watched
            else:
                self._gone(link, now)
        samples: list[Sample] = []
        for key, state in states.items():
            watched = self._links.get(key)
            if watched is not None and watched.port.device in listed:
                self._judge(watched, state, now)
        for link in self._links.values():
            if link.was_up and link.up is not None:
                pairs = attributes({"device": link.port.device, "port": link.port.port})
                samples.append(Sample("hw.network.up", float(link.up), now, pairs))
        return samples

    def _judge(self, link: _Link, state: State, now: float) -> None:
        if state in ("away", "unknown"):
            return
        up, key = state == "up", link.port.key
        if up and not link.was_up:
            link.was_up = True
        if not link.was_up:
            return
        before = link.up
        if before is None:
            if state == "off" and not self._known.get(key):
                return
            before = self._known.get(key, up)
        link.up = up
        changes = _changes(link, changed=before != up)
        if self._known.get(key) != up:
            self._known[key] = up
            self._save()
        count = link.flapping.take(up=up, now=now, changes=changes)
        if count:
            self._say(link, state, count, now)

    def _say(self, link: _Link, state: State, count: int, now: float) -> None:
        port = link.port
        told: dict[str, Scalar] = {
            "device": port.device,
            "port": port.port,
            "state": "up" if link.up else "down",
        }
        name = f"{port.device} port {port.port}"
        if count > 1:
            told |= {"count": count, "reason": "flapping"}
            told["text"] = f"{name} went up and down {count} times; now it is {told['state']}"
        elif link.up:
            told |= {"text": f"{name} is up again"}
        else:
            reason, why = _why(link, state)
            told |= {"text": f"{name} is down: {why}", "reason": reason}
        _log.warning("%s", told["text"])
        self._tell(Event("network.link", now, told))

    def _gone(self, link: _Link, now: float) -> None:
        """Tell a device that three looks in a row did not find: its driver or the bus lost it."""
        if not link.up:
            return
        link.up = self._known[link.port.key] = False
        self._save()
        link.flapping.take(up=False, now=now, changes=1)  # so that its return is told as a change
        text = f"{link.port.device} port {link.port.port} is gone: its driver or the bus lost it"
        _log.warning("%s", text)
        told = {
            "device": link.port.device,
            "port": link.port.port,
            "state": "down",
            "text": text,
            "reason": "gone",
        }
        self._tell(Event("network.link", now, told))

    def _state(self, link: _Link) -> State:
        if link.carrier is not None:
            text = link.carrier.text()
            if text == "1":
                return "up"
            if text == "":
                return "unknown"  # being written
            if text is Trouble.ABSENT:
                return "away"
            flags = kernel_files.number(f"{self._inventory.net(link.port.interface)}/flags")
            off = text is Trouble.REFUSED if flags is None else not flags & _UP_FLAG
            return "off" if off else "down"
        if link.state_file is None:
            return "unknown"
        text = link.state_file.text()
        if text is Trouble.ABSENT:
            return "away"
        if not isinstance(text, str) or not text:
            return "unknown"
        if text.startswith("4:"):
            return "up"
        physical = kernel_files.text(f"{link.port.folder}/phys_state")
        return "off" if physical.startswith(_DISABLED) else "down"

    def _unused(self, link: _Link) -> bool:
        return not link.was_up and self._state(link) in ("down", "off")

    def _link(self, port: Port) -> _Link:
        link = self._links.get(port.key)
        if link is not None and link.port == port:
            return link
        net = self._inventory.net(port.interface) if port.interface else ""
        # An IPoIB interface may be down while RDMA works; EFA always says that its port is active.
        by_net = bool(net) and port.kind != "infiniband"
        known = port.key in self._known
        fresh = _Link(
            port=port,
            carrier=HeldFile(f"{net}/carrier") if by_net else None,
            changes=HeldFile(f"{net}/carrier_changes") if by_net else None,
            state_file=None if by_net or port.kind == "efa" else HeldFile(f"{port.folder}/state"),
            flapping=link.flapping if link else Flapping(),
            was_up=link.was_up if link else known or _used(port, net, by_net=by_net),
            up=link.up if link else None,
        )
        self._links[port.key] = fresh
        return fresh

    def _save(self) -> None:
        if self._path is None:
            return
        try:
            text = json.dumps({"boot": self._boot, "up": self._known})
            baselines.replace(self._path, text)
        except OSError:
            pass  # a full disk costs the memory over a restart, no more


def _changes(link: _Link, *, changed: bool) -> int:
    """Return how often a link changed since the last reading, the change that was seen included.

    The kernel counts changes of the carrier. It may count one more between our reading of the
    carrier and of the count: that one is left for the next reading.
    """
    text = link.changes.text() if link.changes is not None else ""
    counted = int(text) if isinstance(text, str) and text.isdigit() else None
    before = link.changed
    if counted is None or before is None or counted < before:
        link.changed = counted
        return int(changed)
    grown = counted - before
    if grown and grown % 2 != int(changed):
        grown -= 1
    link.changed = before + grown
    return max(grown, int(changed))


def _why(link: _Link, state: State) -> tuple[str, str]:
    """Return (reason, text) of a port that went down."""
    if state == "off":
        return "admin", "it was set down on this host"
    if link.state_file is not None:
        text = link.state_file.text()
        if isinstance(text, str) and text.startswith(("2:", "3:")):
            return "subnet_manager", f"the link is there, but no subnet manager set it up ({text})"
    return "carrier", "no carrier: cable, transceiver or the switch's port"


def _used(port: Port, net: str, *, by_net: bool) -> bool:
    """Tell whether a port was ever up since the host started, by what it has counted."""
    if by_net:
        ups = kernel_files.number(f"{net}/carrier_up_count")
        if ups is not None:
            return ups > 0
        return (kernel_files.number(f"{net}/carrier_changes") or 0) > 1
    counted = ("port_rcv_data", "link_downed")
    return any(kernel_files.number(f"{port.folder}/counters/{name}") for name in counted)


def _load(path: Path | None, boot: str) -> dict[str, bool]:
    """Return which ports were up when this was last written, nothing after another boot."""
    if path is None:
        return {}
    try:
        found: Any = json.loads(path.read_text(encoding="utf-8"))
        up = found["up"] if found["boot"] == boot else {}
        return {str(key): bool(value) for key, value in up.items()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return {}
