"""The result of one case, and the file of JSON lines in which results are kept between runs."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..suites.cases import SuiteCase
from .seen import CaseTruth, SeenIncident, seen, truth

PIPELINE = "rankscope"
"""The name of the detectors' own row beside the baselines."""


@dataclass(frozen=True, slots=True)
class CaseResult:
    """What came of running one case.

    `case` is what was drawn, and how often it is reported (s); `seconds` the length of the
    recording, `step_seconds` the healthy step, `devices` how many accelerators the cluster has.
    `found` are the incidents by method: "rankscope" and each baseline. `cpu` are CPU seconds by
    part. `error` is the traceback of what was raised ("": nothing), `detector_failures` counts
    exceptions inside detectors by name.
    """

    key: str
    case: Mapping[str, Any]
    seconds: float
    step_seconds: float
    ranks: int
    devices: int
    samples: int
    truth: CaseTruth | None
    found: Mapping[str, tuple[SeenIncident, ...]]
    cpu: Mapping[str, float] = field(default_factory=dict)
    error: str = ""
    detector_failures: Mapping[str, int] = field(default_factory=dict)
    also: tuple[CaseTruth, ...] = ()
    """What else went wrong in a case of two faults."""

    @property
    def failed(self) -> bool:
        """Return whether anything raised."""
        return bool(self.error or self.detector_failures)

    def document(self) -> dict[str, Any]:
        """Return it ready for JSON."""
        return {
            "key": self.key,
            "case": dict(self.case),
            "seconds": self.seconds,
            "step_seconds": self.step_seconds,
            "ranks": self.ranks,
            "devices": self.devices,
            "samples": self.samples,
            "truth": None if self.truth is None else self.truth.document(),
            "also": [row.document() for row in self.also],
            "found": {name: [row.document() for row in rows] for name, rows in self.found.items()},
            "cpu": {name: round(value, 4) for name, value in self.cpu.items()},
            "error": self.error,
            "detector_failures": dict(self.detector_failures),
        }


def empty(case: SuiteCase, key: str, *, error: str = "") -> CaseResult:
    """Return the result of a case of which nothing came."""
    cluster = case.scenario.cluster
    ranks = cluster.hosts * cluster.slots
    return CaseResult(
        key=key,
        case={**case.document(), "report_seconds": case.scenario.reporting.push},
        seconds=case.scenario.seconds,
        step_seconds=case.scenario.jobs[0].step_seconds,
        ranks=ranks,
        devices=ranks if cluster.gpus else 0,
        samples=0,
        truth=None,
        found={},
        error=error,
    )


def result(row: Mapping[str, Any]) -> CaseResult:
    rest: dict[str, Any] = {**row, "truth": truth(row["truth"])}
    rest["also"] = tuple(one for each in row.get("also", ()) if (one := truth(each)) is not None)
    rest["found"] = {name: tuple(map(seen, rows)) for name, rows in row["found"].items()}
    return CaseResult(**rest)


def read(path: Path) -> dict[str, CaseResult]:
    """Return the results of a file by key; a torn last line and foreign lines are left out."""
    found: dict[str, CaseResult] = {}
    if not path.exists():
        return found
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            row = result(json.loads(line))
        except (ValueError, KeyError, TypeError):
            continue
        found[row.key] = row
    return found


def append(path: Path, rows: Iterable[CaseResult]) -> None:
    """Append results to a file; its folder is made where there is none. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    torn = path.exists() and path.stat().st_size > 0 and not path.read_bytes().endswith(b"\n")
    with path.open("a", encoding="utf-8") as file:
        file.write("\n" if torn else "")
        for row in rows:
            file.write(json.dumps(row.document(), allow_nan=False) + "\n")
