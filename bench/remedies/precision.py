"""Which actions were right, and why the others were not: each held against what was true.

Right is an action that found, when it took hold, the very thing that it was for: a fault of the
node that it took out, a stuck process of the job that it restarted. What went a moment before is
wrong here, though nobody could have known. Of what did not help it is said what the job lacked.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rankscope.collector.store.remedy_rows import RemedyRecord
from rankscope.vocabulary.remedies import EXCLUDING

from .cluster import NO_NODE, STARTING, TrialCluster, TrialEffect


@dataclass(frozen=True, slots=True)
class ActionTruth:
    """An action that changed something.

    `late_seconds`: how long its reason was gone when it took hold; None: it never was there.
    `unhelped`: why the job did not recover, "" where it did or nobody could tell.
    """

    id: str
    what: str
    late_seconds: float | None
    outcome: str | None
    unhelped: str

    @property
    def right(self) -> bool:
        """Return whether its reason was there when it took hold."""
        return self.late_seconds == 0.0


def truths(
    cluster: TrialCluster, rows: Sequence[RemedyRecord], lied: set[str]
) -> Iterator[ActionTruth]:
    """Yield each action that changed the cluster, and those that an executor lied about."""
    for row in rows:
        effects = [
            effect
            for effect in cluster.effects
            if effect.action == row.id and effect.kind != "resume"
        ]
        if effects or row.id in lied:
            yield ActionTruth(
                id=row.id,
                what=f"{row.action} of {row.host or row.job} for {row.fault}",
                late_seconds=_late(cluster, row, effects) if effects else 0.0,
                outcome=row.outcome,
                unhelped=_unhelped(cluster, row, row.id in lied),
            )


def _late(cluster: TrialCluster, row: RemedyRecord, effects: Sequence[TrialEffect]) -> float | None:
    at = effects[0].at
    ills = cluster.ills.get(_target(row), [])
    before = bisect_right(ills, at)
    return at - ills[before - 1] if before else None


def _target(row: RemedyRecord) -> str:
    return str(row.host) if row.action in EXCLUDING else row.job


def _unhelped(cluster: TrialCluster, row: RemedyRecord, lied: bool) -> str:  # noqa: FBT001
    if row.outcome != "not_recovered" or row.ended_at is None or row.outcome_at is None:
        return ""
    if lied:
        return "its executor said done and did nothing"
    reasons = cluster.jobs[row.job].reasons
    held = [names for at, names in reasons.items() if row.ended_at < at <= row.outcome_at]
    last = held[-1] if held else frozenset[str]()
    if row.host is not None and row.action in EXCLUDING and row.host in last:
        return "the job runs on the node that was taken out"
    if NO_NODE in last:
        return "no node is free for the job"
    if last - {STARTING}:
        return "another fault of the job holds it"
    lasted = sum(1 for names in held if names)
    return f"other faults or starts took {lasted} of {len(held)} ticks since" if lasted else "?"
