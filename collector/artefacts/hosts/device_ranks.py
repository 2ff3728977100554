"""Whose device it was that failed: a rank says in its log that its own did, a kernel which one did.

Neither names the other. Where one device and one rank are all that can be meant, they belong
together, and so do their hosts.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from ....vocabulary.entities import UNNAMED_HOST
from ....vocabulary.samples import Event
from ..job.whereabouts import RankWhereabouts
from . import kernel_events

_OF_ITS_DEVICE = re.compile(
    r"(?:CUDA|Cuda|HIP|NPU) (?:[Ee]rror|failure)"
    r"(?!.*(?:out of memory|device-side assert|invalid ))|"
    r"cudaError(?!MemoryAllocation)|hipError(?!OutOfMemory)|ECC error|HSA_STATUS_ERROR",
    re.DOTALL,
)
"""What a process says whose device failed or whose program is wrong: the kernel tells which."""

_MEMORY = "ECC error"

KernelEvents = Sequence[tuple[int | None, Event]]
_Device = tuple[str, str]
"""The host, "" where nothing names it, and the device's id."""


def joined(
    said: Iterable[tuple[int | None, Event]],
    kernels: KernelEvents,
    processes: Mapping[int, RankWhereabouts],
) -> dict[int, RankWhereabouts]:
    """Return by rank where those ran whose devices kernels accuse; none where several may be meant.

    said: what ranks' logs report, with the rank; kernels: what kernels report; processes: what is
    known of the ranks.
    """
    failed = [
        (rank, event)
        for rank, event in said
        if rank is not None and _fails(event) and not _place(rank, processes).hw_id
    ]
    memory = {rank for rank, event in failed if _MEMORY in str(event.attributes["text"])}
    ranks = memory or {rank for rank, _ in failed}  # the others' errors may be of any kind
    devices = _accused(kernels)
    taken = {one.hw_id for one in processes.values() if one.hw_id}
    found: dict[int, RankWhereabouts] = {}
    for rank in ranks:
        own = _place(rank, processes)
        able = [one for one in devices if _together(own.host, one[0]) and one[1] not in taken]
        rivals = [
            other
            for other in ranks
            if any(_together(_place(other, processes).host, host) for host, _ in able)
        ]
        if len(able) == len(rivals) == 1:
            host, device = able[0]
            found[rank] = replace(own, host=own.host or host or UNNAMED_HOST, hw_id=device)
    return found


def placed(kernels: KernelEvents, found: Mapping[int, RankWhereabouts]) -> KernelEvents:
    """Return what kernels report with the ranks of the devices that were found, and their hosts."""
    ranks = {one.hw_id: rank for rank, one in found.items()}
    events: list[tuple[int | None, Event]] = []
    for rank, event in kernels:
        of = ranks.get(str(event.attributes.get("hw.id", "")))
        if rank is None and of is not None and _together(found[of].host, event.resource.host):
            own = replace(event.resource, host=found[of].host)
            events.append((of, replace(event, resource=own)))
        else:
            events.append((rank, event))
    return events


def _accused(kernels: KernelEvents) -> set[_Device]:
    return {
        (event.resource.host, str(event.attributes["hw.id"]))
        for rank, event in kernels
        if rank is None
        and event.name == "gpu.fault"
        and str(event.attributes.get("hw.id", "")).startswith("pci:")
        and event.attributes["hw.id"] != "pci:unknown"
        and not str(event.attributes.get("code", "")).startswith("sxid.")
        and kernel_events.role(event) == "root"
    }


def _fails(event: Event) -> bool:
    pairs = event.attributes
    return (
        event.name == "log.fault"
        and pairs.get("role") == "root"
        and _OF_ITS_DEVICE.search(str(pairs.get("text", ""))) is not None
    )


def _place(rank: int, processes: Mapping[int, RankWhereabouts]) -> RankWhereabouts:
    return processes.get(rank) or RankWhereabouts()


def _together(one: str, other: str) -> bool:
    """Tell whether two hosts may be the same: one that nothing names may be any."""
    return one == other or not {one, other}.isdisjoint({"", UNNAMED_HOST})
