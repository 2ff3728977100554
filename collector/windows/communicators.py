"""Communicators as NCCL's own log describes them: which process is which rank, on which device.

Each process logs one line (`Init COMPLETE`) a communicator. Its members are known once all of them
did, or at once where it is that of all ranks: NCCL numbers those as the job does.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ...vocabulary.groups import communicator_group, communicator_info
from ...vocabulary.samples import Event, Sample
from .attributes import rank_of, whole

EVENT = "collective.communicator"
MOST = 1024
"""Communicators of an attempt; of more the oldest go."""

MOST_MEMBERS = 200_000


@dataclass(frozen=True, slots=True)
class LoggedRank:
    """One rank's line: its pid in its own namespace, its device's PCI address, its rank there."""

    pid: int | None
    bus_id: str | None
    communicator_rank: int


@dataclass(slots=True)
class _LoggedCommunicator:
    size: int
    members: dict[int, LoggedRank] = field(default_factory=dict)
    """By rank of the job."""
    described: bool = False


class CommunicatorRegister:
    """The communicators of one attempt, bounded. `malformed` counts events that name none."""

    def __init__(self) -> None:
        self.malformed = 0
        self._held: dict[str, _LoggedCommunicator] = {}
        self._members = 0

    def take(self, event: Event, *, world_size: int) -> Sample | None:
        """Take an event; return the sample that describes the group where it became known."""
        pairs = event.attributes
        name, size = str(pairs.get("communicator", "")), whole(pairs.get("communicator.size"))
        rank, place = rank_of(pairs), whole(pairs.get("communicator.rank"))
        if rank is None and size is not None and size == world_size:
            rank = place
        if not name or not size or rank is None or place is None or not 0 <= place < size:
            self.malformed += 1
            return None
        key = _key(communicator_group(name, whole=False))
        one = self._held.get(key)
        if one is None or one.size != size:
            self._drop(key)
            while len(self._held) >= MOST:
                self._drop(next(iter(self._held)))
            one = self._held[key] = _LoggedCommunicator(size)
        if rank not in one.members:
            if self._members >= MOST_MEMBERS:
                return None
            self._members += 1
        bus = pairs.get("pci.bus_id")
        one.members[rank] = LoggedRank(
            whole(pairs.get("pid")), str(bus)[:32] if bus else None, place
        )
        # Without NCCL's hash each process names it by an address of its own: nobody shares it.
        whole_job = size == world_size and (len(one.members) > 1 or size == 1)
        if one.described or not (whole_job or _all_there(one)):
            return None
        one.described = True
        ranks = one.members if _all_there(one) else range(size)
        return communicator_info(
            communicator_group(name, whole=size == world_size), name, ranks, event.at
        )

    def members(self, group: str) -> Mapping[int, LoggedRank]:
        """Return by rank what the members of a group logged, as far as they did."""
        one = self._held.get(_key(group))
        return {} if one is None else one.members

    def _drop(self, key: str) -> None:
        gone = self._held.pop(key, None)
        if gone is not None:
            self._members -= len(gone.members)


def _key(group: str) -> str:
    """Return what a communicator is named by, whether or not it was known to be that of all."""
    return group.partition(":")[2]


def _all_there(one: _LoggedCommunicator) -> bool:
    return len({member.communicator_rank for member in one.members.values()}) == one.size
