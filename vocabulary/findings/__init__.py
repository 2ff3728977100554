"""What a detector reports: a finding about one entity, and the kinds of findings there are.

The kinds stand in the TOML files beside, one for each family of detectors.

In: one table a family of detectors. Out: every kind of finding by name, and the record of one.
Imports: entities, events, ids, metrics, ranks, row_values, tables.
"""

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import cache
from typing import Annotated, Literal

from .. import events, metrics, row_values, tables
from ..entities import Entity, EntityType
from ..ids import Job
from ..ranks import RankSet

Effect = Literal["stops", "corrupts", "slows", "none"]
"""What a symptom does to its job: no step ends, steps end but are worth nothing, steps are long."""
EFFECTS: tuple[Effect, ...] = ("stops", "corrupts", "slows", "none")
"""From the one that costs most."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a detector found in one window.

    `onset` is the interval (seconds since the epoch) in which it began; `window` the
    time range that was looked at. `magnitude` is the size of the effect in the kind's own terms (a
    ratio, seconds, a count); `score` how far it stands out, >= 0, 1 being just enough to report; a
    symptom below 1 is worth knowing and pages nobody.
    `ranks` are those that stand out in a symptom, whatever its entity; empty where none does.
    `claimed`: it rests on events alone whose senders nobody could check.
    """

    kind: str
    job: Job | None
    attempt: int
    entity: Entity
    onset: tuple[float, float]
    magnitude: float
    score: float
    detector: str
    signal: str
    window: tuple[float, float]
    observed: float | str | None
    expected: float | str | None
    text: str
    ranks: RankSet = field(default_factory=RankSet)
    claimed: bool = False


FAMILIES = (
    "balance", "efficiency", "hardware", "liveness", "memory", "numbers", "outliers", "speed",
)  # fmt: skip
"""The files beside: those of one family of detectors each."""


def _signals() -> AbstractSet[str]:
    return metrics.catalogue().keys() | events.catalogue().keys()


def _together(sets: tuple[str, ...]) -> tuple[frozenset[str], ...]:
    """Read `"a + b"`: both are needed."""
    return tuple(frozenset(names.split(" + ")) for names in sets)


Signal = Annotated[str, row_values.KnownValues("metric or event", _signals)]
SignalSets = Annotated[tuple[frozenset[str], ...], row_values.WrittenAs(tuple[str, ...], _together)]


@dataclass(frozen=True, slots=True)
class FindingKind:
    """One kind of finding. `symptom`: it opens an incident; otherwise it is evidence for causes.

    Findings of one `family` are signs of one physical thing and count once. `signals` are the
    metrics or events that it needs: without any of them it cannot be observed. `shown_by`: where
    one alone is not enough, the sets of them that are. `effect`: what a symptom does to its job.
    `slowdown`: its magnitude is how many times as long as they should the job's steps take, so that
    it measures what is lost; a count of links or flaps does not. `asks_from`: the score from which
    on a symptom asks somebody for an action of its own, or has a horizon, whatever it costs by
    now: then it is an incident; None: while it has no effect it is an observation. `timing`: it
    says whose time is longer and not why, so that whatever slows those ranks brings it about.
    """

    kind: str
    family: str
    symptom: bool
    entities: tuple[EntityType, ...]
    signals: tuple[Signal, ...]
    help: str
    effect: Effect = "none"
    slowdown: bool = False
    asks_from: float | None = None
    timing: bool = False
    shown_by: SignalSets = ()

    def observable(self, reported: AbstractSet[str]) -> bool:
        """Return whether it can be observed where these metrics and events are reported."""
        if self.shown_by:
            return any(wanted <= reported for wanted in self.shown_by)
        return not reported.isdisjoint(self.signals)

    def sources(self) -> str:
        """Return what it needs in words."""
        ways = (" with ".join(sorted(wanted)) for wanted in self.shown_by)
        return " or ".join(ways if self.shown_by else self.signals)


def catalogue() -> Mapping[str, FindingKind]:
    """Return every kind of finding by name."""
    return _kinds()


def add(kinds: Iterable[FindingKind]) -> None:
    """Add kinds of an outside detector; ValueError where a name is taken by another kind."""
    for kind in kinds:
        if _kinds().setdefault(kind.kind, kind) != kind:
            raise ValueError(f"the kind of finding {kind.kind} exists and is another")


@cache
def _kinds() -> dict[str, FindingKind]:
    files = [f"{family}.toml" for family in FAMILIES]
    return {row.kind: row for row in tables.joined(FindingKind, __name__, files, "finding")}
