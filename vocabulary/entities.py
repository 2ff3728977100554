"""What can be at fault: jobs, ranks, devices, hosts, ports, switches, processes and more."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Annotated, Literal, get_args

from .ranks import RankSet
from .shapes import DocumentShape, JsonType

EntityType = Literal[
    "job", "rank", "gpu", "host", "nic", "switch", "group", "process", "storage", "code"
]
ENTITY_TYPES: tuple[EntityType, ...] = get_args(EntityType)

UNNAMED_HOST = "unnamed-host"
"""Stands for the host of what nothing says where it was."""

_RANKS = {
    "anyOf": [
        {"type": "integer", "minimum": 0},
        # Many ranks are written as runs: first-last, and :stride where it is not 1.
        {"type": "string", "pattern": "^[0-9]+-[0-9]+(:[0-9]+)?$"},
    ]
}
WrittenRanks = Annotated[RankSet, JsonType({"type": "array", "items": _RANKS}, RankSet.document)]
"""Ranks as a document lists them."""


@dataclass(frozen=True, slots=True, order=True)
class Entity(DocumentShape):
    """One thing that an incident points at.

    `ranks` are numbers and, beyond a few of them, ranges "0-1016:8" (both ends included, with a
    stride where it is not 1).
    """

    # The functions below write the id of each type; `ranks` are the global ranks placed on it.

    type: EntityType
    id: str
    host: str | None = None
    ranks: WrittenRanks = field(default_factory=RankSet)

    def __str__(self) -> str:
        """Return the words a person would use: `rank 3 on gpu-12`, `host gpu-12`."""
        if self.host and self.type not in ("host", "nic", "process"):
            return f"{self.type} {self.id} on {self.host}"
        return f"{self.type} {self.id}"


def job(job_id: str, ranks: Iterable[int] = ()) -> Entity:
    return Entity("job", job_id, None, RankSet(ranks))


def rank(number: int, host: str | None = None) -> Entity:
    """Return a rank as an entity; its id is its global number."""
    return Entity("rank", str(number), host, RankSet((number,)))


def host(name: str, ranks: Iterable[int] = ()) -> Entity:
    return Entity("host", name, name, RankSet(ranks))


def gpu(hw_id: str, host_name: str | None, ranks: Iterable[int] = ()) -> Entity:
    """Return a device as an entity; its id is its `hw.id`."""
    return Entity("gpu", hw_id, host_name, RankSet(ranks))


def process(host_name: str, pid: int, ranks: Iterable[int] = ()) -> Entity:
    """Return a process as an entity; its id is host and pid."""
    return Entity("process", f"{host_name}:{pid}", host_name, RankSet(ranks))
