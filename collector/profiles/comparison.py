"""What a suspect does in a step that its healthy peer does not: a table, and one line of text.

In a synchronous job both take the same time for a step. What differs is what they do in it: who is
late works, launches or has gaps for longer; who waits for it spends that time in collectives.
"""

from dataclasses import dataclass
from typing import Literal

from ...formats.chrome_trace import KINDS, TraceAmount
from .profile import JobProfile, RankProfile

MOST_NAMES = 8
_WORTH_SECONDS = 50e-6
"""A difference a step that is smaller is left out of the line of text and of the names."""
_LABELS = {
    "compute": "operators", "launches": "launches", "copies": "memory copies",
    "python": "Python functions",
}  # fmt: skip


Per = Literal["step", "second"]


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    """One line, per step (or second): how often, how many seconds; no `name`: all of a kind."""

    kind: str
    name: str
    suspect_count: float
    suspect_seconds: float
    peer_count: float
    peer_seconds: float

    @property
    def difference(self) -> float:
        """Return the seconds a step that the suspect spends more."""
        return self.suspect_seconds - self.peer_seconds


@dataclass(frozen=True, slots=True)
class ProfileComparison:
    """The table, and its most important lines as text.

    `per`: what its figures are of: a step, or a second where a trace does not count steps.
    """

    suspect: int
    peer: int
    rows: tuple[ComparisonRow, ...]
    text: str
    per: Per = "step"


def compared(profile: JobProfile) -> ProfileComparison | None:
    """Return what differs between the suspect and its peer; None without a trace of each."""
    suspect, peer = _part(profile, "suspect"), _part(profile, "peer")
    if suspect is None or peer is None or suspect.summary is None or peer.summary is None:
        return None
    nothing = TraceAmount()
    per: Per = "step" if suspect.steps and peer.steps else "second"
    units = (_units(suspect, per), _units(peer, per))
    kinds = [
        _row(units, kind, "", one, other)
        for kind in KINDS
        if (one := suspect.summary.kinds.get(kind, nothing)).count
        | (other := peer.summary.kinds.get(kind, nothing)).count
    ]
    # A name that only one of the two kept may be below the other's shortest, not absent.
    keys = suspect.summary.names.keys() | peer.summary.names.keys()
    names = [
        _row(
            units,
            *key,
            suspect.summary.names.get(key, nothing),
            peer.summary.names.get(key, nothing),
        )
        for key in keys
    ]
    names = [row for row in names if abs(row.difference) >= _WORTH_SECONDS]
    names.sort(key=lambda row: (-abs(row.difference), row.kind, row.name))
    rows = (*kinds, *names[:MOST_NAMES])
    text = _text(f"a {per} of rank {suspect.rank} against rank {peer.rank}", kinds, names)
    return ProfileComparison(suspect.rank, peer.rank, rows, text, per)


def _part(profile: JobProfile, role: str) -> RankProfile | None:
    """Return the first part of a role that has a trace of at least one step, or of Python."""
    return next(
        (
            row
            for row in profile.ranks
            if row.role == role
            and row.status == "complete"
            and (row.steps > 0 or (row.summary is not None and "python" in row.summary.kinds))
        ),
        None,
    )


def _row(
    units: tuple[float, float], kind: str, name: str, one: TraceAmount, other: TraceAmount
) -> ComparisonRow:
    return ComparisonRow(
        kind=kind,
        name=name,
        suspect_count=one.count / units[0],
        suspect_seconds=one.seconds / units[0],
        peer_count=other.count / units[1],
        peer_seconds=other.seconds / units[1],
    )


def _units(part: RankProfile, per: Per) -> float:
    """Return how many steps, or seconds, a trace holds."""
    if per == "step":
        return float(part.steps)
    seconds = part.summary.seconds if part.summary is not None else 0.0
    return seconds or 1.0


def _text(head: str, kinds: list[ComparisonRow], names: list[ComparisonRow]) -> str:
    more = sorted(
        (row for row in kinds if row.difference >= _WORTH_SECONDS),
        key=lambda row: -row.difference,
    )
    if not more:
        return f"{head}: nothing takes longer"
    parts = [f"{_label(row.kind)} {_milliseconds(row.difference)}" for row in more[:3]]
    longest = next((row for row in names if row.difference > 0), None)
    if longest is not None:
        parts.append(f"most in {longest.name} {_milliseconds(longest.difference)}")
    return f"{head}: {', '.join(parts)}"


def _label(kind: str) -> str:
    return _LABELS.get(kind, kind)


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:+.3g} ms"
