"""Hosts whose processes wait for storage: busy disks, pressure, and processes that are blocked."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...vocabulary.entities import Entity
from ...vocabulary.findings import Finding
from ...vocabulary.ranks import RankSet
from ...vocabulary.samples import Event
from .. import medians
from ..contract import Detector
from ..findings import report
from ..tenants import guessed, own_events, own_logs, signature_of, text_of
from ..window import Flags, Floats, Ints, JobWindow, PeriodicReadings
from . import counters, past
from .full_disks import SYSTEM, UTILIZATION
from .stuck_drivers import CALLS, silent_hosts

ERROR = re.compile(
    r"nvme|filesystem|read_only|nfs|lustre|ceph|gpfs|storage|\bio_?error", re.IGNORECASE
)

OF_THE_NETWORK = re.compile(r"(?:nfs|lustre|ceph|gpfs)\.")
"""Signatures of the kernel's clients of network file systems."""

IOWAIT, IDLE = "system.cpu.utilization|iowait", "system.cpu.utilization|idle"
RARE, SAME, SPARE = 0.02, 1.5, 0.1
"""Shares of CPU time: waits for I/O so rare that those of a blocked process show, unless they are
no more than so many times the usual; CPUs must be idle for so much, as only those count waits."""

READINGS = 3
"""Blocked processes are counted at single moments: so many readings say how many there are."""

SHARED = "shared"
"""What storage of the network is called whose mount no host reports the usage of."""


@dataclass(frozen=True, slots=True)
class _StorageWait:
    """The strongest sign that a host waits for storage."""

    score: float
    signal: str
    text: str
    seen: float
    usual: float
    onset: tuple[float, float]


class SlowStorageDetector(Detector):
    """Name the storage that the processes of a host wait for.

    Three signs, each against the host's own earlier level and the median of its peers: the busiest
    disk is in use nearly all the time, tasks wait for I/O (pressure), processes are blocked in the
    kernel. One that rose on a host counts as evidence about its storage; on half of the hosts or
    more, as evidence about the mount that they share: the one on which all report the very same
    usage, or storage of the network whose mount nobody reports ("shared"). That is what several
    hosts wait for as well whose own disks rest, or of whose disks nobody reports anything: disks
    are slow one by one. And it is what all of them wait for whose disks are not seen at work while
    the kernel of one complains of a file server. Processes that are blocked say nothing where the
    host's calls into a driver hang, or none of its devices gives a reading: those are what they
    wait for. Nor do they where idle CPUs of the host count no more waits for I/O than before.
    Whether steps or checkpoints wait for it is for other detectors to say. What the kernel logs
    about a disk or a file system counts as well.

    Parameters
    ----------
    seconds : the newest time range evaluated.
    past : how far back a host's own level is learnt from.
    busy, waiting : share of the time from which on a disk in use, and tasks that wait, count; a
        tenth is little, but healthy training hosts wait for hardly a hundredth of theirs.
    blocked : processes that must be blocked on average.
    factor : rise over the earlier level.

    Examples
    --------
    On the second host tasks wait for I/O most of the time from second 150 on.

    >>> from rankscope.detectors.sketch import START, readings, sketch
    >>> at = START + np.arange(0, 201, 5)
    >>> waits = np.full((2, len(at)), 0.01)
    >>> waits[1, at > START + 150] = 0.7
    >>> window = sketch(np.full((4, 200), 0.8), host_readings={
    ...     "system.pressure|some|io": readings(at, waits)})
    >>> [finding.text for finding in SlowStorageDetector().evaluate(window)]
    ['storage host-1:/ on host-1: tasks wait for I/O 70% of the time (before: 1%)']

    Fails where a client of a network file system waits without being blocked or counted, and cannot
    see which mount a disk belongs to: it names the one whose usage changes, else the only one that
    is the host's own, else the root.

    References: Linux Documentation/accounting/psi, iostats.
    """

    name = "slow_storage"
    kinds = ("storage.slow", "storage.error")
    cadence_seconds = 5.0

    def __init__(
        self,
        *,
        seconds: float = 30.0,
        past: float = 900.0,
        busy: float = 0.8,
        waiting: float = 0.1,
        blocked: float = 2.0,
        factor: float = 2.5,
    ) -> None:
        self.seconds = seconds
        self.past = past
        self.busy = busy
        self.waiting = waiting
        self.blocked = blocked
        self.factor = factor

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return one finding a host, or one for the mount that many of them share."""
        best: dict[int, _StorageWait] = {}
        for metric, least, words in (
            ("system.pressure|some|io", self.waiting, "tasks wait for I/O {:.0%} of the time"),
            ("system.disk.io_time", self.busy, "its busiest disk is in use {:.0%} of the time"),
            ("system.processes.blocked", self.blocked, "{:.0f} processes are blocked"),
        ):
            for _, name in counters.variants(window.host_readings, metric):
                self._waits(window, name, least, words, best)
        elsewhere = _of_file_servers(window)
        complain = {window.hosts.index(event.resource.host) for event in elsewhere}
        together = self._together(window, best, complain)
        shared = _of_the_network(window, together | complain) if together | complain else None
        return [
            *self._findings(window, best, together, shared),
            *self._errors(window, elsewhere, shared),
        ]

    def _waits(
        self, window: JobWindow, name: str, least: float, words: str, best: dict[int, _StorageWait]
    ) -> None:
        """Add the hosts whose sign is high, and higher than it was or than its peers' is."""
        held, counts = window.host_readings[name], name.startswith("system.disk.io_time")
        newest = held.newest_at()
        if newest == -np.inf:
            return
        start = newest - max(self.seconds, 3.2 * held.period())
        now = held.rate(start, newest) if counts else held.mean(start, newest)
        hosts = np.flatnonzero((now >= least) & (now < 1e6))
        if len(hosts) and name.startswith("system.processes.blocked"):
            hosts = hosts[~_in_a_driver(window)[hosts] & (_counted(held, start)[hosts] >= READINGS)]
            hosts = hosts[~self._without_waits(window, hosts, start)]
        if not len(hosts):
            return
        levels = past.blocks(held.of(hosts), start, self.past, counter=counts)
        usual, others = past.usual(levels), medians.known(now)
        for number, host in enumerate(hosts.tolist()):
            seen, before = float(now[host]), float(usual[number])
            if not seen >= self.factor * (before if np.isfinite(before) else others):
                continue
            before = before if np.isfinite(before) else others
            score = min(seen / least + 1.0, 3.0)
            if host in best and score <= best[host].score:
                continue
            onset = past.began(levels[number], start, newest - start, (seen + before) / 2)
            signal = name.partition("|")[0]
            best[host] = _StorageWait(score, signal, words.format(seen), seen, before, onset)

    def _without_waits(self, window: JobWindow, hosts: Ints, start: float) -> Flags:
        """Return [hosts] whose idle CPUs have counted no more waits for I/O since `start`."""
        waits, idle = (window.host_readings.get(name) for name in (IOWAIT, IDLE))
        if waits is None or idle is None:
            return np.zeros(len(hosts), np.bool_)
        waits, idle = waits.of(hosts), idle.of(hosts)
        usual = waits.mean(start - self.past, start)
        with np.errstate(invalid="ignore"):
            rested: Flags = (usual < RARE) & (waits.mean(start, np.inf) <= SAME * usual)
            return rested & (idle.mean(start, np.inf) >= SPARE)

    def _findings(
        self,
        window: JobWindow,
        best: dict[int, _StorageWait],
        together: set[int],
        shared: Entity | None,
    ) -> list[Finding]:
        """Return a finding for each host that waits for its own storage, and one for all others."""
        found = [
            self._finding(window, _storage(window, host), wait, "")
            for host, wait in sorted(best.items())
            if host not in together
        ]
        if together and shared is not None:
            worst = max(together, key=lambda number: (best[number].score, -number))
            where = f" on {len(together)} hosts" if len(together) > 1 else ""
            found.append(self._finding(window, shared, best[worst], where))
        return found

    def _together(
        self, window: JobWindow, best: dict[int, _StorageWait], complain: set[int]
    ) -> set[int]:
        """Return the hosts that wait for storage that they share, as it seems.

        complain: hosts whose kernels complain of a file server.
        """
        many = len(best) > 1 and 2 * len(best) >= len(window.hosts)
        if many and _shared_mount(window) is not None:
            return set(best)
        used = self._used(window)
        elsewhere = {
            host
            for host, wait in best.items()
            if wait.signal != "system.disk.io_time" and not used[host] >= self.waiting
        }
        return elsewhere if complain or len(elsewhere) > 1 else set()

    def _used(self, window: JobWindow) -> Floats:
        """Return [hosts], how much of the time the busiest disk is in use; NaN where unknown."""
        used = np.full(len(window.hosts), np.nan)
        for _, name in counters.variants(window.host_readings, "system.disk.io_time"):
            held = window.host_readings[name]
            newest = held.newest_at()
            if newest > -np.inf:
                start = newest - max(self.seconds, 3.2 * held.period())
                used = np.fmax(used, held.rate(start, newest))
        return used

    def _finding(
        self, window: JobWindow, entity: Entity, wait: _StorageWait, where: str
    ) -> Finding:
        counts = wait.signal == "system.processes.blocked"
        before = f"{wait.usual:.0f}" if counts else f"{wait.usual:.0%}"
        return report(
            window,
            self.name,
            "storage.slow",
            entity,
            onset=wait.onset,
            magnitude=wait.seen,
            score=wait.score,
            signal=wait.signal,
            observed=wait.seen,
            expected=wait.usual,
            text=f"{entity}: {wait.text}{where} (before: {before})",
        )

    def _errors(
        self, window: JobWindow, elsewhere: Sequence[Event], shared: Entity | None
    ) -> list[Finding]:
        """Return the first complaint of each host, and of all hosts about the network's storage."""
        found: dict[str, Finding] = {}
        for event in own_logs(window):
            host = event.resource.host
            if host in found or not _complains(window, event):
                continue
            if not OF_THE_NETWORK.match(signature_of(event)):
                entity = _storage(window, window.hosts.index(host))
                found[host] = self._error(window, entity, event)
        if elsewhere and shared is not None:
            return [*found.values(), self._error(window, shared, elsewhere[0])]
        return list(found.values())

    def _error(self, window: JobWindow, entity: Entity, event: Event) -> Finding:
        signature = signature_of(event)
        text = text_of(event).strip()
        return report(
            window,
            self.name,
            "storage.error",
            entity,
            onset=event.at,
            score=0.5 if guessed(event) else 3.0,
            signal="log.fault",
            observed=signature,
            text=f"{entity}: {signature}: {text[:160]}".rstrip(": "),
        )


def _complains(window: JobWindow, event: Event) -> bool:
    """Tell whether a line of one of the job's hosts is about a disk or a file system."""
    return event.resource.host in window.hosts and window.searches.found(ERROR, event, signature_of)


def _of_file_servers(window: JobWindow) -> list[Event]:
    """Return what the kernels' clients of network file systems complain of."""
    return [
        event
        for event in own_logs(window)
        if OF_THE_NETWORK.match(signature_of(event)) and _complains(window, event)
    ]


def _of_the_network(window: JobWindow, hosts: set[int]) -> Entity:
    """Return the storage that these hosts share, by its mount where that is known."""
    ranks = RankSet(r for host in sorted(hosts) for r in window.host_entity(host).ranks)
    alone = window.hosts[min(hosts)] if len(hosts) == 1 and not ranks else None
    return Entity("storage", _shared_mount(window) or SHARED, alone, ranks)


def _counted(held: PeriodicReadings, start: float) -> Ints:
    """Return [hosts], how many readings there are since `start`."""
    found = held.between(start, np.inf)
    count: Ints = (np.isfinite(found.value) & (found.at >= start)).sum(axis=1)
    return count


def _mounts(window: JobWindow) -> dict[str, str]:
    """Return the plane of each mount that a job may use, by mount."""
    return {
        "|".join(values): name
        for values, name in counters.variants(window.host_readings, UTILIZATION)
        if values and not values[0].startswith(SYSTEM)
    }


def _shared_mount(window: JobWindow) -> str | None:
    """Return the mount on which all hosts report the very same usage: one file system for all."""
    for mount, name in _mounts(window).items():
        if mount == "/":
            continue  # hosts of one image fill it alike, and nobody shares it
        used, _ = window.host_readings[name].latest()
        used = used[np.isfinite(used)]
        if len(used) >= 2 and 0 < used[0] < 1 and np.ptp(used) < 1e-4:
            return mount
    return None


def _in_a_driver(window: JobWindow) -> Flags:
    """Return [hosts], on which calls into a device's driver do not return, as it seems."""
    hung = {
        event.resource.host
        for event in own_events(window)
        if event.name == "gpu.fault" and event.attributes.get("code") in CALLS
    }
    silent = silent_hosts(window)
    return np.array(
        [name in hung or host in silent for host, name in enumerate(window.hosts)], np.bool_
    )


def _storage(window: JobWindow, host: int) -> Entity:
    """Return the mount of a host that is in use: whose usage changes most.

    Where none does it is the only one that is the host's own beside the root, else the root.
    """
    best, most, own = "/", 0.0, list[str]()
    shared = _shared_mount(window)
    for mount, name in _mounts(window).items():
        held = window.host_readings[name]
        value = held.of(np.array([host])).value[0]
        value = value[np.isfinite(value)]
        if mount == "/" or not len(value):
            continue
        moved = float(np.ptp(value))
        if moved > most:
            best, most = mount, moved
        if mount != shared:
            own.append(mount)
    if most == 0 and len(own) == 1:
        best = own[0]
    name = window.hosts[host]
    return Entity("storage", f"{name}:{best}", name, window.host_entity(host).ranks)
