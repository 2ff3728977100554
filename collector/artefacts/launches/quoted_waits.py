"""Exceptions that launchers quote of a process which only waited: it ended since another one did.

`torch.multiprocessing` shows one exception, that of whoever ended first. Where that says that a
collective timed out, its process was there, and who was not says nothing.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ..found import LogQuote
from .record import FiledReport

_WAITED = frozenset({"gloo.timeout", "gloo.pair_closed", "gloo.barrier_timeout"})
"""Signatures of whoever was in a collective to which another one did not come."""
_LINES = 300
"""A traceback that a launcher quotes is no longer."""


def followed(reports: Sequence[FiledReport], quotes: Iterable[LogQuote]) -> list[FiledReport]:
    """Return the reports; those of processes whose exceptions say no more follow from others."""
    quotes = list(quotes)
    return [_follows(one) if _waited(one, quotes) else one for one in reports]


def _follows(one: FiledReport) -> FiledReport:
    return replace(one, report=replace(one.report, form=replace(one.report.form, kind="follows")))


def _waited(one: FiledReport, quotes: Sequence[LogQuote]) -> bool:
    """Tell whether the lines below a report say that its process waited, and none says more."""
    if one.report.form.kind != "raised":
        return False
    said = [
        quote
        for quote in quotes
        if quote.file == one.file
        and quote.role in ("root", "cascade")
        and 0 < quote.line - one.report.line <= _LINES
    ]
    return bool(said) and all(quote.signature in _WAITED for quote in said)
