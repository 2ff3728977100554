"""How a detector makes a finding: what differs is named, what follows from the window is not."""

from collections.abc import Iterable

from ..vocabulary.entities import Entity
from ..vocabulary.findings import Finding
from ..vocabulary.ranks import RankSet
from ..vocabulary.samples import Event
from .window import JobWindow

INFORMATION = 0.9
"""The score of a symptom that is worth knowing and pages nobody (alerts/severity.py)."""

_MOST_TEXT = 160
"""Characters of a line that a finding quotes."""


def report(
    window: JobWindow,
    detector: str,
    kind: str,
    entity: Entity,
    *,
    onset: float | tuple[float, float],
    text: str,
    signal: str,
    magnitude: float = 1.0,
    score: float = 3.0,
    observed: float | str | None = None,
    expected: float | str | None = None,
    seen: tuple[float, float] | None = None,
    ranks: Iterable[int] | None = None,
) -> Finding:
    """Return a finding about this window's job.

    onset: when it began, or the interval in which it did (seconds since the epoch). seen: the time
    range that was evaluated; from the onset to now where nothing else is said. ranks: those that
    stand out; the ones placed on the entity where nothing else is said, none for a job.
    """
    first, last = (onset, onset) if isinstance(onset, (int, float)) else onset
    if ranks is None:
        ranks = () if entity.type in ("job", "code") else entity.ranks
    return Finding(
        kind=kind,
        job=window.job,
        attempt=window.attempt,
        entity=entity,
        onset=(float(first), float(last)),
        magnitude=float(magnitude),
        score=float(score),
        detector=detector,
        signal=signal,
        window=seen or (float(first), max(window.now, float(first))),
        observed=observed,
        expected=expected,
        text=text,
        ranks=RankSet(ranks),
    )


def report_event(
    window: JobWindow,
    detector: str,
    kind: str,
    entity: Entity,
    event: Event,
    *,
    text: str,
    observed: float | str,
    score: float = 3.0,
    ranks: Iterable[int] | None = None,
) -> Finding:
    """Return a finding that one event makes: of its time, and evaluated at no other."""
    return report(
        window,
        detector,
        kind,
        entity,
        onset=event.at,
        seen=(event.at, event.at),
        signal=event.name,
        score=score,
        observed=observed,
        text=text,
        ranks=ranks,
    )


def first_line(text: object) -> str:
    """Return the first line of an event's text as a finding quotes it, "" where it has none."""
    lines = str(text or "").strip().splitlines()
    return lines[0][:_MOST_TEXT] if lines else ""
