"""How right the incidents of a case are: which is about its fault, what it names, what is false.

An incident is about the fault where it opens no more than a minute before the onset and its
first cause is the fault, points at the entity or close to it, or at the job as a whole. `right`:
the first cause of the first such incident above info (of any, where there is none) is the fault.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from rankscope.alerts.causes.engine import OTHERS
from rankscope.alerts.causes.scoring import UNCAPPED
from rankscope.vocabulary import times
from rankscope.vocabulary.faults import catalogue
from rankscope.vocabulary.ranks import RankSet

_EARLY_SECONDS = 60.0
_BINS = 10
_WHOLE = ("job", "code")


@dataclass(frozen=True, slots=True)
class NamedCause:
    """An incident by its first cause."""

    severity: str
    opened: float
    fault: str
    type: str
    id: str
    host: str | None
    ranks: frozenset[int]
    probability: float | None
    summary: str
    lead: float = 0.0
    """Of the first cause over the next one at another place, or unknown, in nats."""
    coverage: float = 0.0
    signs: int = 0
    """Share of what its causes predict that was reported; families of findings that support it."""


@dataclass(frozen=True, slots=True)
class WorldAnswer:
    """A first cause with a name: what was said of it, and whether it is right."""

    probability: float
    lead: float
    right: bool
    coverage: float = 0.0
    signs: int = 0


@dataclass(frozen=True, slots=True)
class CaseScore:
    """What was found of one case. `false`: incidents that are about nothing that is wrong.

    `minutes` that it lasts, 0 where its truth does not say.
    """

    id: str
    fault: str | None
    strength: str | None
    found: bool
    right: bool
    right_entity: bool
    named: str
    above_info: int
    about: tuple[NamedCause, ...]
    false: tuple[NamedCause, ...]
    answers: tuple[WorldAnswer, ...]
    reporter: str
    minutes: float = 0.0


@dataclass(slots=True)
class WorldScore:
    """The figures over all cases."""

    cases: list[CaseScore] = field(default_factory=list)

    def figures(self) -> dict[str, float | None]:
        """Return the figures; None where there is nothing to count."""
        faulty = [one for one in self.cases if one.fault]
        quiet = [one for one in self.cases if not one.fault]
        found = [one for one in faulty if one.found]
        plain = [one.found for one in faulty if one.strength == "plain"]
        weak = [one.found for one in faulty if one.strength == "weak"]
        loud = [one.severity != "info" for case in quiet for one in case.false]
        about = sum(_above(one.about) for one in faulty)
        false = sum(_above(one.false) for one in self.cases)
        answers = [
            (answer.probability, answer.right) for one in self.cases for answer in one.answers
        ]
        return {
            "precision": _share(about, about + false),
            "recall": _share(len(found), len(faulty)),
            "recall_any_severity": _share(sum(bool(one.about) for one in faulty), len(faulty)),
            "recall_plain": _share(sum(plain), len(plain)),
            "recall_weak": _share(sum(weak), len(weak)),
            "first_cause_of_found": _share(sum(one.right for one in found), len(found)),
            "entity_of_found": _share(sum(one.right_entity for one in found), len(found)),
            "one_incident": _share(sum(one.above_info <= 1 for one in found), len(found)),
            "false_per_quiet_case": _share(len(loud), len(quiet)),
            "false_above_info_per_quiet_case": _share(sum(loud), len(quiet)),
            "false_above_info_per_job_day": _share(
                24 * 60 * sum(loud), sum(one.minutes for one in quiet)
            ),
            "calibration_error": calibration_error(answers),
            "calibration_error_by_chance": error_by_chance(chance for chance, _ in answers),
        }


def scored(truth: dict[str, Any], incidents: Sequence[dict[str, Any]]) -> CaseScore:
    named = sorted((_named(one) for one in incidents), key=lambda one: one.opened)
    about = [one for one in named if _about(one, truth)]
    false = [one for one in named if not _about(one, truth)]
    loud = [one for one in about if one.severity != "info"]
    judged = next(iter(loud or about), None)
    fault = truth["fault"]
    quiet_fault = fault is not None and catalogue()[fault].severity == "info"
    answers = [
        WorldAnswer(
            one.probability,
            one.lead,
            one.fault == fault and close(one, truth),
            one.coverage,
            one.signs,
        )
        for one in (*([judged] if judged else []), *false)
        if one.probability is not None and one.fault != "unknown"
    ]
    return CaseScore(
        id=truth["id"],
        fault=fault,
        strength=truth["strength"],
        found=bool(loud or (quiet_fault and about)),
        right=judged is not None and judged.fault == fault,
        right_entity=judged is not None and close(judged, truth),
        named=judged.fault if judged else "",
        above_info=_above(named),
        about=tuple(about),
        false=tuple(false),
        answers=tuple(answers),
        reporter=truth["reporter"],
        minutes=float(truth.get("minutes") or 0.0),
    )


def close(named: NamedCause, truth: dict[str, Any]) -> bool:
    """Return whether an incident points at the entity, on it, or closely around it."""
    entity = truth["entity"]
    if entity is None:
        return False
    same = [(entity["type"], entity["id"]), *(tuple(one) for one in truth["also"])]
    if (named.type, named.id) in same:
        return True
    if entity["type"] in _WHOLE or named.type in _WHOLE:
        return entity["type"] in _WHOLE and named.type in _WHOLE
    host = entity["host"]
    ranks = frozenset(truth["ranks"])
    if host is not None and named.type in ("host", "gpu", "rank", "process", "nic", "storage"):
        local = named.type == "host" or entity["type"] in ("host", "nic", "process")
        return named.host == host and (local or bool(ranks & named.ranks) or named.type == "nic")
    return (
        bool(ranks)
        and named.type in ("group", "switch")
        and bool(named.ranks)
        and (named.ranks <= ranks or ranks <= named.ranks)
    )


def calibration_error(answers: Iterable[tuple[float, bool]]) -> float | None:
    """Return the mean over bins of |mean probability - share right|, weighted by their answers."""
    bins: dict[int, list[tuple[float, bool]]] = defaultdict(list)
    for probability, right in answers:
        bins[_bin(probability)].append((probability, right))
    total = sum(len(rows) for rows in bins.values())
    if not total:
        return None
    return sum(abs(sum(at - right for at, right in rows)) for rows in bins.values()) / total


def error_by_chance(probabilities: Iterable[float]) -> float | None:
    """Return the calibration error to expect of answers each of which is as probable as it says.

    Few answers differ from their probabilities by chance alone: what is measured says something
    only where it is larger than this.
    """
    bins: dict[int, list[float]] = defaultdict(list)
    for probability in probabilities:
        bins[_bin(probability)].append(probability)
    total = sum(len(rows) for rows in bins.values())
    return sum(_chance_off(rows) for rows in bins.values()) / total if total else None


def _chance_off(probabilities: list[float]) -> float:
    """Return by how many the right ones of some answers differ from their expected number."""
    chances = [1.0]  # of none, one, two ... being right
    for probability in probabilities:
        right = [0.0, *(chance * probability for chance in chances)]
        wrong = [*(chance * (1 - probability) for chance in chances), 0.0]
        chances = [one + other for one, other in zip(right, wrong, strict=True)]
    expected = sum(probabilities)
    return sum(chance * abs(number - expected) for number, chance in enumerate(chances))


def _bin(probability: float) -> int:
    return min(_BINS - 1, int(probability * _BINS))


def _about(named: NamedCause, truth: dict[str, Any]) -> bool:
    if truth["fault"] is None or named.opened < truth["onset"] - _EARLY_SECONDS:
        return False
    return named.fault in (truth["fault"], "unknown") or named.type in _WHOLE or close(named, truth)


def _named(document: dict[str, Any]) -> NamedCause:
    first: dict[str, Any] = next(iter(document["root_cause"]["hypotheses"]), {})
    whole: dict[str, Any] = {"type": "job", "id": str(document["job"]), "host": None, "ranks": []}
    entity: dict[str, Any] = first.get("entity") or whole
    return NamedCause(
        severity=document["severity"],
        opened=times.parse(document["opened_at"]),
        fault=first.get("fault", "unknown"),
        type=entity["type"],
        id=entity["id"],
        host=entity["host"] or (entity["id"] if entity["type"] == "host" else None),
        ranks=_ranks(entity),
        probability=first.get("probability"),
        summary=document["summary"],
        lead=_lead(document["root_cause"]),
        coverage=float(document["root_cause"].get("data_quality", {}).get("coverage", 0.0)),
        signs=_signs(first),
    )


def _lead(cause: dict[str, Any]) -> float:
    """Return the lead of the first hypothesis over others: other faults, or at other places."""
    if not cause["hypotheses"]:
        return 0.0
    first, *others = cause["hypotheses"]
    also = (row["entity"] for row in first.get("evidence", ()) if row["family"] == OTHERS)
    places = [first["entity"], *(also if first["entity"]["type"] == "group" else ())]
    rivals = (
        row["score"]
        for row in others
        if row["fault"] != first["fault"]
        or not any(_overlap(row["entity"], place) for place in places)
    )
    return float(first["score"] - max([cause["unknown"]["score"], *rivals]))


def _signs(first: dict[str, Any]) -> int:
    return len(
        {
            row["family"]
            for row in first.get("evidence", ())
            if row["relation"] == "supports" and row["weight"] > 0
            if row["family"] not in UNCAPPED
        }
    )


def _overlap(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return "job" in (one["type"], other["type"]) or bool(_ranks(one) & _ranks(other))


def _ranks(entity: dict[str, Any]) -> frozenset[int]:
    return frozenset().union(*(RankSet.parse(str(one)).members for one in entity["ranks"]))


def _above(named: Iterable[NamedCause]) -> int:
    return sum(one.severity != "info" for one in named)


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None
