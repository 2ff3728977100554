"""Whether the network ports are up: seen within a second, reported at once, flapping folded.

A port that was never up since the host started is not "down": it is not in use, and nothing is
reported of it. Neither is a port that somebody had set down before the agent ever saw it up.
"""

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ....vocabulary.samples import Event, Sample, Scalar
from ...state import rewrite
from .inventory import NetworkPort, PortInventory
from .link import PortLink, State

_FILE = "network_links.json"

_log = logging.getLogger(__name__)


class NetworkLinks:
    """Holds the files of sysfs open and reads them every second."""

    name = "network_links"
    ask_again = 60.0  # seconds; drivers of cards are loaded late

    def __init__(
        self,
        *,
        inventory: PortInventory,
        period: float = 1.0,
        state: Path | None = None,
        boot: str = "",
        emit: Callable[[Event], None],
    ) -> None:
        self.period = period
        self._inventory = inventory
        self._emit = emit
        self._path = state / _FILE if state else None
        self._boot = boot
        self._links: dict[str, PortLink] = {}
        self._known = _load(self._path, boot)

    def supported(self) -> tuple[bool, str]:
        """Return whether there is a port to watch, and which ones were never up since the start."""
        ports = self._inventory.ports(0.0, look=True)
        if not ports:
            return False, "no network port to watch; see network_ports"
        unused = [
            link.port.key
            for link in map(self._link, ports)
            if not link.was_up and link.state() in ("down", "off")
        ]
        if unused:
            return True, f"not in use, never up since the host started: {', '.join(unused)}"
        return True, ""

    def read(self, now: float) -> list[Sample]:
        """Return 1 or 0 for each port that was up since the host started; report what changed."""
        ports = self._inventory.ports(now)
        states: dict[str, State] = {port.key: self._link(port).state() for port in ports}
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
        for key, state in states.items():
            watched = self._links.get(key)
            if watched is not None and watched.port.device in listed:
                self._judge(watched, state, now)
        return [
            Sample("hw.network.up", float(link.up), now, link.pairs)
            for link in self._links.values()
            if link.was_up and link.up is not None
        ]

    def _judge(self, link: PortLink, state: State, now: float) -> None:
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
        changes = link.changes(changed=before != up)
        if self._known.get(key) != up:
            self._known[key] = up
            self._save()
        count = link.flapping.take(up=up, now=now, changes=changes)
        if count:
            self._report(link, state, count, now)

    def _report(self, link: PortLink, state: State, count: int, now: float) -> None:
        port = link.port
        pairs: dict[str, Scalar] = {
            "device": port.device,
            "port": port.port,
            "state": "up" if link.up else "down",
        }
        name = f"{port.device} port {port.port}"
        if count > 1:
            pairs |= {"count": count, "reason": "flapping"}
            pairs["text"] = f"{name} went up and down {count} times; now it is {pairs['state']}"
        elif link.up:
            pairs |= {"text": f"{name} is up again"}
        else:
            reason, why = link.why(state)
            pairs |= {"text": f"{name} is down: {why}", "reason": reason}
        _log.warning("%s", pairs["text"])
        self._emit(Event("network.link", now, pairs))

    def _gone(self, link: PortLink, now: float) -> None:
        """Tell a device that three looks in a row did not find: its driver or the bus lost it."""
        if not link.up:
            return
        link.up = self._known[link.port.key] = False
        self._save()
        link.flapping.take(
            up=False, now=now, changes=1
        )  # so that its return is reported as a change
        text = f"{link.port.device} port {link.port.port} is gone: its driver or the bus lost it"
        _log.warning("%s", text)
        pairs = {
            "device": link.port.device,
            "port": link.port.port,
            "state": "down",
            "text": text,
            "reason": "gone",
        }
        self._emit(Event("network.link", now, pairs))

    def _link(self, port: NetworkPort) -> PortLink:
        link = self._links.get(port.key)
        if link is not None and (link.port is port or link.port == port):
            return link
        net = self._inventory.net(port.interface) if port.interface else ""
        was_up = port.key in self._known or (link is not None and link.was_up)
        fresh = PortLink(port, net, was_up=was_up)
        if link is not None:  # the same port with another interface or place
            fresh.up, fresh.flapping = link.up, link.flapping
        self._links[port.key] = fresh
        return fresh

    def _save(self) -> None:
        if self._path is None:
            return
        try:
            text = json.dumps({"boot": self._boot, "up": self._known})
            rewrite(self._path, text)
        except OSError:
            pass  # a full disk costs the memory over a restart, no more


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
