"""A certification's report by NVIDIA's Cluster Readiness Engine (`nvcrectl certification report`).

It names the nodes that failed. A group that failed accuses its nodes only where these are named:
the engine tells who of a group it was. Nodes that passed have passed what their run succeeded in.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any

from ...vocabulary import checks, row_values, tables
from ...vocabulary.checks import ReportedCheck
from . import fields
from .errors import TornReportError

_OTHER = "tool_node"


@dataclass(frozen=True, slots=True)
class ReadinessCategory:
    """What results of a domain, and of a test scale where one is named, are filed under."""

    domain: str
    check: Annotated[str, row_values.KnownValues("check", checks.catalogue)]
    scale: str = ""


def is_report(value: object) -> bool:
    """Tell whether a JSON value is such a report."""
    return isinstance(value, Mapping) and {"failedNodes", "categories", "result"} <= value.keys()


def read(document: Mapping[str, Any]) -> Iterator[ReportedCheck]:
    """Yield the results of each node. Raises TornReportError."""
    tool = f"Cluster Readiness Engine, {fields.text(document.get('name'))}".rstrip(", ")
    names = document["failedNodes"]
    if not isinstance(names, list):
        raise TornReportError("failedNodes is no list")
    failed = dict.fromkeys(fields.text(name) for name in names)
    explained: set[str] = set()
    categories = list(fields.rows(document, "categories", "the report"))
    for category in categories:
        said, check = _said(category), _check(category)
        for host, reason in _failures(category):
            if host in failed:
                explained.add(host)
                yield ReportedCheck(
                    check=check, tool=tool, host=host, verdict="failed",
                    reason=f"{said}: {reason}"[: fields.LONGEST],
                )  # fmt: skip
    for host in failed:
        if host and host not in explained:
            yield ReportedCheck(
                check=_OTHER, tool=tool, host=host, verdict="failed",
                reason="listed as a failed node",
            )  # fmt: skip
    for row in fields.rows(document, "nodeResults", "the report"):
        host = fields.text(row.get("name"))
        if row.get("status") != "Passed" or not host or host in failed:
            continue
        for category in categories:
            if category.get("status") == "Succeeded":
                yield ReportedCheck(
                    check=_check(category), tool=tool, host=host, verdict="pass",
                    reason=f"{_said(category)}: passed",
                )  # fmt: skip


def _failures(category: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the nodes that something of a category failed with, each with what it was."""
    said = _said(category)
    for group in fields.rows(category, "failedGroups", said):
        reason = fields.text(group.get("reason")) or "its group failed"
        for host in group.get("nodes") or ():
            yield fields.text(host), reason
    for group in fields.rows(category, "groupBandwidth", said):
        if group.get("belowMin") is True:
            for host in group.get("nodes") or ():
                yield fields.text(host), f"bus bandwidth {fields.text(group.get('busBW'))}, too low"
    diagnosed = category.get("diagnose")
    if isinstance(diagnosed, Mapping):
        for host in diagnosed.get("confirmedFaulty") or ():
            yield fields.text(host), "confirmed as faulty by halving its group"


def _said(category: Mapping[str, Any]) -> str:
    return "/".join(filter(None, (fields.text(category.get(key)) for key in ("domain", "variant"))))


def _check(category: Mapping[str, Any]) -> str:
    domain, scale = category.get("domain"), category.get("testScale")
    for row in _categories():
        if row.domain == domain and row.scale in ("", scale):
            return row.check
    return _OTHER


@cache
def _categories() -> list[ReadinessCategory]:
    return tables.packaged(
        ReadinessCategory, __package__ or "", "readiness.toml", "category", unique=False
    )
