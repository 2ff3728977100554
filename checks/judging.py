"""A verdict: what was measured against what others of its like measure. Pure: no clock, no machine.

A value is slow only if it is worse than theirs by more than they differ among themselves, by more
than the check's tolerance, and by more than the repeats of both leave in doubt. How small a
difference would have been seen so is part of the reason. Where nobody can be compared with, or
hardly anything would have been seen, nothing is guessed: not_measured, with the value.
"""

import dataclasses
import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from ..vocabulary.checks import ActiveCheck, CheckVerdict
from .measurements.rows import MeasuredRow, standard_error

FEWEST = 5
"""Values of others that are a distribution."""
_SPREADS = 4.0
"""Robust standard deviations by which one of a thousand healthy ones differs at the very most."""
_DOUBTS = 2.0
"""Standard errors, its own and theirs, within which a value may be better than it seems."""
_COARSE = 0.25
"""What a pass must have been able to see: where only a larger difference would have been seen, it
says nothing."""
_NORMAL = 1.4826
"""From the median of absolute deviations to a standard deviation."""
_GRAVITY: tuple[CheckVerdict, ...] = ("failed", "slow", "pass", "not_measured")
_CROWDED = 0.25
"""Share of the CPUs that other processes had, from which on a bad value may be theirs."""
_AS_CROWDED = 0.1
"""So much more of them than beside the peer, which is slower by others then as well."""


@dataclass(frozen=True, slots=True)
class ComparedValues:
    """What others of the same kind measured, and who they are in words.

    `doubt`: by how much their values would move if they were measured once more. `others`: share of
    the CPUs that processes of others had there meanwhile, 0 where that is not known.
    """

    values: tuple[float, ...]
    compared_with: str
    doubt: float = 0.0
    others: float = 0.0


class FleetValues(Protocol):
    """Who knows what others of a kind measured; None: nobody does."""

    def __call__(self, check: str, kind: str, /) -> ComparedValues | None: ...


@dataclass(frozen=True, slots=True)
class JudgedCheck:
    """One result of one device. `interval`: within which a value is taken for healthy."""

    check: str
    device: str
    value: float | None
    unit: str
    verdict: CheckVerdict
    reason: str
    expected: float | None = None
    interval: tuple[float, float] | None = None
    compared_with: str | None = None
    kind: str = ""

    def open_after(self, look: int) -> bool:
        """Return whether more repeats, after so many further looks, may tell.

        What seems slow is looked at once more in any case: a neighbour's half minute may be over.
        """
        verdicts = ("not_measured", "slow") if look == 0 else ("not_measured",)
        return self.verdict in verdicts and self.compared_with is not None


def typical(row: MeasuredRow) -> float | None:
    """Return the value that its repeats stand for, None where there is none."""
    finite = sorted(value for value in row.samples if math.isfinite(value))
    if not finite:
        return None
    place = row.quantile * (len(finite) - 1)
    low = math.floor(place)
    high = min(low + 1, len(finite) - 1)
    return finite[low] + (finite[high] - finite[low]) * (place - low)


def judge(
    check: ActiveCheck,
    row: MeasuredRow,
    *,
    peer: ComparedValues | None = None,
    fleet: ComparedValues | None = None,
    beside: ComparedValues | None = None,
) -> JudgedCheck:
    """Return the verdict on one row.

    peer: what a peer measured in the same minute. fleet: what others of this kind and place
    measured, one value a host. beside: the other devices of this host. The first that there is
    enough of decides.
    """
    value = typical(row)
    device = row.device or check.about
    if row.failed or row.missing or value is None:
        verdict: CheckVerdict = "failed" if row.failed else "not_measured"
        why = row.failed or row.missing or "it gave no value"
        return JudgedCheck(check.name, device, None, check.unit, verdict, why, kind=row.kind)
    if check.limit is not None and _worse(check, value, check.limit):
        why = f"{shown(value, check.unit)}; the limit is {shown(check.limit, check.unit)}"
        return _result(check, row, value, "failed", why, expected=check.limit)
    if not check.compared:
        why = f"within the limit of {shown(check.limit or 0.0, check.unit)}"
        return _result(check, row, value, "pass", why)
    others = _enough(peer, fleet, beside)
    if others is None:
        held = len(fleet.values) if fleet is not None else 0
        why = f"nobody of its kind to compare with: no peer's value, and {held} of the {FEWEST} "
        why += "hosts that are a distribution"
        return _result(check, row, value, "not_measured", why)
    return _compared(check, row, value, others)


def _compared(
    check: ActiveCheck, row: MeasuredRow, value: float, others: ComparedValues
) -> JudgedCheck:
    expected = statistics.median(others.values)
    spread = _NORMAL * statistics.median(abs(one - expected) for one in others.values)
    margin = max(check.tolerance * abs(expected), _SPREADS * spread)
    error = math.hypot(standard_error(row.samples), others.doubt)
    verdict, why = _verdict(check, row, value, others, (expected, margin, error))
    interval = (expected - margin, expected + margin)
    made = _result(check, row, value, verdict, why, expected=expected, interval=interval)
    return dataclasses.replace(made, compared_with=others.compared_with)


def _verdict(
    check: ActiveCheck,
    row: MeasuredRow,
    value: float,
    others: ComparedValues,
    judged_by: tuple[float, float, float],
) -> tuple[CheckVerdict, str]:
    """Return the verdict and its reason. judged_by: the expected value, the margin, the error."""
    expected, margin, error = judged_by
    share = abs(expected) or 1.0
    # One error more, for a difference is as often measured smaller than it is as larger.
    smallest = (margin + (_DOUBTS + 1) * error) / share
    seen = f"it would have seen {f'{smallest:.0%}' if math.isfinite(smallest) else 'nothing'}"
    unsure = f"its repeats differ too much to tell: {seen}"
    gap = expected - value if check.better == "more" else value - expected
    if gap <= margin:
        if smallest > _COARSE:
            return "not_measured", unsure
        why = f"within {margin / share:.0%} of the expected value; {seen}"
        if row.waited >= _CROWDED:
            why += f", but no quota: other processes had the CPU {row.waited:.0%} of the time"
        return "pass", why
    words = "below" if check.better == "more" else "above"
    worse = f"{gap / share:.0%} {words} {shown(expected, check.unit)}"
    if row.others >= max(_CROWDED, others.others + _AS_CROWDED):
        crowded = f"but other processes had {row.others:.0%} of all CPUs meanwhile"
        return "not_measured", f"{worse}, {crowded}"
    if gap <= margin + _DOUBTS * error:
        return "not_measured", f"{worse}, but {unsure}"
    kept = f"; a quota or the hypervisor kept {row.withheld:.0%} of the time"
    return "slow", worse + (kept if row.withheld >= check.tolerance / 2 else "")


def worst(results: Iterable[JudgedCheck]) -> list[JudgedCheck]:
    """Return one result a check and device: of several, as reports have them, the worst one."""
    found: dict[tuple[str, str], list[JudgedCheck]] = {}
    for row in results:
        found.setdefault((row.check, row.device), []).append(row)
    return [min(rows, key=lambda row: _GRAVITY.index(row.verdict)) for rows in found.values()]


def overall(results: Sequence[JudgedCheck]) -> CheckVerdict:
    """Return the verdict on a node: the worst of its results; what was not measured is no fault."""
    found = {row.verdict for row in results}
    for verdict in _GRAVITY:
        if verdict in found:
            return verdict
    return "not_measured"


def shown(value: float, unit: str) -> str:
    """Return a value with its unit for people: 1.2 GB/s, 340 ms."""
    base = unit.partition("/")[0]
    names = {"By": "B", "{operation}": "FLOP", "{product}": " products"}
    if unit == "s":
        small = (f"{value * 1e6:.3g} us", f"{value * 1e3:.3g} ms")[abs(value) >= 1e-3]
        return small if abs(value) < 1 else f"{value:.3g} s"
    suffix = names.get(base, base) + unit[len(base) :]
    if base == "{product}":
        return f"{value:g}{suffix}"
    for factor, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= factor:
            return f"{value / factor:.3g} {letter}{suffix}"
    return f"{value:.3g} {suffix}"


def _enough(
    peer: ComparedValues | None, fleet: ComparedValues | None, beside: ComparedValues | None
) -> ComparedValues | None:
    if peer is not None and peer.values:
        return peer
    for others in (fleet, beside):
        if others is not None and len(others.values) >= FEWEST:
            return others
    return None


def _worse(check: ActiveCheck, value: float, edge: float) -> bool:
    return value < edge if check.better == "more" else value > edge


def _result(
    check: ActiveCheck,
    row: MeasuredRow,
    value: float,
    verdict: CheckVerdict,
    reason: str,
    *,
    expected: float | None = None,
    interval: tuple[float, float] | None = None,
) -> JudgedCheck:
    return JudgedCheck(
        check.name, row.device or check.about, value, check.unit, verdict, reason, expected,
        interval, None, row.kind,
    )  # fmt: skip
