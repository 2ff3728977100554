"""Ranks of processes by NCCL's own lines, in a log of several ranks that have no prefix.

In a communicator of the whole job a process has the job's rank.
"""

from ..job.size import MOST_RANKS
from .contents import LogContents, number

_COMMUNICATOR = "collective.communicator"


def place(gathered: LogContents) -> None:
    """Give lines on communicators of the whole job their ranks, and these their processes.

    None where two processes have the same rank, or one has two: these are parts of a larger job.
    """
    found: dict[int, int] = {}
    seen: dict[int, object] = {}
    size = max([gathered.survey.size, *_sizes(gathered)])
    for place, (rank, _, event) in enumerate(gathered.events):
        pairs = event.attributes
        if event.name != _COMMUNICATOR or number(pairs.get("communicator.size")) != size:
            continue
        own = number(pairs.get("communicator.rank"))
        if own is None or own >= MOST_RANKS or rank not in (None, own):
            return
        process = pairs.get("host"), pairs.get("pid"), pairs.get("pci.bus_id")
        if seen.setdefault(own, process) != process:
            return
        if rank is None:
            found[place] = own
    if len(set(seen.values())) < len(seen):
        return
    for place, rank in found.items():
        _, file, event = gathered.events[place]
        gathered.events[place] = rank, file, event
        gathered.learn_process(event, rank, None)


def _sizes(gathered: LogContents) -> list[int]:
    """Return how large communicators are."""
    return [
        number(event.attributes.get("communicator.size")) or 0
        for _, _, event in gathered.events
        if event.name == _COMMUNICATOR
    ]
