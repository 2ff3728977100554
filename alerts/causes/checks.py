"""The cheapest checks that would separate the two leading causes."""

from collections.abc import Sequence

from ...vocabulary.ids import Fault
from ...vocabulary.incidents import Hypothesis, NextCheck
from ...vocabulary.topology import Topology
from . import wording
from .catalogue import Cause


def next_checks(
    rows: Sequence[Hypothesis], causes: Sequence[Cause], topology: Topology
) -> tuple[NextCheck, ...]:
    """Return the checks of the two leading causes, those that separate the two first."""
    by_fault = {cause.fault: cause for cause in causes}
    leading = [row for row in rows if row.fault in by_fault][:2]
    rivals: set[Fault] = {row.fault for row in leading}
    checks = [
        NextCheck(
            wording.text(advice, row.entity, topology),
            wording.command(advice, row.entity, topology),
            (row.fault, *advice.separates),
        )
        for row in leading
        for advice in by_fault[row.fault].checks
    ]
    checks.sort(key=lambda check: not rivals <= set(check.separates))
    return tuple(checks)
