"""Network ports of the job's hosts: where their readings are, and the entities they belong to.

Most ports are reported by host; those of devices with a network of their own (Ascend) by device.
"""

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ...vocabulary.entities import Entity
from ...vocabulary.samples import Event
from ..readings import variants
from ..window import Ints, JobWindow, PeriodicReadings


@dataclass(frozen=True, slots=True)
class PortPlane:
    """One metric of the ports of one name, a row for each host or, `by_rank`, for each rank.

    middle: the value of the attribute between device and port, "" where the metric has none.
    hosts: [rows], index of the host, -1 where unknown.
    """

    device: str
    middle: str
    port: str
    readings: PeriodicReadings
    hosts: Ints
    by_rank: bool

    def entity(self, window: JobWindow, row: int) -> Entity | None:
        """Return the port of a row with the ranks that use it, None where its host is unknown."""
        host = int(self.hosts[row])
        if host < 0:
            return None
        if not self.by_rank:
            return entity(window, window.hosts[host], self.device, self.port)
        name = f"{window.hosts[host]}/{self.device}:{self.port}"
        return Entity("nic", name, window.hosts[host], window.rank_entity(row).ranks)


def planes(
    window: JobWindow, metric: str, among: Container[str] | None = None
) -> Iterator[PortPlane]:
    """Yield what is reported of the job's ports under a metric, a plane for each name of a port.

    among: the values between device and port that are asked for; None: all of them.
    """
    for held, hosts, by_rank in (
        (window.host_readings, np.arange(len(window.hosts)), False),
        (window.rank_readings, window.host_of, True),
    ):
        for name in variants(held, metric):
            parts = _parts(name)
            if parts is not None and (among is None or parts[1] in among):
                yield PortPlane(*parts, held[name], hosts, by_rank)


@lru_cache(maxsize=4096)
def _parts(name: str) -> tuple[str, str, str] | None:
    """Return device, what is between, and port of a plane's name; None for one of no port."""
    values = name.split("|")[1:]
    if len(values) not in (2, 3):
        return None
    device, *middle, port = values
    return device, "".join(middle), port


def entity(window: JobWindow, host: str, device: str, port: str) -> Entity:
    """Return a port with the ranks that use it: those of its device, else of its host."""
    name = f"{host}/{device}:{port}"
    for nic in window.topology.nics:
        if nic.host == host and nic.id == name:
            return window.topology.nic_entity(nic)
    return Entity("nic", name, host, window.topology.ranks_of_host(host))


def of_event(window: JobWindow, event: Event) -> Entity | None:
    """Return the port that an event is about, None where it names none of the job's hosts."""
    host, device = event.resource.host, event.attributes.get("device")
    if not isinstance(device, str) or not device or host not in window.hosts:
        return None
    return entity(window, host, device, str(event.attributes.get("port", "1")))


def events(window: JobWindow, name: str) -> Sequence[Event]:
    """Return the job's events of a name that are no older than its attempt."""
    return [e for e in window.named(name) if e.at >= window.attempt_started_at]


def up_since(window: JobWindow, port: Entity, at: float) -> bool:
    """Tell whether a reading later than `at` shows a port up."""
    for plane in planes(window, "hw.network.up"):
        if not port.id.endswith(f"/{plane.device}:{plane.port}"):
            continue
        state, read_at = plane.readings.latest()
        for row in np.flatnonzero((state == 1) & (read_at > at)).tolist():
            host = int(plane.hosts[row])
            if host >= 0 and window.hosts[host] == port.host:
                return True
    return False
