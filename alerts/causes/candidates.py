"""Which entities may be at fault: what the evidence of a cause touches, up to the leaf switch.

Bounded: of many candidates of one cause only those with most support are scored.
"""

from collections.abc import Collection, Iterator

from ...vocabulary import faults
from ...vocabulary.entities import Entity, EntityType
from ...vocabulary.ranks import RankSet
from ...vocabulary.topology import JobTopology
from . import active
from .catalogue import CatalogueCause
from .index import FindingIndex

MOST_CANDIDATES = 64
"""Entities scored for one cause."""

MOST_POSSIBLE = 8
"""Entities scored for one cause whose essential evidence was not found."""


def candidates(cause: CatalogueCause, index: FindingIndex) -> list[Entity]:
    """Return the entities that the predicted findings touch, of the types the fault points at.

    Findings that are essential for the cause choose alone. In order of the entities.
    """
    predicted = cause.essential_findings or cause.predicted_findings
    found = _touched(cause, predicted, index, MOST_CANDIDATES)
    checked = active.proven(cause, index)
    if not checked:
        return found
    # A check is of a device or a host, and says where of the job it is.
    entities = faults.catalogue()[cause.fault].entities
    types: list[EntityType] = [wanted for wanted in entities if wanted != "job"]
    more = {e for row in checked for wanted in types for e in index.meant(row, wanted, _as_type)}
    return sorted({*found, *more})[:MOST_CANDIDATES]


class PossiblePlaces:
    """Where causes may be whose essential evidence was not found, `near` the entity looked at."""

    def __init__(self, near: Entity, index: FindingIndex, topology: JobTopology) -> None:
        self._index, self._topology = index, topology
        self._here = [near, *topology.as_type(near, "rank")]
        self._meant: dict[EntityType, list[Entity]] = {}

    def of(self, cause: CatalogueCause) -> list[Entity]:
        """Return the entities that a cause may be at.

        Those that `near` means as the types the fault points at, and the few that most of what it
        predicts touches.
        """
        found = _touched(cause, cause.predicted_findings, self._index, MOST_POSSIBLE)
        for wanted in faults.catalogue()[cause.fault].entities:
            found += [entity for entity in self._as(wanted) if entity not in found]
        return [
            e
            for e in found
            if (not cause.only_ranks or set(e.ranks) <= set(cause.only_ranks))
            and (
                e.type != "group"
                or not cause.only_groups
                or e.id.split(":")[0] in cause.only_groups
            )
        ]

    def _as(self, wanted: EntityType) -> list[Entity]:
        """Return what `near` means as another type, each once."""
        found = self._meant.get(wanted)
        if found is None:
            found = self._meant[wanted] = []
            for start in self._here:
                found += [e for e in _as_type(start, wanted, self._topology) if e not in found]
        return found


def _touched(
    cause: CatalogueCause,
    predicted: Collection[str],
    index: FindingIndex,
    most: int,
) -> list[Entity]:
    """Return the entities that findings of these kinds touch, those with most support."""
    support: dict[Entity, float] = {}
    types = faults.catalogue()[cause.fault].entities
    for kind in sorted(kind for kind in predicted if kind in index):
        for finding in index.of_kind(kind):
            for wanted in types:
                for entity in index.meant(finding, wanted, _as_type):
                    support[entity] = support.get(entity, 0.0) + finding.score
    found = [e for e in support if not cause.only_ranks or set(e.ranks) <= set(cause.only_ranks)]
    if len(found) > most:
        found.sort(key=lambda entity: (-support[entity], entity))
        del found[most:]
    return sorted(found)


def _as_type(entity: Entity, wanted: EntityType, topology: JobTopology) -> Iterator[Entity]:
    if wanted == "nic" and entity.type in ("host", "gpu", "rank"):
        host = topology.host_of_entity(entity)
        for nic in topology.nics_of_host.get(host or "", ()):
            if (found := topology.nic_entity(nic)).ranks:
                yield found
    elif wanted == "storage" and entity.type in ("host", "rank"):
        host = topology.host_of_entity(entity)
        for mount, hosts in topology.mounts.items():
            if host in hosts:
                ranks = (rank for name in hosts for rank in topology.ranks_of_host(name))
                yield Entity("storage", mount, None, RankSet(ranks))
    elif wanted == "group" and entity.type == "rank":
        for group in topology.groups:
            if int(entity.id) in group.ranks:
                yield group.entity
    else:
        yield from topology.as_type(entity, wanted)
