"""The result of a whole suite as one JSON document: figures of every method, and what went wrong.

There is no date and no duration of the machine in it but under `cpu`: the same code and the same
suite give the same document.
"""

import platform
from collections.abc import Sequence
from importlib import metadata
from typing import Any

from ..suites.tables import CaseSuite
from . import figures, limits, ranked
from .baselines import METHODS
from .figures import BREAKDOWNS, ScoredResult
from .results import PIPELINE, CaseResult
from .seen import SeenIncident

SCHEMA = "rankscope-score-1"


def document(
    suite: CaseSuite, results: Sequence[CaseResult], *, command: str, seed: int
) -> dict[str, Any]:
    """Return the document of a suite's results; `command` is what makes it again."""
    own = figures.scored(results)
    return {
        "schema": SCHEMA,
        "suite": suite.name,
        "text": suite.text,
        "seed": seed,
        "command": command,
        "versions": _versions(),
        "cases": len(results),
        "healthy": sum(row.case["fault"] is None for row in results),
        "faults": sorted({str(row.case["fault"]) for row in results if row.case["fault"]}),
        "methods": {
            name: figures.figures(rows).document()
            for name in (PIPELINE, *METHODS)
            if (rows := figures.scored(results, name))
        },
        "breakdowns": {
            name: {
                group: figures.figures(rows).document()
                for group, rows in figures.broken_down(own, by).items()
            }
            for name, by in BREAKDOWNS.items()
        },
        "ranking": ranked.ranked(own).document(),
        "reliability": [
            {
                "from": row.low,
                "to": row.high,
                "incidents": row.count,
                "probability": round(row.probability, 4),
                "right": round(row.right, 4),
            }
            for row in ranked.bins(own)
        ],
        "confusion": {true: dict(row) for true, row in figures.confusion(own).items()},
        "delays": _delays(own),
        "limits": limits.delays(own),
        "exhaustion": limits.exhaustion(own),
        "missed": [
            {**_where(row), "fault": row.result.case["fault"], "strength": _strength(row)}
            for row in own
            if row.observable and not row.outcome.found
        ],
        "wrong_entity": [
            {**_where(row), **_entities(row)}
            for row in own
            if row.observable and row.outcome.found and not row.outcome.right_entity
        ],
        "false": [
            {**_where(row), **_brief(incident)} for row in own for incident in row.outcome.false
        ],
        "wrong_accusations": [
            {**_where(row), **_brief(incident)}
            for row in own
            for incident in row.outcome.wrong_accusations
        ],
        "errors": [
            {
                "case": row.case["name"],
                "error": row.error,
                "detector_failures": dict(row.detector_failures),
            }
            for row in results
            if row.failed
        ],
        "cpu": _cpu(results),
    }


def _versions() -> dict[str, str]:
    return {
        "rankscope": metadata.version("rankscope"),
        "python": platform.python_version(),
        "numpy": metadata.version("numpy"),
        "scikit-learn": metadata.version("scikit-learn"),
    }


def _delays(rows: Sequence[ScoredResult]) -> dict[str, list[float]]:
    """Return the sorted delays in seconds of every fault."""
    found = figures.broken_down([row for row in rows if row.observable], figures.by_fault)
    return {
        fault: sorted(round(row.outcome.delay, 2) for row in group if row.outcome.delay is not None)
        for fault, group in found.items()
    }


def _where(row: ScoredResult) -> dict[str, Any]:
    case = row.result.case
    return {key: case[key] for key in ("name", "shape", "habit", "missing", "benign")}


def _strength(row: ScoredResult) -> str:
    return str(row.result.case["strength"])


def _entities(row: ScoredResult) -> dict[str, Any]:
    found, truth = row.outcome.found, row.result.truth
    return {
        "true": str(truth.entity) if truth else "",
        "named": str(found.entity) if found and found.entity else "",
        "cause": found.fault if found else "",
    }


def _brief(incident: SeenIncident) -> dict[str, Any]:
    return {
        "severity": incident.severity,
        "cause": incident.fault,
        "entity": str(incident.entity) if incident.entity else "",
        "summary": incident.summary,
    }


def _cpu(results: Sequence[CaseResult]) -> dict[str, float]:
    """Return the mean CPU seconds a case, by part."""
    parts = sorted({part for row in results for part in row.cpu})
    return {
        part: round(sum(row.cpu.get(part, 0.0) for row in results) / len(results), 3)
        for part in parts
    }
