"""The correlator: which incident has each root that jobs of several partitions may blame."""

from dataclasses import dataclass, field

from ...vocabulary.ids import IncidentId
from .messages import ClaimAnswer, RootClaim

VALID_SECONDS = 120.0
"""A root is free when the incident that has it has not claimed it for so long."""

TOGETHER_SECONDS = 300.0
"""Hosts of one rack whose symptoms began further apart than this have causes of their own."""

RACK = "rack"
"""How the roots begin whose incidents must also begin together."""


@dataclass(slots=True)
class _ClaimedRoot:
    incident: IncidentId
    partition: int
    onset: float
    seen: float
    quiet: bool = False
    """A person has resolved the incident; while others blame the root they stay folded."""


@dataclass(slots=True)
class SharedRoots:
    """The roots by name. Whoever claims first has one."""

    held: dict[str, _ClaimedRoot] = field(default_factory=dict)
    _last: dict[tuple[IncidentId, str], float] = field(default_factory=dict)
    """When each incident last claimed a root, as it said: what is older comes a second time."""
    _gone: dict[tuple[IncidentId, str], float] = field(default_factory=dict)
    """Incidents that have let go of a root: others may still say that they are folded into one."""

    def claim(self, claim: RootClaim, now: float) -> ClaimAnswer | None:
        """Take a claim received at `now`; return the answer, None where it needs none."""
        name = claim.incident, claim.root
        if claim.at <= self._last.get(name, float("-inf")):
            return None
        self._forget(now)
        self._last[name] = claim.at
        row = self.held.get(claim.root)
        if claim.ended:
            if row is not None and row.incident == claim.incident:
                row.quiet = claim.by_person
                if not claim.by_person:
                    self._free(claim.root, now)
            return None
        self._gone.pop(name, None)
        if row is None and claim.into is not None and (claim.into, claim.root) not in self._gone:
            # This correlator began without what an earlier one has decided.
            row = _ClaimedRoot(claim.into, claim.into_partition, claim.onset, now)
            self.held[claim.root] = row
        if row is not None and _apart(row, claim):
            return ClaimAnswer(claim.incident, claim.root, claim.incident, claim.partition)
        if row is None:
            row = _ClaimedRoot(claim.incident, claim.partition, claim.onset, now)
            self.held[claim.root] = row
        if row.incident == claim.incident:
            row.quiet = False
        if row.incident == claim.incident or row.quiet:
            row.seen = now
        return ClaimAnswer(claim.incident, claim.root, row.incident, row.partition)

    def _forget(self, now: float) -> None:
        oldest = now - VALID_SECONDS
        for root in [root for root, row in self.held.items() if row.seen < oldest]:
            self._free(root, now)
        self._last = {name: at for name, at in self._last.items() if at >= oldest}
        self._gone = {name: at for name, at in self._gone.items() if at >= oldest}

    def _free(self, root: str, now: float) -> None:
        self._gone[self.held.pop(root).incident, root] = now


def _apart(row: _ClaimedRoot, claim: RootClaim) -> bool:
    """Return whether a claim is about something else than the incident that has the root."""
    if row.incident == claim.incident or not claim.root.startswith(f"{RACK}\0"):
        return False
    return abs(row.onset - claim.onset) > TOGETHER_SECONDS
