"""The part of the cluster that an explanation needs: who runs where, and what could be observed.

Made by the pipeline from a job window; alerts knows nothing of windows or detectors.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ...vocabulary import findings as kinds
from ...vocabulary.entities import Entity
from ...vocabulary.ranks import Ranks


@dataclass(frozen=True, slots=True)
class Places:
    """One job attempt's layout.

    hosts: host entity by name. rank_hosts: host name by rank. devices: gpu entity by rank. pids: by
    rank. observed: names of the metrics and events that somebody of the job reports.
    """

    job: Entity
    hosts: Mapping[str, Entity] = field(default_factory=dict)
    rank_hosts: Mapping[int, str] = field(default_factory=dict)
    devices: Mapping[int, Entity] = field(default_factory=dict)
    pids: Mapping[int, int] = field(default_factory=dict)
    observed: frozenset[str] = frozenset()
    clock_skew: float = 0.0

    def observable(self, kind: str) -> bool:
        """Tell whether the data could show findings of a kind."""
        return any(signal in self.observed for signal in kinds.catalogue()[kind].signals)

    def rank_entity(self, rank: int) -> Entity:
        """Return a rank with its host."""
        return Entity("rank", str(rank), self.rank_hosts.get(rank), Ranks((rank,)))

    def host_of(self, entity: Entity) -> str | None:
        """Return the host that an entity is, or runs on."""
        if entity.host is not None:
            return entity.host
        hosts = {self.rank_hosts[rank] for rank in entity.ranks if rank in self.rank_hosts}
        return hosts.pop() if len(hosts) == 1 else None
