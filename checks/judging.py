"""A verdict: what was measured against what others of its like measure. Pure: no clock, no machine.

A value is slow only if it is worse than theirs by more than they differ among themselves, by more
than the check's tolerance, and by more than its own repeats leave in doubt. Where nobody can be
compared with, nothing is guessed: not_measured, with the value.
"""

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from ..vocabulary.checks import ActiveCheck, CheckVerdict
from .measurements.rows import MeasuredRow

FEWEST = 5
"""Values of others that are a distribution."""
_SPREADS = 4.0
"""Robust standard deviations by which one of a thousand healthy ones differs at the very most."""
_DOUBTS = 2.0
"""Standard errors of its own repeats within which a value may be better than it seems."""
_NORMAL = 1.4826
"""From the median of absolute deviations to a standard deviation."""
_GRAVITY: tuple[CheckVerdict, ...] = ("failed", "slow", "pass", "not_measured")
_CROWDED = 0.25
"""Share of the time that others used, from which on a value says nothing, or, where they only share
memory and disks, nothing bad."""


@dataclass(frozen=True, slots=True)
class ComparedValues:
    """What others of the same kind measured, and who they are in words.

    `doubt`: by how much their values would move if they were measured once more.
    """

    values: tuple[float, ...]
    compared_with: str
    doubt: float = 0.0


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
    if row.waited >= _CROWDED:
        # That they had it is no fault of the node, and that it is fast without them no proof.
        why = f"other processes had the CPU {row.waited:.0%} of the time"
        return _result(check, row, value, "not_measured", why)
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
    margin = max(check.tolerance * abs(expected), _SPREADS * spread) + _DOUBTS * others.doubt
    interval = (expected - margin, expected + margin)
    edge = interval[0] if check.better == "more" else interval[1]
    made = _result(check, row, value, "pass", "", expected=expected, interval=interval)
    difference = abs(value / expected - 1) if expected else 0.0
    verdict: CheckVerdict = "pass"
    if not _worse(check, value, edge):
        why = (
            f"within {margin / abs(expected):.0%} of the expected value" if expected else "as usual"
        )
    else:
        words = "below" if check.better == "more" else "above"
        slow = f"{difference:.0%} {words} {shown(expected, check.unit)}"
        doubt = _DOUBTS * standard_error(row)
        best = value + doubt if check.better == "more" else value - doubt
        if row.others >= _CROWDED:
            verdict = "not_measured"
            why = f"{slow}, but other processes had {row.others:.0%} of all CPUs meanwhile"
        elif not _worse(check, best, edge):
            verdict = "not_measured"
            why = f"{slow}, but its repeats differ too much to tell"
        else:
            verdict = "slow"
            kept = f"; a quota or the hypervisor kept {row.withheld:.0%} of the time"
            why = slow + (kept if row.withheld >= check.tolerance / 2 else "")
    return JudgedCheck(
        check.name, made.device, value, check.unit, verdict, why, expected, interval,
        others.compared_with, row.kind,
    )  # fmt: skip


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


def standard_error(row: MeasuredRow) -> float:
    """Return by about how much the value would move if it were measured once more."""
    finite = sorted(value for value in row.samples if math.isfinite(value))
    if len(finite) < 4:
        return 0.0
    quarter = len(finite) // 4
    # That of a median of normal values; repeats of one moment are alike, so it is no less than a
    # tenth of what they differ by.
    wide = finite[-quarter - 1] - finite[quarter]
    return max(0.93 * wide / math.sqrt(len(finite)), 0.1 * wide)


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
