"""`dcgmi diag -j`: of DCGM 3, whose results have a GPU, and of DCGM 4, where they have an entity.

A failure counts by what its errors say: of those that only say that a test could not be made
nothing is known. A warning, and a pass that carries an error, are no measurement either.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Literal

from ...vocabulary import checks, row_values, tables
from ...vocabulary.checks import CheckVerdict, ReportedCheck
from . import fields
from .errors import TornReportError

_ROOTS = ("DCGM Diagnostic", "DCGM GPU Diagnostic")
_OTHER = "tool_node"
"""Under which a test is filed that no table knows."""
_PASSED: Mapping[str, CheckVerdict] = {
    "pass": "pass", "fail": "failed", "warn": "not_measured", "skip": "not_measured",
}  # fmt: skip
_NOT_RUN = ("not run", "notrun")
_WORST: tuple[CheckVerdict, ...] = ("failed", "slow", "not_measured")

_CheckName = Annotated[str, row_values.KnownValues("check", lambda: ["", *checks.catalogue()])]


@dataclass(frozen=True, slots=True)
class DiagTest:
    """What results are filed under, and the tests that give them."""

    check: _CheckName
    names: frozenset[str]


@dataclass(frozen=True, slots=True)
class DiagError:
    """What errors of these numbers say. `check` "": what the test's results are filed under."""

    name: str
    ids: frozenset[int]
    check: _CheckName = ""
    verdict: Literal["failed", "slow", "not_measured"] = "failed"


@dataclass(frozen=True, slots=True)
class DiagWarning:
    """A warning of one result: its words, and its number where it has one."""

    text: str
    error: int | None


def is_report(value: object) -> bool:
    """Tell whether a JSON value is a diagnostic of DCGM, or several iterations of it."""
    return isinstance(value, Mapping) and (
        any(root in value for root in _ROOTS) or any(is_report(row) for row in _iterations(value))
    )


def read(document: Mapping[str, Any]) -> Iterator[ReportedCheck]:
    """Yield the results of each test and device. Raises TornReportError."""
    for row in _iterations(document):
        yield from read(row)
    for root in _ROOTS:
        if root in document:
            yield from _diagnostic(document, document[root])


def _iterations(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    held = document.get("iterations")
    return [row for row in held if isinstance(row, Mapping)] if isinstance(held, list) else []


def _diagnostic(document: Mapping[str, Any], given: object) -> Iterator[ReportedCheck]:
    if not isinstance(given, Mapping):
        raise TornReportError("DCGM Diagnostic is no object")
    metadata = document.get("metadata")
    holders = (metadata if isinstance(metadata, Mapping) else {}, document, given)
    version = next((one["version"] for one in holders if one.get("version")), "")
    tool = f"dcgmi diag {version}".rstrip()
    if error := fields.text(given.get("runtime_error")):
        yield ReportedCheck(
            check=_OTHER, tool=tool, verdict="not_measured", reason=f"it did not run: {error}"
        )
        return
    if "test_categories" not in given:
        raise TornReportError("DCGM Diagnostic has no test_categories: is it of another version?")
    for category in fields.rows(given, "test_categories", "DCGM Diagnostic"):
        for test in fields.rows(category, "tests", f"category {category.get('category')}"):
            yield from _test(test, tool)


def _test(test: Mapping[str, Any], tool: str) -> Iterator[ReportedCheck]:
    name = fields.text(test.get("name"))
    results = list(fields.rows(test, "results", f"test {name}"))
    summary = test.get("test_summary")
    if not results and isinstance(summary, Mapping):
        results = [summary]
    for row in results:
        device = _device(row)
        where = f"test {name}" + (f", {device}" if device else "")
        said = fields.text(row.get("status")).lower()
        if said in _NOT_RUN:
            continue
        if said not in _PASSED:
            raise TornReportError(f"{where}: status {row.get('status')!r} is not known")
        warnings = _warnings(row)
        check, verdict = _meaning(name, _PASSED[said], warnings)
        reason = ": ".join(
            part for part in (f"{name}: {said}", "; ".join(one.text for one in warnings)) if part
        )
        yield ReportedCheck(
            check=check, tool=tool, device=device, verdict=verdict,
            reason=reason[: fields.LONGEST],
        )  # fmt: skip


def _device(row: Mapping[str, Any]) -> str:
    """Return the GPU that a result is of by its number, "" where it is of none, or of all."""
    if row.get("entity_group", "GPU") != "GPU":
        return ""
    for key in ("entity_id", "gpu_id", "gpu_ids"):
        held = row.get(key)
        if isinstance(held, int) and not isinstance(held, bool):
            return f"GPU {held}"
        if isinstance(held, str) and held.isdecimal():
            return f"GPU {held}"
    return ""


def _warnings(row: Mapping[str, Any]) -> list[DiagWarning]:
    held = row.get("warnings")
    if isinstance(held, str):
        return [DiagWarning(fields.text(held), _whole(row.get("error_id")))] if held else []
    return [
        DiagWarning(fields.text(one.get("warning")), _whole(one.get("error_id")))
        for one in fields.rows(row, "warnings", "a result")
    ]


def _meaning(
    name: str, verdict: CheckVerdict, warnings: Sequence[DiagWarning]
) -> tuple[str, CheckVerdict]:
    """Return what a result is filed under and how it counts: by its gravest error."""
    usual = _tests().get(re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_"), _OTHER)
    if verdict != "failed" or not warnings:
        return usual, "not_measured" if warnings else verdict
    meanings = [_errors().get(one.error) if one.error is not None else None for one in warnings]
    found: list[tuple[str, CheckVerdict]] = [
        (usual, "failed") if one is None else (one.check or usual, one.verdict) for one in meanings
    ]
    return min(found, key=lambda one: _WORST.index(one[1]))


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


@cache
def _tests() -> Mapping[str, str]:
    rows = tables.packaged(DiagTest, __package__ or "", "dcgm.toml", "test", beside="error")
    return {name: row.check for row in rows for name in row.names}


@cache
def _errors() -> Mapping[int, DiagError]:
    rows = tables.packaged(DiagError, __package__ or "", "dcgm.toml", "error", beside="test")
    return {number: row for row in rows for number in row.ids}
