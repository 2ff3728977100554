"""The catalogue of causes: what each fault predicts, and what to do.

Its rows are those of vocabulary/faults/; what their keys mean, and the weights of the engine, stand
in catalogue.toml.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Annotated, Literal

from ...vocabulary import faults, findings, row_values, tables
from ...vocabulary.findings import Effect, Finding
from ...vocabulary.ids import Fault
from .calibration import ProbabilityCalibration
from .shares import IncidentShare, Shares

At = Literal["self", "ranks", "host", "job"]
FindingName = Annotated[str, row_values.KnownValues("kind of finding", findings.catalogue)]
FaultName = Annotated[Fault, row_values.KnownValues("fault", faults.catalogue)]

_HEAD = "catalogue.toml"
_LINE = "job.fault_logged"
_WORDS = frozenset(row_values.keys(faults.FaultKind)) - {"id"}
"""Keys of a row that the vocabulary reads."""


@cache
def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text)


def _compiled(text: str) -> str:
    try:
        _pattern(text)
    except re.error as error:
        raise ValueError(f"it is not a regular expression: {error}") from error
    return text


@dataclass(frozen=True, slots=True)
class PredictedFinding:
    """A finding that a fault predicts (or that contradicts it), where, and its weights in nats.

    `says`: a regular expression that its text must match: which line of a log, which exit code.
    `detail`: it says more of the cause where it is there; where no source could show it, it is not
    missed.
    """

    finding: FindingName
    at: At
    present: float
    absent: float = 0.0
    essential: bool = False
    any: str = ""
    detail: bool = False
    says: Annotated[str, row_values.WrittenAs(str, _compiled)] = ""

    def fits(self, found: Finding) -> bool:
        """Return whether a finding of its kind says what it wants."""
        return not self.says or bool(_pattern(self.says).search(found.text))


@dataclass(frozen=True, slots=True)
class CauseAdvice:
    """An action or a check, with {job} {host} {rank} {pid} {id} to be filled in.

    `minutes` is what a check costs a person, waiting included.
    """

    text: str
    command: str
    when: Literal["now", "investigate"] = "investigate"
    separates: tuple[FaultName, ...] = ()
    minutes: float = 5.0


@dataclass(frozen=True)
class CatalogueCause:
    """One entry of the catalogue; what follows from it alone is worked out once."""

    fault: FaultName = field(metadata={"key": "id"})
    share: float
    symptoms: tuple[FindingName, ...]
    predicts: tuple[PredictedFinding, ...]
    contradicts: tuple[PredictedFinding, ...]
    actions: tuple[CauseAdvice, ...]
    checks: tuple[CauseAdvice, ...]
    covers: tuple[FindingName, ...] = ()
    essential_any: tuple[str, ...] = ()
    """Words of `any`: of the predictions of each, at least one must be found."""
    only_ranks: tuple[int, ...] = ()
    """Ranks that a fault of ranks can be at; empty: any."""
    only_groups: tuple[str, ...] = ()
    """Kinds of groups that a fault of groups can be at; empty: any."""
    of_a_rack: bool = False
    """Hosts behind one leaf switch that have it together share its cause: power, cooling."""
    taken_for: tuple[FaultName, ...] = ()
    """What a device beside one that has it is taken for, until its own sign is reported."""
    first_taken_for: tuple[FaultName, ...] = ()
    """What its first occurrence is taken for: only its return in another attempt shows it."""
    ends_in: tuple[FaultName, ...] = ()
    """What it ends in at the same place: the end is no other cause."""
    gives_way: bool = False
    """It names no mechanism: it gives way to one that becomes visible at the same place."""
    over_without: tuple[FindingName, ...] = ()
    """Kinds of findings without which it is over, whatever else the incident still shows."""
    hangs_job: bool = False
    """It hangs the job: a stall that it explains for certain is no evaluation."""
    awaits_repair: bool = False
    """Its device does not come back by itself: it needs a reset, a reboot or a repair."""
    since_start: bool = False
    """Many hosts have it from the start of a job, at no cost: those are one root, however few."""
    of_a_change: bool = False
    """A change of code or settings brings it: jobs with the same described change share it."""
    passes: bool = False
    """A busy cluster has it for minutes, again and again: slight slowness waits for its cost."""
    learnt: IncidentShare | None = field(default=None, metadata={"key": ""})
    """Its share at this site, where people's feedback moved it."""

    def __post_init__(self) -> None:
        """Raise ValueError for words of `essential_any` that no prediction has."""
        words = {row.any for row in self.predicts}
        for word in self.essential_any:
            if word not in words:
                raise ValueError(
                    f"essential_any: no row of predicts has any = {word!r}; "
                    + row_values.nearest(word, sorted(words - {""}))
                )

    @property
    def runbook(self) -> str:
        """Return the path of its runbook in this repository."""
        return f"docs/runbooks/{self.fault}.md"

    @cached_property
    def essential_findings(self) -> frozenset[str]:
        """Return the findings that decide whether it is a candidate at all; empty for none."""
        return frozenset(
            row.finding for row in self.predicts if row.essential or row.any in self.essential_any
        )

    @cached_property
    def effects(self) -> frozenset[Effect]:
        """Return what it can do to a job: a line of a dead job's log that names it does nothing."""
        kinds = findings.catalogue()
        return frozenset(kinds[kind].effect for kind in self.symptoms if kind != _LINE)

    @cached_property
    def predicted_findings(self) -> frozenset[str]:
        """Return the findings that it predicts."""
        return frozenset(row.finding for row in self.predicts)

    @cached_property
    def shown_by(self) -> frozenset[str]:
        """Return the symptoms that it explains."""
        return frozenset(self.symptoms)

    @cached_property
    def predicts_by_absence(self) -> tuple[PredictedFinding, ...]:
        """Return what it predicts, first what is missed most."""
        return tuple(sorted(self.predicts, key=lambda row: row.absent))


@dataclass(frozen=True, slots=True)
class EngineWeights:
    """The engine's own constants, in nats where nothing else is said."""

    unknown_share: float
    least_share: float
    needed: float
    missing: float
    family_cap: float
    cover: float
    early: float
    together: float
    together_seconds: float
    late: float
    late_seconds: float
    prior: float = 1.0
    certain: float = 1.3
    unproven: float = -2.5
    unseen: float = -1.5
    ruled_out: float = -3.5


@dataclass(frozen=True, slots=True)
class _CatalogueHead:
    """What catalogue.toml holds beside the rows."""

    version: str
    weights: EngineWeights
    calibration: ProbabilityCalibration | None = None


@dataclass(frozen=True, slots=True)
class CauseCatalogue:
    """Every cause in order, the engine's constants, and the version that incidents name."""

    version: str
    weights: EngineWeights
    causes: tuple[CatalogueCause, ...]
    calibration: ProbabilityCalibration | None = None
    """None: scores are not probabilities."""

    def with_shares(self, shares: Shares) -> "CauseCatalogue":
        """Return the catalogue with these learnt shares beside its own."""
        causes = (replace(cause, learnt=shares(cause.fault)) for cause in self.causes)
        return replace(self, causes=tuple(causes))


@cache
def catalogue() -> CauseCatalogue:
    """Return the catalogue that ships with this version."""
    files = [f"{family}.toml" for family in faults.FAMILIES]
    causes = tables.joined(CatalogueCause, faults.__name__, files, "fault", others=_WORDS)
    package = __package__ or ""
    return _read(tables.text(package, _HEAD), tables.shown(package, _HEAD), causes)


def cause_of(fault: Fault) -> CatalogueCause | None:
    """Return the entry of a fault in the shipped catalogue, None for one that has none."""
    return _by_fault().get(fault)


@cache
def _by_fault() -> Mapping[Fault, CatalogueCause]:
    return {cause.fault: cause for cause in catalogue().causes}


def parse(head: str, rows: str) -> CauseCatalogue:
    """Return the catalogue of a text with the engine's constants and one with rows [[fault]]."""
    return _read(head, _HEAD, tables.rows(CatalogueCause, rows, "fault", others=_WORDS))


def _read(text: str, file: str, causes: Iterable[CatalogueCause]) -> CauseCatalogue:
    head = tables.row(_CatalogueHead, tables.parsed(text, file), file)
    return CauseCatalogue(head.version, head.weights, tuple(causes), head.calibration)
