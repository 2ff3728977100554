"""What was found, indexed once by kind, entity, host and rank: no candidate scans it all."""

from collections.abc import Callable, Iterable, Sequence

from ...vocabulary import findings as kinds
from ...vocabulary.entities import Entity, EntityType
from ...vocabulary.findings import Finding
from ...vocabulary.topology import JobTopology
from .catalogue import PredictedFinding

AsType = Callable[[Entity, EntityType, JobTopology], Iterable[Entity]]
"""Gives what an entity means as another type."""

WIDE = 64
"""Findings about more ranks than this are looked at one by one; there are few of them."""


class FindingIndex:
    """The findings of one job at one second, in an order of their own."""

    def __init__(self, findings: Iterable[Finding], topology: JobTopology) -> None:
        self.findings = tuple(sorted(findings, key=_order))
        self.symptoms = tuple(f for f in self.findings if kinds.catalogue()[f.kind].symptom)
        self._topology = topology
        self._by_kind: dict[str, list[Finding]] = {}
        self._by_entity: dict[tuple[str, str, str], list[Finding]] = {}
        self._by_host: dict[tuple[str, str], list[Finding]] = {}
        self._by_rank: dict[tuple[str, int], list[Finding]] = {}
        self._wide: dict[str, list[Finding]] = {}
        self._affected: dict[str, frozenset[int]] = {}
        self._meant: dict[tuple[int, str], tuple[Entity, ...]] = {}
        for finding in self.findings:
            kind, entity = finding.kind, finding.entity
            self._by_kind.setdefault(kind, []).append(finding)
            self._by_entity.setdefault((kind, entity.type, entity.id), []).append(finding)
            host = topology.host_of_entity(entity)
            if host is not None:
                self._by_host.setdefault((kind, host), []).append(finding)
            if len(entity.ranks) > WIDE:
                self._wide.setdefault(kind, []).append(finding)
                continue
            for rank in entity.ranks:
                self._by_rank.setdefault((kind, rank), []).append(finding)

    def __contains__(self, kind: object) -> bool:
        return kind in self._by_kind

    def of_kind(self, kind: str) -> Sequence[Finding]:
        return self._by_kind.get(kind, ())

    def affected(self, kind: str) -> frozenset[int]:
        """Return the ranks on which something of a kind was found."""
        if kind not in self._affected:
            ranks = (rank for found in self.of_kind(kind) for rank in found.entity.ranks)
            self._affected[kind] = frozenset(ranks)
        return self._affected[kind]

    def meant(self, finding: Finding, kind: EntityType, as_type: AsType) -> tuple[Entity, ...]:
        """Return what the entity of one of the findings means as another type; found out once."""
        key = (id(finding), kind)
        found = self._meant.get(key)
        if found is None:
            found = self._meant[key] = tuple(as_type(finding.entity, kind, self._topology))
        return found

    def related(self, prediction: PredictedFinding, entity: Entity) -> Sequence[Finding]:
        """Return the findings of the predicted kind where the prediction expects them."""
        if prediction.finding not in self._by_kind:
            return ()
        found = self._placed(prediction, entity)
        return [row for row in found if prediction.fits(row)] if prediction.says else found

    def _placed(self, prediction: PredictedFinding, entity: Entity) -> Sequence[Finding]:
        kind = prediction.finding
        if prediction.at == "job":
            return self._by_kind[kind]
        if prediction.at == "host":
            host = self._topology.host_of_entity(entity)
            return () if host is None else self._by_host.get((kind, host), ())
        if prediction.at == "ranks":
            return self._on_ranks(kind, entity)
        return self._by_entity.get((kind, entity.type, entity.id), ())

    def _on_ranks(self, kind: str, entity: Entity) -> Sequence[Finding]:
        ranks, there = entity.ranks, self._by_kind[kind]
        if len(ranks) > len(there):
            return [
                f for f in there if f.entity == entity or any(r in ranks for r in f.entity.ranks)
            ]
        found = {
            id(match): match for rank in ranks for match in self._by_rank.get((kind, rank), ())
        }
        for match in self._by_entity.get((kind, entity.type, entity.id), ()):
            found[id(match)] = match
        for match in self._wide.get(kind, ()):
            if any(rank in match.entity.ranks for rank in ranks):
                found[id(match)] = match
        return list(found.values())


def strongest(matches: Sequence[Finding]) -> Finding:
    """Return the one that stands out most; of equals always the same, whatever their order."""
    return max(matches, key=lambda match: (match.score, match.entity, match.window, match.text))


def _order(finding: Finding) -> tuple[object, ...]:
    entity = finding.entity
    return (finding.kind, entity.type, entity.id, finding.onset, finding.score, finding.text)
