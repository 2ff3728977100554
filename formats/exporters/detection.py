"""Whose exporter a page is from, recognised by the names it holds."""

from collections.abc import Iterable

from .loading import VENDORS, load
from .tables import ExporterTable


def detect(names: Iterable[str]) -> ExporterTable | None:
    """Return the table that has most of a page's names, None when none has any.

    A name that two vendors share decides nothing: the others of the page do.
    """
    present = set(names)
    best, most = None, 0
    for vendor in VENDORS:
        table = load(vendor)
        known = sum(table.find(name) is not None for name in present)
        if known > most:
            best, most = table, known
    return best
