"""The same cases once more with a source withheld: what that source is worth."""

import dataclasses
import zlib
from collections import Counter
from collections.abc import Sequence

from .cases import SuiteCase
from .observable import shown_in
from .tables import SuiteError, tables

COMPLETE = "none"


def sources() -> tuple[str, ...]:
    """Return the names of the sources that can be withheld."""
    return tuple(row.name for row in tables().missing)


def complete(cases: Sequence[SuiteCase]) -> list[SuiteCase]:
    """Return the faulty cases that report every source and whose telemetry shows the fault."""
    return [case for case in cases if case.fault and case.observable and case.missing == COMPLETE]


def spread(cases: Sequence[SuiteCase], count: int) -> list[SuiteCase]:
    """Return so many cases in their order: one of every fault before a second one of any.

    Which faults have one more is drawn by their names; more cases take in those of fewer.
    """
    turns: Counter[str] = Counter()
    ordered: list[tuple[int, int, int]] = []
    for number, case in enumerate(cases):
        fault = str(case.fault)
        ordered.append((turns[fault], zlib.crc32(fault.encode()), number))
        turns[fault] += 1
    return [cases[number] for number in sorted(place for *_, place in sorted(ordered)[:count])]


def without(cases: Sequence[SuiteCase], source: str) -> list[SuiteCase]:
    """Return these cases with a source withheld; raises SuiteError for one that does not exist.

    Left out are those whose fault only this source shows: nobody could find them.
    """
    row = next((row for row in tables().missing if row.name == source), None)
    if row is None:
        raise SuiteError(f"there is no source {source!r}; one of {', '.join(sources())}")
    found: list[SuiteCase] = []
    for case in cases:
        reporting = case.scenario.reporting
        less = dataclasses.replace(reporting, hidden=(*reporting.hidden, *row.hidden))
        scenario = dataclasses.replace(case.scenario, reporting=less)
        if case.fault and shown_in(case.fault, scenario):
            found.append(dataclasses.replace(case, missing=source, scenario=scenario))
    return found
