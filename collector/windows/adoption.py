"""Devices that stand in for the ranks of jobs which nobody reports ranks of.

Where a Prometheus scraped the exporters and no agent runs, labels say which job a device is given
to, and no more. Each device of such a job is then taken for one rank, numbered in the order in
which devices were first seen; the devices of no job are watched together, as a job `unassigned`.
"""

import re
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from ...detectors.window import Ints
from ...vocabulary.ids import Job
from ...vocabulary.samples import JOB_SOURCE, TelemetryResource
from .attempt import JobAttempt
from .attempts import AttemptRegister

UNASSIGNED = "unassigned"

Device = tuple[int, str]
"""Number of the host, and `hw.id`."""

_UUID = re.compile(r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-")
"""An id that no other device in the world has; an index is none."""


def by_labels(resource: TelemetryResource) -> bool:
    """Tell whether a resource's job comes from labels of scraped series."""
    return any(name == JOB_SOURCE for name, _ in resource.extra)


def unassigned(job: str) -> bool:
    """Tell whether a job is that of devices which no label gives to one."""
    return job.partition("/")[0] == UNASSIGNED


class DeviceAdoption:
    """Which attempts hold which devices, by labels."""

    def __init__(self, attempts: AttemptRegister) -> None:
        self._attempts = attempts
        self._holders: dict[Device, list[int]] = {}
        """Numbers of the attempts that a device was given to, the newest last."""
        self._shared: set[Device] = set()
        self._returned: set[Device] = set()
        """Devices that a job had again after they were in none: two exporters report them, and only
        one of them names the job. They stay in it."""

    def ranks(
        self, attempt: JobAttempt, hosts: Sequence[int], devices: Sequence[str]
    ) -> tuple[Ints, list[tuple[int, Device]]]:
        """Return the ranks that devices stand in for, and what was taken from other attempts.

        A device that an agent reports a rank of has none here: -1; so has one that another exporter
        gives to a job, or to this one under another name of its host. What was taken is (number of
        the attempt, device): its series are to be placed anew when they next report.
        """
        ranks = np.full(len(hosts), -1, np.int64)
        taken: list[tuple[int, Device]] = []
        if attempt.informed:
            return ranks, taken
        reported = self._reported() if unassigned(attempt.job) else frozenset()
        for place, device in enumerate(zip(hosts, devices, strict=True)):
            if device[1] in reported:
                continue
            if unassigned(attempt.job) and device in self._returned:
                continue
            rank = attempt.adopted.get(device)
            if rank is None:
                if len(attempt.adopted) >= self._attempts.bounds.ranks:
                    self._attempts.notes.add("ranks", attempt.job)
                    continue
                if _UUID.search(device[1]) and device[1] in attempt.adopted_ids:
                    continue  # two exporters report it, and name its host differently
                rank = attempt.adopted[device] = len(attempt.adopted)
                attempt.adopted_ids.add(device[1])
            row = attempt.row(rank)
            if attempt.placements.hw_ids[row] != device[1]:
                attempt.placements.hw_ids[row] = device[1]
                attempt.placements.version += 1
                attempt.version += 1
            ranks[place] = rank
            taken += self._take(attempt, device)
        return ranks, taken

    def reported_as(
        self, attempt: JobAttempt, devices: Iterable[Device]
    ) -> dict[Device, JobAttempt]:
        """Return the attempt of the same job of which an agent reports a device's rank, by device.

        Labels put a pod's namespace before the name that an agent has from the launcher. It is one
        job only where a device says so: two namespaces may have a job of one name each.
        """
        space, _, name = attempt.job.rpartition("/")
        same = self._attempts.newest(Job(name)) if space else None
        if same is None or not same.informed or (same.claims and not same.checked):
            return {}
        if None not in (same.cluster, attempt.cluster) and same.cluster != attempt.cluster:
            return {}
        held = same.placements
        anywhere = set(held.hw_ids)
        here = set(zip(held.hosts.tolist(), held.hw_ids, strict=False))
        found = {
            device: same
            for device in devices
            if device in here or (_UUID.search(device[1]) and device[1] in anywhere)
        }
        for device in found:
            self._take(same, device)
        return found

    def names(self, attempt: JobAttempt) -> list[int]:
        """Return the numbers of attempts that labels give devices to under a longer name."""
        if not self._holders:
            return []  # as wherever no labels are read
        return [
            one.number_in_windows
            for one in self._attempts.by_key.values()
            if one.adopted and one.job.endswith(f"/{attempt.job}")
        ]

    def release(self, attempt: JobAttempt) -> bool:
        """Let an agent's `training.rank.info` speak; return whether devices stood in so far."""
        attempt.informed = True
        stood_in = bool(attempt.adopted)
        attempt.adopted.clear()
        attempt.adopted_ids.clear()
        return stood_in

    def forget(self, numbers: Sequence[int]) -> None:
        """Forget attempts: their numbers will be those of others."""
        gone = set(numbers)
        for device, holders in list(self._holders.items()):
            holders[:] = [number for number in holders if number not in gone]
            if not holders:
                del self._holders[device]
                self._shared.discard(device)
                self._returned.discard(device)

    def hosts(self) -> set[int]:
        """Return the numbers of the hosts of all devices that were ever given to an attempt."""
        return {host for host, _ in self._holders}

    def _take(self, attempt: JobAttempt, device: Device) -> list[tuple[int, Device]]:
        """Take a device from the job that had it before; several jobs may share one."""
        mine = attempt.number_in_windows
        holders = self._holders.setdefault(device, [])
        if holders and holders[-1] == mine:
            return []
        before = [number for number in holders if number != mine]
        if mine in holders and not unassigned(attempt.job):
            others = [self._attempts.numbered[number] for number in before]
            if any(one is not None and not unassigned(one.job) for one in others):
                self._shared.add(device)  # it came back while another had it
            elif any(one is not None and unassigned(one.job) for one in others):
                self._returned.add(device)
        holders[:] = [*before, mine]
        taken = []
        for number in before:
            held = self._attempts.numbered[number]
            if held is None:
                continue
            if device in self._shared and not unassigned(held.job) and not unassigned(attempt.job):
                continue
            rank = held.adopted.get(device)
            row = None if rank is None else held.placements.row(rank)
            if row is None or held.placements.hw_ids[row] is None:
                continue
            held.placements.hw_ids[row] = None
            held.placements.hosts[row] = -1
            held.placements.version += 1
            held.version += 1
            taken.append((number, device))
        return taken

    def _reported(self) -> frozenset[str]:
        """Return the devices that agents report a rank of."""
        return frozenset(
            hw_id
            for attempt in self._attempts.by_key.values()
            if attempt.informed
            for hw_id in attempt.placements.hw_ids
            if hw_id
        )


def of_devices(
    ranks: Ints, pids: NDArray[np.int64], devices: NDArray[np.int32]
) -> NDArray[np.bool_]:
    """Return which series are of a device as such, and name no rank."""
    which: NDArray[np.bool_] = (ranks < 0) & (pids < 0) & (devices >= 0)
    return which
