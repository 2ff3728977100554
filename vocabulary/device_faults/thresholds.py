"""Smaller tables: what clock reasons mean, when port counters alarm, what NVML wants done."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal

from .. import tables

_BESIDE = "version source"

Grade = Literal["normal", "warn", "alert"]


@dataclass(frozen=True, slots=True)
class ClockReason:
    """One bit of the mask of clock event reasons, as NVML and DCGM both number them."""

    bit: int
    reason: str
    """The value of `reason` on hw.gpu.throttle; "" where the vocabulary has none."""
    grade: Grade
    """normal: part of ordinary life. warn: worth knowing. alert: when it lasts, a fault."""
    meaning: str


@dataclass(frozen=True, slots=True)
class CounterThreshold:
    """When a port's counter alarms. None: never at that grade.

    `fatal` and `degraded` are increments within `seconds`; more than that alarms.
    """

    counter: str
    seconds: float
    meaning: str
    fatal: float | None = None
    degraded: float | None = None


@dataclass(frozen=True, slots=True)
class RecoveryAction:
    """A value of NVML's GPU recovery action."""

    number: int
    action: str
    """The value of `action` on hw.gpu.recovery_action."""
    meaning: str


@cache
def clock_reasons() -> tuple[ClockReason, ...]:
    """Return the reasons by bit, lowest first."""
    package = __package__ or ""
    return tuple(
        tables.packaged(ClockReason, package, "clock_reasons.toml", "reason", beside=_BESIDE)
    )


@cache
def infiniband() -> Mapping[str, tuple[CounterThreshold, ...]]:
    """Return the thresholds by counter; a counter may have several, over different stretches."""
    found: dict[str, tuple[CounterThreshold, ...]] = {}
    package = __package__ or ""
    for one in tables.packaged(
        CounterThreshold, package, "infiniband.toml", "threshold", beside=_BESIDE, unique=False
    ):
        found[one.counter] = (*found.get(one.counter, ()), one)
    return found


@cache
def recovery_actions() -> Mapping[int, RecoveryAction]:
    """Return NVML's recovery actions by number."""
    package = __package__ or ""
    rows = tables.packaged(
        RecoveryAction, package, "recovery_actions.toml", "action", beside=_BESIDE
    )
    return {row.number: row for row in rows}
