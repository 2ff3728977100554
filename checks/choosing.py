"""The one check that tells the causes of an incident apart best, for what it costs. Pure.

A check has two outcomes for a cause: slow or failed, as often as the table says, or passed. Its
worth is the expected fall of the entropy over the hypotheses, in bits; its price the time that it
takes, times the devices that wait for it and the one that the open question costs meanwhile. A
cause at another host shows nothing here.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..vocabulary.checks import ActiveCheck, runnable
from ..vocabulary.faults import UNKNOWN
from ..vocabulary.information import expected_gain

LEAST_BITS = 0.02
"""What gains less settles nothing."""
ROUND_SECONDS = 15.0
"""Until a check has begun and its result is ranked, however short it is."""
WAITING = 1
"""Devices that an open question costs: until it is settled the job stays slow, or stands."""


@dataclass(frozen=True, slots=True)
class SuspectedCause:
    """One hypothesis: a fault, where it would be, and how probable it is. `fault` None: unknown."""

    fault: str | None
    host: str | None
    probability: float


@dataclass(frozen=True, slots=True)
class ChosenCheck:
    """A check with what it is expected to gain (bits) and to cost (device-seconds)."""

    check: ActiveCheck
    gain: float
    cost: float

    @property
    def worth(self) -> float:
        """Return the bits that a device-second gains, the seconds until it is known counted too."""
        return self.gain / (self.cost + WAITING * (ROUND_SECONDS + self.check.seconds))


def suspected(document: Mapping[str, Any]) -> list[SuspectedCause]:
    """Return the hypotheses of an incident document, their probabilities summing to 1."""
    rows = document["root_cause"]["hypotheses"]
    known = [row["probability"] for row in rows]
    # Without a calibration: by the scores, as the engine does.
    top = max((row["score"] for row in rows), default=0.0)
    raw = [
        math.exp(row["score"] - top) if value is None else float(value)
        for row, value in zip(rows, known, strict=True)
    ]
    found = [
        SuspectedCause(
            None if row["fault"] == UNKNOWN else row["fault"], row["entity"]["host"], weight
        )
        for row, weight in zip(rows, raw, strict=True)
    ]
    left = 1 - sum(raw) if all(value is not None for value in known) else 0.0
    if left > 0:
        found.append(SuspectedCause(None, None, left))
    total = sum(row.probability for row in found) or 1.0
    return [SuspectedCause(row.fault, row.host, row.probability / total) for row in found]


def hosts(document: Mapping[str, Any], of_job: Sequence[str] = ()) -> list[str]:
    """Return the hosts of the hypotheses that some check can show, the most probable first.

    What is at no host any of the job's can show: the first of `of_job`, whose first rank does what
    one rank does for all.
    """
    shown = {cause.fault for check in runnable().values() for cause in check.causes}
    rows = [row for row in suspected(document) if row.fault in shown]
    found = [str(row.host) for row in rows if row.host]
    if any(row.host is None for row in rows):
        found += of_job[:1]
    return list(dict.fromkeys(found))


def ranked(
    causes: Sequence[SuspectedCause],
    *,
    host: str,
    devices: int,
    among: Collection[str] | None = None,
    past: Collection[str] = (),
) -> list[ChosenCheck]:
    """Return the checks that gain something at a host, the best first.

    devices: accelerators of the host, which wait for those checks that take all. among: names that
    may run; past: those that were run for this incident already.
    """
    found: list[ChosenCheck] = []
    for check in runnable().values():
        if check.name in past or (among is not None and check.name not in among):
            continue
        bits = gain(check, causes, host)
        if bits >= LEAST_BITS:
            found.append(ChosenCheck(check, bits, cost(check, devices)))
    return sorted(found, key=lambda row: (-row.worth, row.check.name))


def cost(check: ActiveCheck, devices: int) -> float:
    """Return the device-seconds that a check keeps of a host with so many accelerators."""
    busy = {"none": 0, "one": 1, "all": max(devices, 1)}[check.devices]
    return check.seconds * busy


def gain(check: ActiveCheck, causes: Sequence[SuspectedCause], host: str) -> float:
    """Return by how many bits a check at a host is expected to narrow these causes down."""
    bad = [
        check.likelihood(row.fault) if row.host in (None, host) else check.unlike for row in causes
    ]
    return expected_gain([row.probability for row in causes], bad)
