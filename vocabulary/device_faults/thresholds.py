"""Smaller tables: what clock reasons mean, when port counters alarm, what NVML wants done."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal, cast

from .catalogue import load

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
    fatal: float | None
    degraded: float | None
    meaning: str


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
    return tuple(
        ClockReason(
            bit=int(row["bit"]),
            reason=str(row["reason"]),
            grade=cast("Grade", row["grade"]),
            meaning=str(row["meaning"]),
        )
        for row in load("clock_reasons")["reason"]
    )


@cache
def infiniband() -> Mapping[str, tuple[CounterThreshold, ...]]:
    """Return the thresholds by counter; a counter may have several, over different stretches."""
    found: dict[str, tuple[CounterThreshold, ...]] = {}
    for row in load("infiniband")["threshold"]:
        one = CounterThreshold(
            counter=str(row["counter"]),
            seconds=float(row["seconds"]),
            fatal=float(row["fatal"]) if "fatal" in row else None,
            degraded=float(row["degraded"]) if "degraded" in row else None,
            meaning=str(row["meaning"]),
        )
        found[one.counter] = (*found.get(one.counter, ()), one)
    return found


@cache
def recovery_actions() -> Mapping[int, RecoveryAction]:
    """Return NVML's recovery actions by number."""
    return {
        int(row["number"]): RecoveryAction(
            int(row["number"]), str(row["action"]), str(row["meaning"])
        )
        for row in load("recovery_actions")["action"]
    }
