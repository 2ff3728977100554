"""Whose process or device a kernel's line is about, where the line itself does not say the rank."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from ....vocabulary.samples import Event, Scalar
from ..job.whereabouts import RankWhereabouts

_SEGFAULTS = frozenset({"nccl.segfault", "library.segfault"})
_KILLED, _FAULTED = 9, 11
_TOGETHER_SECONDS = 60.0
"""A launcher that polls, and clocks that differ, say of an end so much later or earlier."""


@dataclass(frozen=True, slots=True)
class LineVictims:
    """What is known of a job's ranks. exits: by rank, when it ended and by which signal.

    silent: ranks that have a log without any error, where others logged one. size: how many ranks
    the job has, 0 where nothing says so.
    """

    processes: Mapping[int, RankWhereabouts]
    exits: Mapping[int, tuple[float, int]]
    silent: Collection[int]
    size: int = 0

    def of(self, event: Event) -> int | None:
        """Return the rank that an event of a host is about, None where several may be it."""
        host, pid = event.resource.host, event.attributes.get("pid")
        here = [rank for rank, one in self.processes.items() if one.host == host]
        named = [rank for rank in here if pid is not None and self.processes[rank].pid == pid]
        if named:
            return named[0]
        if event.name == "gpu.fault":
            return self._of_device(event, here)
        signal = signal_of(event)
        if not signal:
            return None
        ended = [
            rank
            for rank, (at, by) in self.exits.items()
            if by == signal and abs(at - event.at) <= _TOGETHER_SECONDS
        ]
        quiet = [rank for rank in here if rank in self.silent]
        return next((found[0] for found in (ended, quiet) if len(found) == 1), None)

    def ends(self, event: Event, rank: int) -> Event | None:
        """Return the end of a rank's process that a line tells of, None where it was known."""
        signal = signal_of(event)
        if not signal or rank in self.exits:
            return None
        pairs: dict[str, Scalar] = {"rank": rank, "signal": signal}
        return Event("process.exit", event.at, pairs, event.resource)

    def strange(self, event: Event) -> str:
        """Return why a line is known to be of no host or device of the job, "" where it may be.

        Where the host of every rank is known, no other is the job's; where the device of every rank
        of a host is, no other of that host.
        """
        hosts = {one.host for one in self.processes.values()}
        whole = 0 < self.size <= len(self.processes)
        if whole and hosts and "" not in hosts and event.resource.host not in {"", *hosts}:
            return "no rank of the job is known to have run on this host"
        return "no rank of the job is known to have used this device" if self._unused(event) else ""

    def _unused(self, event: Event) -> bool:
        device = str(event.attributes.get("hw.id", ""))
        here = [one for one in self.processes.values() if one.host == event.resource.host]
        known = [one.hw_id for one in here if one.hw_id]
        addressed = device.startswith("pci:") and device != "pci:unknown"
        return (
            event.name == "gpu.fault"
            and not str(event.attributes.get("code", "")).startswith("sxid.")
            and addressed
            and bool(known)
            and len(known) == len(here)
            and device not in known
        )

    def _of_device(self, event: Event, here: list[int]) -> int | None:
        device = str(event.attributes.get("hw.id", ""))
        unnamed = device == "pci:unknown" or not device.startswith(("pci:", "GPU-"))
        return here[0] if unnamed and len(here) == 1 else None


def signal_of(event: Event) -> int:
    """Return the signal by which a process ended that a line tells of, 0 where it tells of none."""
    if event.name == "host.oom_kill":
        return _KILLED
    return _FAULTED if event.attributes.get("signature") in _SEGFAULTS else 0
