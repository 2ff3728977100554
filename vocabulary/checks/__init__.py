"""Active checks: what each measures, in which unit, and what its result says about causes.

`checks.toml` has those that are measured here, `tools.toml` what results of other tools speak of.

In: the tables beside. Out: a row a check. Imports: faults, ids, row_values, tables.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Annotated, Literal, get_args

from .. import faults, row_values, tables
from ..ids import Fault

CheckVerdict = Literal["pass", "slow", "failed", "not_measured"]
"""slow: below what its like measure, by more than chance. failed: it does not work, or is past a
limit that holds everywhere. not_measured: nobody knows, and the reason says why."""
CHECK_VERDICTS: tuple[CheckVerdict, ...] = get_args(CheckVerdict)

EVENT = "check.result"
"""Name of the event that carries a result."""

_FaultId = Annotated[Fault, row_values.KnownValues("fault", faults.catalogue)]

_MOST_NATS = 4.0
"""As one family of evidence is capped: no single result settles more."""


@dataclass(frozen=True, slots=True)
class CheckedCause:
    """A cause that a check can show; `found`: how often it is slow or failed where the cause is."""

    fault: _FaultId
    found: float

    def __post_init__(self) -> None:
        """Raise ValueError for what is no probability of something that can go either way."""
        if not 0 < self.found < 1:
            raise ValueError(f"found = {self.found:g}; write a probability between 0 and 1")


@dataclass(frozen=True, slots=True)
class ActiveCheck:
    """One check. Times in seconds, values in `unit`.

    `measured`: `rankscope check` measures it; else its results are those of other tools, each with
    a unit of its own. `better`: which values are. `about`: what its results are of, a device or the
    whole host. `seconds`: what it takes at most. `devices`: how many accelerators wait for it.
    `beside_jobs`: it disturbs no job. `needs`: without what on this host or beside it there is
    nothing to measure.
    `tolerance`: the share by which a value may be worse than those of its like;
    `limit`: past it the check has failed, whoever measures it, None where there is no such limit.
    `unlike`: how often it is slow or failed where none of `causes` is.
    """

    name: str
    help: str
    about: Literal["gpu", "host"]
    causes: tuple[CheckedCause, ...]
    blind: str
    unit: str = ""
    better: Literal["more", "less"] = "more"
    seconds: float = 0.0
    devices: Literal["none", "one", "all"] = "none"
    tolerance: float = 0.05
    limit: float | None = None
    unlike: float = 0.02
    beside_jobs: bool = False
    needs: Literal["nothing", "accelerators", "peer", "ranks"] = "nothing"
    compared: bool = True
    """Whether its values are compared with those of others; else `limit` alone decides."""
    measured: bool = True

    def likelihood(self, fault: str | None) -> float:
        """Return how often it is slow or failed where this cause is; None: where none of its is."""
        for cause in self.causes:
            if cause.fault == fault:
                return cause.found
        return self.unlike

    def weights(self, fault: str) -> tuple[float, float]:
        """Return what a bad and a passed result weigh for a cause, in nats of log-odds."""
        found = self.likelihood(fault)
        bad, passed = found / self.unlike, (1 - found) / (1 - self.unlike)
        return min(math.log(bad), _MOST_NATS), max(math.log(passed), -_MOST_NATS)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedCheck:
    """One result as the report of another tool gives it. `check`: of which row of the table.

    tool: its name and version, then what it ran, in its own words. host: "" where the report names
    none; device: "" the whole host, else what the tool calls it; rank: where it names one. verdict
    None: it measured a value and judged nothing. value in `unit`; kind: what values are compared
    within; together: it is one value of several hosts. at: seconds since the epoch, None: not said.
    """

    check: str
    tool: str
    host: str = ""
    device: str = ""
    rank: int | None = None
    verdict: CheckVerdict | None = None
    reason: str = ""
    value: float | None = None
    unit: str = ""
    better: Literal["more", "less"] = "more"
    kind: str = ""
    together: bool = False
    at: float | None = None


_FOUND = re.compile(r"check ([a-z_]+) of ")


def finding_text(check: str, device: str, host: str, verdict: str, reason: str) -> str:
    """Return how a finding words a result; `of_finding` takes the check out of it again."""
    return f"check {check} of {device} on {host}: {verdict}: {reason}".rstrip(": ")


def of_finding(text: str) -> ActiveCheck | None:
    """Return the check whose result a finding words so, None where there is none."""
    found = _FOUND.match(text)
    return catalogue().get(found[1]) if found else None


@cache
def catalogue() -> Mapping[str, ActiveCheck]:
    """Return the checks by name: those that are measured, then those of other tools."""
    rows = tables.packaged(ActiveCheck, __name__, "checks.toml", "check")
    return {row.name: row for row in (*rows, *_of_tools())}


@cache
def runnable() -> Mapping[str, ActiveCheck]:
    """Return the checks that are measured here, in the file's order, in which they run."""
    return {row.name: row for row in catalogue().values() if row.measured}


def _of_tools() -> list[ActiveCheck]:
    rows = tables.packaged(ActiveCheck, __name__, "tools.toml", "check")
    return [replace(row, measured=False) for row in rows]
