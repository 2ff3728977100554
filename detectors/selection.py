"""Which detectors evaluate which job, and with which parameters.

Everybody's detectors with their defaults, changed by rules: for every job, or for those whose name
and cluster match a pattern, some are left out and some get other parameters. A detector of
somebody else's package comes through the entry point `rankscope.detectors`, if it is asked for.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from ..vocabulary import findings
from . import catalogue
from .contract import Detector
from .members import add_kinds, missing
from .rule_mistakes import mistakes

if TYPE_CHECKING:
    from importlib import metadata

ENTRY_POINTS = "rankscope.detectors"


class SelectionError(ValueError):
    """Rules or plugins that cannot be as they are; of rules the text holds every mistake."""


@dataclass(frozen=True, slots=True)
class SelectionRule:
    """What is different for the jobs that match: `*` stands for anything.

    parameters: by detector, by the name of the parameter.
    """

    jobs: str = "*"
    clusters: str = "*"
    disabled: tuple[str, ...] = ()
    parameters: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def matches(self, job: str, cluster: str | None) -> bool:
        return fnmatchcase(job, self.jobs) and fnmatchcase(cluster or "", self.clusters)


class DetectorSelection:
    """Detectors by job. Later rules change what earlier ones left. Raises SelectionError."""

    def __init__(self, detectors: Sequence[Detector], rules: Sequence[SelectionRule] = ()) -> None:
        self.detectors = tuple(detectors)
        self.rules = tuple(rules)
        self._made: dict[tuple[bool, ...], tuple[Detector, ...]] = {}
        found = [
            mistake
            for rule in self.rules
            for mistake in mistakes(self.detectors, rule.disabled, rule.parameters)
        ]
        if found:
            raise SelectionError("\n".join(map(str, found)))

    def of(self, job: str, cluster: str | None) -> tuple[Detector, ...]:
        if not self.rules:
            return self.detectors
        key = tuple(rule.matches(job, cluster) for rule in self.rules)
        if key not in self._made:
            rules = [rule for rule, holds in zip(self.rules, key, strict=True) if holds]
            self._made[key] = changed(self.detectors, rules)
        return self._made[key]

    @property
    def description(self) -> str:
        """Return what it selects, in one line: equal for equal selections."""
        kinds = [f"{type(one).__module__}:{one.name}{vars(one)}" for one in self.detectors]
        return " ".join([*kinds, *map(repr, self.rules)])


def changed(detectors: Iterable[Detector], rules: Sequence[SelectionRule]) -> tuple[Detector, ...]:
    """Return detectors as rules without a mistake leave them."""
    held = {detector.name: detector for detector in detectors}
    out: set[str] = set()
    for rule in rules:
        out |= set(rule.disabled)
        for name, parameters in rule.parameters.items():
            held[name] = _with(held[name], parameters)
    return tuple(detector for name, detector in held.items() if name not in out)


def plugins(names: Iterable[str]) -> tuple[Detector, ...]:
    """Return the detectors of installed packages by the names of their entry points.

    An entry point is a detector class. Kinds of findings that are its own stand in its attribute
    `finding_kinds`. Raises SelectionError for what is not installed or is no detector.
    """
    made: list[Detector] = []
    taken = {detector.name for detector in catalogue.detectors()}
    for name in names:
        point = entry_point(name)
        try:
            detector: Detector = point.load()()
            wrong = [*missing(detector), *add_kinds(detector)]
        except Exception as error:  # the edge of somebody else's code
            raise SelectionError(
                f"the detector {name!r} ({point.value}) cannot be loaded: "
                f"{type(error).__name__}: {error}"
            ) from error
        if wrong:
            raise SelectionError(f"the detector {name!r} ({point.value}): {'; '.join(wrong)}")
        if unknown := sorted(set(detector.kinds) - set(findings.catalogue())):
            raise SelectionError(
                f"the detector {name!r} reports {', '.join(unknown)}: kinds that nobody describes; "
                "list them in its finding_kinds"
            )
        if detector.name in taken:
            raise SelectionError(f"the detector {name!r} calls itself {detector.name}: taken")
        taken.add(detector.name)
        made.append(detector)
    return tuple(made)


def entry_point(name: str) -> "metadata.EntryPoint":
    """Return the entry point of an installed package by its name. Raises SelectionError."""
    from importlib import metadata  # noqa: PLC0415  hardly anybody has any

    installed = {point.name: point for point in metadata.entry_points(group=ENTRY_POINTS)}
    if name not in installed:
        known = ", ".join(sorted(installed)) or "none"
        raise SelectionError(
            f"no installed package offers the detector {name!r} (entry points of "
            f"{ENTRY_POINTS}: {known})"
        )
    return installed[name]


def _with(detector: Detector, parameters: Mapping[str, Any]) -> Detector:
    held = dict(vars(detector))
    for name, value in parameters.items():
        old = held[name]
        if isinstance(old, float):
            value = float(value)  # 3 where 0.15 is the default
        elif isinstance(old, int) and isinstance(value, float) and value.is_integer():
            value = int(value)  # 5.0 is a count, too
        held[name] = value
    return type(detector)(**held)
