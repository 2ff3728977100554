"""Which job an answer of NCCL is about, and which rank of it each process is.

NCCL knows a process by its host and pid and numbers it within each communicator. The communicator
of the whole job numbers it as the job does; processes of this node, whose ranks are known from
their environment, show which communicator that is.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ...formats.nccl.ras import RasCommunicator
from ..rank_processes import RankProcess

Process = tuple[str, int]
"""Host and pid as NCCL writes them."""


@dataclass(frozen=True, slots=True)
class LocalAttempt:
    """The attempt that an answer is about: ranks by process, and its processes of this node."""

    processes: Sequence[RankProcess]
    world: RasCommunicator | None
    rank_of: Mapping[Process, int]
    local: frozenset[int]

    @property
    def world_size(self) -> int:
        """Return how many ranks the job has."""
        return self.processes[0].world_size


def placed(
    communicators: Sequence[RasCommunicator], processes_here: Iterable[RankProcess]
) -> LocalAttempt | None:
    """Return whose answer it is, None where no process of this node is in it.

    On a node of two jobs either may answer under the one port.
    """
    attempts: dict[object, list[RankProcess]] = {}
    for one in processes_here:
        attempts.setdefault(one.of, []).append(one)
    for processes in attempts.values():
        size = processes[0].world_size
        of_size = [one for one in communicators if one.size == size]
        only = len(attempts) == 1
        world = next((one for one in of_size if _numbers_alike(one, processes, only=only)), None)
        if world is not None:
            ranks = {(place.host, place.pid): rank for rank, place in world.places.items()}
            return LocalAttempt(processes, world, ranks, frozenset(one.rank for one in processes))
    for processes in attempts.values():
        ranks = _here(communicators, processes)
        if ranks:
            return LocalAttempt(processes, None, ranks, frozenset(one.rank for one in processes))
    return None


def _numbers_alike(world: RasCommunicator, processes: Sequence[RankProcess], *, only: bool) -> bool:
    """Tell whether the processes of this node have their ranks in a communicator.

    The text form lists few of its ranks: there it is enough that none contradicts, and that this is
    the `only` job here.
    """
    own: dict[int, set[int]] = {}
    for one in processes:
        own.setdefault(one.rank, set()).add(one.own_pid)
    there = {rank: place.pid for rank in own if (place := world.places.get(rank)) is not None}
    if not there:
        return only and len(world.places) < world.size
    return all(pid in own[rank] for rank, pid in there.items())


def _here(
    communicators: Sequence[RasCommunicator], processes: Sequence[RankProcess]
) -> dict[Process, int]:
    """Return ranks by process of this node alone: of one host whose pids are all ours."""
    own = {one.own_pid: one.rank for one in processes}
    pids: dict[str, set[int]] = {}
    for one in communicators:
        for place in one.places.values():
            pids.setdefault(place.host, set()).add(place.pid)
    for host, members in sorted(pids.items()):
        if members and members <= own.keys():
            return {(host, pid): own[pid] for pid in members}
    return {}
