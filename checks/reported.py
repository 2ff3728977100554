"""Results of other tools as results of checks: a tool's verdict counts, its values are compared.

Pure. A value is compared as our own are: with the fleet's, else with those of other hosts in the
same reports.
"""

import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..vocabulary.checks import ReportedCheck, catalogue
from . import judging
from .judging import ComparedValues, FleetValues, JudgedCheck
from .measurements.rows import MeasuredRow

_LONGEST = 400


def judged(
    rows: Sequence[ReportedCheck], *, fleet: Mapping[str, FleetValues] | None = None
) -> dict[str, list[JudgedCheck]]:
    """Return the results by host, as the reports name them. `fleet`: who knows it, by host."""
    found: dict[str, list[JudgedCheck]] = {}
    for row, made in zip(rows, compared(rows, fleet=fleet), strict=True):
        found.setdefault(row.host, []).append(made)
    return found


def compared(
    rows: Sequence[ReportedCheck], *, fleet: Mapping[str, FleetValues] | None = None
) -> list[JudgedCheck]:
    """Return the result of each row, in their order; values are compared over all of them."""
    by_kind: dict[tuple[str, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if row.value is not None and not row.together:
            by_kind[row.check, row.kind][row.host].append(row.value)
    return [
        _judged(
            row, (fleet or {}).get(row.host), _beside(row, by_kind.get((row.check, row.kind), {}))
        )
        for row in rows
    ]


def _judged(
    row: ReportedCheck, fleet: FleetValues | None, beside: ComparedValues | None
) -> JudgedCheck:
    check = catalogue()[row.check]
    device = row.device or "host"
    said = f"{row.tool}: {row.reason}"
    if row.verdict is not None or row.value is None:
        return JudgedCheck(
            row.check, device, row.value, row.unit, row.verdict or "not_measured",
            said[:_LONGEST], kind=row.kind,
        )  # fmt: skip
    made = judging.judge(
        replace(check, unit=row.unit, better=row.better),
        MeasuredRow(device, (row.value,), row.kind),
        fleet=None if fleet is None else fleet(row.check, row.kind),
        beside=beside,
    )
    return replace(made, reason=f"{said}: {made.reason}"[:_LONGEST])


def _beside(row: ReportedCheck, by_host: Mapping[str, Sequence[float]]) -> ComparedValues | None:
    others = [statistics.median(held) for host, held in by_host.items() if host != row.host]
    if row.together or not others:
        return None
    return ComparedValues(tuple(others), f"{len(others)} other hosts in the report")
