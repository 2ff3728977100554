"""A report to its results, whichever tool it is of."""

from collections.abc import Iterator
from typing import Any

from ...vocabulary.checks import ReportedCheck
from ..nccl import ras
from . import dcgm, json_parts, marks, nccl_tests, readiness, sniff_tests, superbench
from .errors import CheckReportError, UnknownReportError

KNOWN = (
    "dcgmi diag -j, nccl-tests (output or -J), SuperBench (results-summary.jsonl, diagnosis), a "
    "Cluster Readiness Engine report, Megatron's GPU sniff tests"
)


def read(data: bytes, name: str = "") -> list[ReportedCheck]:
    """Return the results of a report; `name`: of its file, which may name what nccl-tests ran.

    Raises UnknownReportError and TornReportError, whose text says what is wrong, and where.
    """
    if not data.strip():
        raise UnknownReportError("it is empty")
    if ras.is_answer(data[:4096]):
        raise UnknownReportError(
            "an answer of NCCL RAS: it is of a job's collectives, not of a node; "
            "`rankscope diagnose` reads it"
        )
    text = data.decode(errors="replace")
    found: list[ReportedCheck] = []
    known = False
    if any(mark in data for mark in marks.MARKS):
        for value in json_parts.values(text):
            for row in value if isinstance(value, list) else [value]:
                results = _document(row)
                known = known or results is not None
                found += results or ()
        if "# Using devices" in text or "Test NCCL failure" in text:
            found += nccl_tests.read(text, name)
            known = True
        if "OUTLIER rank " in text or "GPU sniff test" in text:
            found += sniff_tests.read(text)
            known = True
    if not known:
        begins = text.lstrip().partition("\n")[0][:60]
        raise UnknownReportError(f"no report that is known ({KNOWN}); it begins with {begins!r}")
    return found


def _document(value: Any) -> Iterator[ReportedCheck] | None:
    """Return the results of one JSON value, None where it is of no tool that is known."""
    if dcgm.is_report(value):
        return dcgm.read(value)
    if nccl_tests.is_document(value):
        return nccl_tests.document(value)
    if readiness.is_report(value):
        return readiness.read(value)
    return superbench.read(value) if superbench.is_row(value) else None


__all__ = ["KNOWN", "CheckReportError", "read"]
