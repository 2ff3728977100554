"""What can be at fault: jobs, ranks, devices, hosts, ports, switches, processes and more."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from .ranks import Ranks

EntityType = Literal[
    "job", "rank", "gpu", "host", "nic", "switch", "group", "process", "storage", "code"
]
ENTITY_TYPES: tuple[EntityType, ...] = get_args(EntityType)


@dataclass(frozen=True, slots=True, order=True)
class Entity:
    """One thing an incident can point at; functions below write the id of each type.

    `ranks` are the global ranks placed on it; `host` is None where there is none.
    """

    type: EntityType
    id: str
    host: str | None = None
    ranks: Ranks = field(default_factory=Ranks)

    def document(self) -> dict[str, Any]:
        """Return the entity as the incident document shows it."""
        return {"type": self.type, "id": self.id, "host": self.host, "ranks": self.ranks.document()}

    def __str__(self) -> str:
        """Return the words a person would use: `rank 3 on gpu-12`, `host gpu-12`."""
        if self.host and self.type not in ("host", "nic", "process"):
            return f"{self.type} {self.id} on {self.host}"
        return f"{self.type} {self.id}"


def job(job_id: str, ranks: Iterable[int] = ()) -> Entity:
    """Return the job as an entity."""
    return Entity("job", job_id, None, Ranks(ranks))


def rank(number: int, host: str | None = None) -> Entity:
    """Return a rank as an entity; its id is its global number."""
    return Entity("rank", str(number), host, Ranks((number,)))


def host(name: str, ranks: Iterable[int] = ()) -> Entity:
    """Return a host as an entity."""
    return Entity("host", name, name, Ranks(ranks))


def gpu(hw_id: str, host_name: str | None, ranks: Iterable[int] = ()) -> Entity:
    """Return a device as an entity; its id is its `hw.id`."""
    return Entity("gpu", hw_id, host_name, Ranks(ranks))


def process(host_name: str, pid: int, ranks: Iterable[int] = ()) -> Entity:
    """Return a process as an entity; its id is host and pid."""
    return Entity("process", f"{host_name}:{pid}", host_name, Ranks(ranks))
