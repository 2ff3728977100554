"""Repeat offenders: devices, links, nodes, switches and storage that keep being named.

An incident counts for the entity that its first cause names, unless somebody said that this was
wrong; what is attached to a host counts for the host too.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from ...vocabulary import faults
from ..store.costs import Costs, Root

OffenderType = Literal["gpu", "nic", "host", "switch", "storage"]
TYPES: frozenset[str] = frozenset(get_args(OffenderType))
_ON_HOST = ("gpu", "nic", "process")


@dataclass(slots=True)
class Offender:
    """One entity and the incidents that name it, the newest onset first."""

    type: str
    id: str
    host: str | None
    record: list[Costs] = field(default_factory=list)

    @property
    def jobs(self) -> list[str]:
        """Return the jobs that it was named in."""
        return sorted({job for row in self.record for job in row.jobs})

    @property
    def faults(self) -> dict[str, int]:
        """Return how often each fault was named, the most frequent first."""
        return dict(Counter(row.fault for row in self.record).most_common())

    @property
    def gpu_seconds_lost(self) -> float:
        """Return what these incidents took."""
        return sum(row.gpu_seconds_lost for row in self.record)


def offenders(
    rows: Iterable[Costs],
    *,
    since: float | None = None,
    types: Sequence[str] = (),
    at_least: int = 2,
) -> list[Offender]:
    """Return who was named in at least so many incidents: most jobs first, then most incidents."""
    found: dict[tuple[str, str], Offender] = {}
    for row in sorted(rows, key=lambda row: (-row.opened_at, row.id)):
        if row.fault == faults.UNKNOWN or row.verdict == "wrong" or row.root is None:
            continue
        if since is not None and row.opened_at < since:
            continue
        for root in _charged(row.root):
            if types and root.type not in types:
                continue
            one = found.setdefault((root.type, root.id), Offender(root.type, root.id, root.host))
            one.record.append(row)
    repeated = [row for row in found.values() if len(row.record) >= at_least]
    return sorted(repeated, key=lambda row: (-len(row.jobs), -len(row.record), row.type, row.id))


def _charged(root: Root) -> list[Root]:
    charged = [root] if root.type in TYPES else []
    if root.type in _ON_HOST and root.host:
        charged.append(Root("host", root.host, root.host))
    return charged
