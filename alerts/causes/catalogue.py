"""The catalogue of causes, read from faults/*.toml: what each fault predicts, and what to do.

The keys of a row and the weights of the engine stand in catalogue.toml.
"""

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Any, Literal, cast

from ...vocabulary import tables
from ...vocabulary.findings import Finding
from ...vocabulary.ids import Fault
from .calibration import Calibration
from .shares import Share, Shares

At = Literal["self", "ranks", "host", "job"]


@cache
def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text)


@dataclass(frozen=True, slots=True)
class Prediction:
    """A finding that a fault predicts (or that contradicts it), where, and its weights in nats.

    `says`: a regular expression that its text must match: which line of a log, which exit code.
    """

    finding: str
    at: At
    present: float
    absent: float = 0.0
    essential: bool = False
    any: str = ""
    says: str = ""

    def fits(self, found: Finding) -> bool:
        """Return whether a finding of its kind says what it wants."""
        return not self.says or bool(_pattern(self.says).search(found.text))


@dataclass(frozen=True, slots=True)
class Advice:
    """An action or a check, with {host} {rank} {pid} {id} to be filled in.

    `minutes` is what a check costs a person, waiting included.
    """

    text: str
    command: str
    when: Literal["now", "investigate"] = "investigate"
    separates: tuple[Fault, ...] = ()
    minutes: float = 5.0


@dataclass(frozen=True, slots=True)
class Cause:
    """One entry of the catalogue."""

    fault: Fault
    share: float
    symptoms: tuple[str, ...]
    covers: tuple[str, ...]
    predicts: tuple[Prediction, ...]
    contradicts: tuple[Prediction, ...]
    actions: tuple[Advice, ...]
    checks: tuple[Advice, ...]
    runbook: str
    essential_any: tuple[str, ...] = ()
    """Words of `any`: of the predictions of each, at least one must be found."""
    only_ranks: tuple[int, ...] = ()
    """Ranks that a fault of ranks can be at; empty: any."""
    only_groups: tuple[str, ...] = ()
    """Kinds of groups that a fault of groups can be at; empty: any."""
    of_a_rack: bool = False
    """Hosts behind one leaf switch that have it together share its cause: power, cooling."""
    taken_for: tuple[Fault, ...] = ()
    """What a device beside one that has it is taken for, until its own sign is reported."""
    first_taken_for: tuple[Fault, ...] = ()
    """What its first occurrence is taken for: only its return in another attempt shows it."""
    ends_in: tuple[Fault, ...] = ()
    """What it ends in at the same place: the end is no other cause."""
    gives_way: bool = False
    """It names no mechanism: it gives way to one that becomes visible at the same place."""
    over_without: tuple[str, ...] = ()
    """Kinds of findings without which it is over, whatever else the incident still shows."""
    hangs_job: bool = False
    """It hangs the job: a stall that it explains for certain is no evaluation."""
    awaits_repair: bool = False
    """Its device does not come back by itself: it needs a reset, a reboot or a repair."""
    since_start: bool = False
    """Many hosts have it from the start of a job, at no cost: those are one root, however few."""
    of_a_change: bool = False
    """A change of code or settings brings it: jobs with the same described change share it."""
    learnt: Share | None = None
    """Its share at this site, where people's feedback moved it."""

    @property
    def essential_findings(self) -> frozenset[str]:
        """Return the findings that decide whether it is a candidate at all; empty for none."""
        return frozenset(
            row.finding for row in self.predicts if row.essential or row.any in self.essential_any
        )


@dataclass(frozen=True, slots=True)
class Weights:
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
class Catalogue:
    """Every cause in order, the engine's constants, and the version that incidents name."""

    version: str
    weights: Weights
    causes: tuple[Cause, ...]
    calibration: Calibration | None = None
    """None: scores are not probabilities."""

    def with_shares(self, shares: Shares) -> "Catalogue":
        """Return the catalogue with these learnt shares beside its own."""
        causes = (replace(cause, learnt=shares(cause.fault)) for cause in self.causes)
        return replace(self, causes=tuple(causes))


@cache
def catalogue() -> Catalogue:
    """Return the catalogue that ships with this version."""
    here = resources.files(__package__ or "")
    head = tomllib.loads(here.joinpath("catalogue.toml").read_text(encoding="utf-8"))
    return read(head, tables.rows(here.joinpath("faults"), "cause"))


def cause_of(fault: Fault) -> Cause | None:
    """Return the entry of a fault in the shipped catalogue, None for one that has none."""
    return _by_fault().get(fault)


@cache
def _by_fault() -> Mapping[Fault, Cause]:
    return {cause.fault: cause for cause in catalogue().causes}


def parse(text: str) -> Catalogue:
    """Return the catalogue in one TOML text."""
    body = tomllib.loads(text)
    return read(body, body["cause"])


def read(head: Mapping[str, Any], rows: Iterable[Mapping[str, Any]]) -> Catalogue:
    """Return the catalogue of these constants and rows; raises KeyError for what is lacking."""
    causes = tuple(_cause(row) for row in rows)
    fitted = head.get("calibration")
    return Catalogue(
        version=head["version"],
        weights=Weights(**head["weights"]),
        causes=causes,
        calibration=None if fitted is None else _calibration(fitted),
    )


def _calibration(fitted: Mapping[str, Any]) -> Calibration:
    curve = tuple((float(lead), float(chance)) for lead, chance in fitted.get("curve", ()))
    return replace(Calibration(**{k: v for k, v in fitted.items() if k != "curve"}), curve=curve)


def _cause(row: Mapping[str, Any]) -> Cause:
    return Cause(
        fault=Fault(row["fault"]),
        share=float(row["share"]),
        symptoms=tuple(row["symptoms"]),
        covers=tuple(row.get("covers", ())),
        predicts=tuple(_prediction(part) for part in row["predicts"]),
        contradicts=tuple(_prediction(part) for part in row["contradicts"]),
        actions=tuple(_advice(part) for part in row["actions"]),
        checks=tuple(_advice(part) for part in row["checks"]),
        runbook=row["runbook"],
        essential_any=tuple(row.get("essential_any", ())),
        only_ranks=tuple(row.get("only_ranks", ())),
        only_groups=tuple(row.get("only_groups", ())),
        of_a_rack=bool(row.get("of_a_rack", False)),
        taken_for=tuple(Fault(fault) for fault in row.get("taken_for", ())),
        first_taken_for=tuple(Fault(fault) for fault in row.get("first_taken_for", ())),
        ends_in=tuple(Fault(fault) for fault in row.get("ends_in", ())),
        gives_way=bool(row.get("gives_way", False)),
        over_without=tuple(row.get("over_without", ())),
        hangs_job=bool(row.get("hangs_job", False)),
        awaits_repair=bool(row.get("awaits_repair", False)),
        since_start=bool(row.get("since_start", False)),
        of_a_change=bool(row.get("of_a_change", False)),
    )


def _prediction(row: Mapping[str, Any]) -> Prediction:
    return Prediction(
        finding=row["finding"],
        at=cast("At", row["at"]),
        present=float(row["present"]),
        absent=float(row.get("absent", 0.0)),
        essential=bool(row.get("essential", False)),
        any=row.get("any", ""),
        says=row.get("says", ""),
    )


def _advice(row: Mapping[str, Any]) -> Advice:
    return Advice(
        text=row["text"],
        command=row["command"],
        when=row.get("when", "investigate"),
        separates=tuple(Fault(fault) for fault in row.get("separates", ())),
        minutes=float(row.get("minutes", 5.0)),
    )
