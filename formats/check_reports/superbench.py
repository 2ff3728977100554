"""SuperBench: `results-summary.jsonl` of a run, and what `sb result diagnosis` made of it.

A run has values and judges nothing: they are compared with those of the other nodes. A diagnosis
names nodes that its rules found defective, and by which metrics; whoever wrote the rules knows what
they mean, so their word counts.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Annotated, Any, Literal

from ...vocabulary import checks, row_values, tables
from ...vocabulary.checks import CheckVerdict, ReportedCheck
from ...vocabulary.patterns import DeferredPattern
from . import fields

_TOOL = "SuperBench"
_OTHER = "tool_node"
_CODE = "return_code"
_DETAILS = ("Defective Details", "diagnosis/issue_details")
_ACCEPTED = ("Accept", "diagnosis/accept")
_NODES = ("node", "index", "Index")
_ISSUE = re.compile(r"([^\s(),]+)(?:_miss\b|\(([^)]*)\)?)")
_RANK = re.compile(r"(.*?)(?::(\d+))?")


@dataclass(frozen=True, slots=True)
class BenchmarkMetric:
    """Metrics whose names fit, and what their values are filed under."""

    name: str
    benchmark: DeferredPattern
    metric: DeferredPattern
    check: Annotated[str, row_values.KnownValues("check", checks.catalogue)]
    unit: str = ""
    times: float = 1.0
    better: Literal["more", "less"] = "more"
    meaning: Literal["value", "ok"] = "value"


@dataclass(frozen=True, slots=True)
class BenchmarkCode:
    """What return codes of a benchmark mean."""

    name: str
    codes: frozenset[int]
    verdict: Literal["failed", "not_measured"]


def is_row(value: object) -> bool:
    """Tell whether a JSON value is what SuperBench writes of one node."""
    return (
        isinstance(value, Mapping)
        and any(isinstance(value.get(key), str) for key in _NODES)
        and any(isinstance(key, str) and "/" in key for key in value)
    )


def read(row: Mapping[str, Any]) -> Iterator[ReportedCheck]:
    """Yield the results of one node: its values, or what a diagnosis says of it."""
    host = next(fields.text(row[key]) for key in _NODES if isinstance(row.get(key), str))
    details = next((row[key] for key in _DETAILS if key in row), None)
    accepted = next((row[key] for key in _ACCEPTED if key in row), None)
    if details is not None or accepted is not None:
        yield from _diagnosed(host, details if isinstance(details, str) else "", accepted)
        return
    for name, value in row.items():
        yield from _value(host, name, value)


def _diagnosed(host: str, details: str, accepted: object) -> Iterator[ReportedCheck]:
    if accepted is True:
        yield ReportedCheck(
            check=_OTHER, tool=_TOOL, host=host, verdict="pass", reason="accepted by its diagnosis"
        )
        return
    for found in _ISSUE.finditer(details):
        name, device = _split(found[1])
        verdict: CheckVerdict = "slow"
        if found[2] is None:
            verdict, said = "not_measured", "no value"
        else:
            verdict = "failed" if name.endswith(_CODE) else "slow"
            said = found[2].partition(" Rule:")[0]
        yield ReportedCheck(
            check=_check(name), tool=_TOOL, host=host, device=device, verdict=verdict,
            reason=f"{found[1]}: {said}"[: fields.LONGEST],
        )  # fmt: skip


def _value(host: str, given: str, value: object) -> Iterator[ReportedCheck]:
    name, device = _split(given)
    number = fields.number(value)
    if number is None:
        return
    if name.endswith(f"/{_CODE}"):
        code = _codes().get(int(number))
        if code is not None:
            yield ReportedCheck(
                check=_check(name), tool=_TOOL, host=host, device=device, verdict=code.verdict,
                reason=f"{given} is {number:g}: {code.name}",
            )  # fmt: skip
        return
    row = _metric(name)
    if row is None:
        return
    if row.meaning == "ok":
        burnt = re.search(r"/gpu_(\d+)_pass", name)
        yield ReportedCheck(
            check=row.check, tool=_TOOL, host=host, device=f"GPU {burnt[1]}" if burnt else device,
            verdict="pass" if number else "failed", reason=f"{given} is {number:g}",
        )  # fmt: skip
        return
    yield ReportedCheck(
        check=row.check, tool=_TOOL, host=host, device=device, reason=given,
        value=number * row.times, unit=row.unit, better=row.better, kind=f"{_TOOL} {name}"[:255],
    )  # fmt: skip


def _split(name: str) -> tuple[str, str]:
    """Return a metric's name without the number behind its last colon, and that number's GPU."""
    found = _RANK.fullmatch(name)
    if found is None:
        return name, ""
    return found[1], f"GPU {found[2]}" if found[2] else ""


def _check(name: str) -> str:
    """Return what a metric is filed under; of a return code, what its benchmark's metrics are."""
    row = _metric(name)
    return _OTHER if row is None else row.check


@lru_cache(maxsize=4096)
def _metric(name: str) -> BenchmarkMetric | None:
    """Return the row of a metric by its name, which the same benchmark has of every node."""
    benchmark, _, metric = name.rpartition("/")
    benchmark = benchmark.partition(":")[0]
    for row in _metrics():
        if row.benchmark.fullmatch(benchmark) and (metric == _CODE or row.metric.fullmatch(metric)):
            return row
    return None


@cache
def _metrics() -> list[BenchmarkMetric]:
    return tables.packaged(
        BenchmarkMetric, __package__ or "", "superbench.toml", "metric", beside="code"
    )


@cache
def _codes() -> Mapping[int, BenchmarkCode]:
    rows = tables.packaged(
        BenchmarkCode, __package__ or "", "superbench.toml", "code", beside="metric"
    )
    return {code: row for row in rows for code in row.codes}
