"""What is known of hosts: when each last reported, how often it does, its clock, its ports.

What only a node can say of itself (that it lives, its clock, its agent's end, its switch, ports and
devices) is taken from telemetry that belongs to no job: whoever may speak for one job only cannot
send that.
"""

import heapq

import numpy as np

from ...detectors.window import Flags, Floats, Ints
from ...vocabulary.samples import Event
from ...vocabulary.topology import NicPort
from .bounds import BoundNotes, WindowBounds
from .columns import longer
from .descriptions import DeviceDescriptions
from .event_history import EventHistory
from .host_reports import ReportTimes
from .skew import HostClock

FLUSH_SECONDS = 10.0
"""What an agent gathered before it stopped arrives within; later telemetry is of a new one."""

MOST_EVENTS = 1_000
"""Events of one host that are kept."""

_UNREPORTED: dict[str, float] = {
    "arrived": -np.inf,
    "announced_at": -np.inf,
    "node_received": -np.inf,
    "offset": 0.0,
}
"""By array of `HostNumbers`: what it has of a host that has reported nothing yet."""


class HostNumbers:
    """Hosts by number, in order of appearance; arrays are [hosts].

    The name of a number that was let go of is "" until another host gets it.
    """

    def __init__(self) -> None:
        self.bounds = WindowBounds()
        self.notes = BoundNotes()
        self.numbers: dict[str, int] = {}
        self.names: list[str] = []
        self.reports = ReportTimes()
        """When they reported of themselves, by what belongs to no job."""
        self.arrived: Floats = np.zeros(0)
        """When anything of a host last arrived, whoever sent it."""
        self.announced_at: Floats = np.zeros(0)
        """When its agent announced that it stops; -inf where it did not, or reported since."""
        self.node_received: Floats = np.zeros(0)
        """When telemetry of the node itself last arrived: what belongs to no job."""
        self.offset: Floats = np.zeros(0)
        """How far the clock is ahead by which the node itself reports, in seconds."""
        self.clocks: list[HostClock] = []
        self.switches: dict[str, str] = {}
        self.nics: dict[str, dict[str, NicPort]] = {}
        self.events: dict[str, EventHistory] = {}
        self.devices = DeviceDescriptions()
        self.event_counts: Ints = np.zeros(0, np.int64)
        self.scraped_until = -np.inf
        """The newest reading that was scraped of any host."""
        self.version = 0
        """Moves when a switch or a port changes."""
        self._free: list[int] = []
        """Numbers that were let go of, as a heap."""

    def number(self, host: str) -> int | None:
        """Return the number of a host, a new one if needed; None, and noted, where it is full."""
        found = self.numbers.get(host)
        if found is None:
            if self._free:
                found = self.numbers[host] = heapq.heappop(self._free)
                self.names[found] = host
                return found
            if len(self.names) >= self.bounds.hosts:
                self.notes.add("hosts", host)
                return None
            found = self.numbers[host] = len(self.names)
            self.names.append(host)
            self.clocks.append(HostClock())
            if found >= len(self.arrived):
                size = max(64, 2 * found)
                self.reports.fit(size)
                for name, fill in _UNREPORTED.items():
                    setattr(self, name, longer(getattr(self, name), size, fill))
                self.event_counts = longer(self.event_counts, size, 0)
        return found

    def switch(self, host: str, name: str) -> None:
        """Note the leaf switch of a host."""
        self.version += self.switches.get(host) != name
        self.switches[host] = name

    def event(self, host: str, event: Event, now: float) -> int:
        """Keep an event of a known host that is of no job; return how many bytes more are held."""
        held = self.events.get(host)
        if held is None:
            held = self.events[host] = EventHistory(MOST_EVENTS)
        before = held.bytes
        if gone := held.add(event, now, most_bytes=self.bounds.events_of_one):
            self.notes.add("event_bytes", host, gone)
        self.changed(host)
        return held.bytes - before

    def changed(self, host: str) -> None:
        """Note that the events of a host are others than before."""
        self.event_counts[self.numbers[host]] += 1

    def silent(self, since: float) -> Ints:
        """Return the numbers of hosts of which nothing arrived since."""
        quiet = np.flatnonzero(self.arrived[: len(self.names)] <= since)
        return np.setdiff1d(quiet, np.array(self._free, np.int64))

    @property
    def scarce(self) -> bool:
        """Tell whether numbers of hosts that went should be used again."""
        return len(self.names) - len(self._free) > self.bounds.hosts // 2

    def release(self, number: int) -> None:
        """Forget a host that nothing refers to; another one may get its number."""
        host, self.names[number] = self.names[number], ""
        del self.numbers[host]
        for held in (self.switches, self.nics, self.events):
            held.pop(host, None)
        self.clocks[number] = HostClock()
        for name, fill in _UNREPORTED.items():
            getattr(self, name)[number] = fill
        self.reports.clear(number)
        self.event_counts[number] += 1
        self.version += 1
        heapq.heappush(self._free, number)

    def of_node(self, number: int, now: float) -> None:
        """Note that a host's own telemetry arrived: an agent runs there."""
        self.node_received[number] = max(self.node_received.item(number), now)
        if now - self.announced_at.item(number) > FLUSH_SECONDS:
            self.announced_at[number] = -np.inf

    def announced(self, numbers: Ints) -> Flags:
        """Return which of these hosts announced that their agent stops."""
        flags: Flags = self.announced_at[numbers] > -np.inf
        return flags

    def lifecycle(self, number: int, event: Event, now: float) -> None:
        """Take what an agent announced of its own start or stop."""
        phase = event.attributes.get("phase")
        if phase == "shutdown":
            self.announced_at[number] = now
        elif phase == "start":
            self.announced_at[number] = -np.inf
            seconds = event.attributes.get("interval_seconds")
            if isinstance(seconds, int | float):
                self.reports.announce(number, float(seconds))
