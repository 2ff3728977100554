"""Repeat offenders: devices, links, nodes, switches and storage that keep being named.

An incident counts for the entity that its first cause names; where somebody said that this was
wrong it counts for the entity that they named instead, if any. What is attached to a host counts
for the host too.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from ...vocabulary import faults
from ..store.costs import CauseRoot, IncidentCosts

OffenderType = Literal["gpu", "nic", "host", "switch", "storage"]
TYPES: frozenset[str] = frozenset(get_args(OffenderType))
_ON_HOST = ("gpu", "nic", "process")


@dataclass(slots=True)
class OffenderRecord:
    """One entity and the incidents that name it, the newest onset first."""

    type: str
    id: str
    host: str | None
    record: list[IncidentCosts] = field(default_factory=list)

    @property
    def jobs(self) -> list[str]:
        return sorted({job for row in self.record for job in row.jobs})

    @property
    def faults(self) -> dict[str, int]:
        """Return how often each fault was named, the most frequent first."""
        named = (
            row.really if row.verdict == "wrong" and row.really else row.fault
            for row in self.record
        )
        return dict(Counter(named).most_common())

    @property
    def gpu_seconds_lost(self) -> float:
        """Return what these incidents took."""
        return sum(row.gpu_seconds_lost for row in self.record)


def offenders(
    rows: Iterable[IncidentCosts],
    *,
    since: float | None = None,
    types: Sequence[str] = (),
    at_least: int = 2,
) -> list[OffenderRecord]:
    """Return who was named in at least so many incidents: most jobs first, then most incidents."""
    found: dict[tuple[str, str], OffenderRecord] = {}
    for row in sorted(rows, key=lambda row: (-row.opened_at, row.id)):
        entity = at_fault(row)
        if entity is None or (since is not None and row.opened_at < since):
            continue
        for root in _charged(entity):
            if types and root.type not in types:
                continue
            one = found.setdefault(
                (root.type, root.id), OffenderRecord(root.type, root.id, root.host)
            )
            one.record.append(row)
    repeated = [row for row in found.values() if len(row.record) >= at_least]
    return sorted(repeated, key=lambda row: (-len(row.jobs), -len(row.record), row.type, row.id))


def at_fault(row: IncidentCosts) -> CauseRoot | None:
    """Return the entity that an incident counts for: a person's word is worth more than ours."""
    if row.named is not None and row.verdict != "unsure":
        return row.named
    return None if row.verdict == "wrong" or row.fault == faults.UNKNOWN else row.root


def _charged(root: CauseRoot) -> list[CauseRoot]:
    charged = [root] if root.type in TYPES else []
    if root.type in _ON_HOST and root.host:
        charged.append(CauseRoot("host", root.host, root.host))
    return charged
