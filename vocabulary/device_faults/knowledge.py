"""What is known of one fault code: what it means, how grave it is, what to do, when it is over."""

from dataclasses import dataclass
from typing import Literal, cast

FaultClass = Literal["fatal", "degraded", "warning", "info", "application", "unknown"]
CLASSES: tuple[FaultClass, ...] = (
    "fatal",
    "degraded",
    "warning",
    "info",
    "application",
    "unknown",
)
"""fatal: the device computes no more, or not correctly. degraded: it works worse. warning: look at
it. info: worth knowing. application: the job's own doing. unknown: no public source says."""

RecoveryKind = Literal["reboot", "gpu_reset", "answer", "quiet", "operator"]
_MINUTE = 60.0


@dataclass(frozen=True, slots=True)
class FaultRecovery:
    """When a fault counts as over.

    reboot: with the next boot. gpu_reset: after a reset of the device, or a boot. answer: when
    the device gives readings again, or a boot. quiet: after seconds without another, or a boot.
    operator: only when a person says so.
    """

    kind: RecoveryKind
    seconds: float = 0.0

    def __str__(self) -> str:
        """Return the form in which tables and people write it."""
        if self.kind == "quiet":
            return f"quiet:{self.seconds / _MINUTE:g}"
        return self.kind


def recovery(text: str) -> FaultRecovery:
    """Read `reboot`, `gpu_reset`, `answer`, `operator` or `quiet:MINUTES`; ValueError otherwise."""
    if text in ("reboot", "gpu_reset", "answer", "operator"):
        return FaultRecovery(cast("RecoveryKind", text))
    head, _, minutes = text.partition(":")
    try:
        seconds = float(minutes) * _MINUTE
    except ValueError:
        seconds = 0.0
    if head != "quiet" or not 0 < seconds < float("inf"):
        raise ValueError(
            f"cleared_by {text!r}: write reboot, gpu_reset, answer, operator or quiet:MINUTES"
        )
    return FaultRecovery("quiet", seconds)


@dataclass(frozen=True, slots=True)
class OutsideOpinion:
    """What another public tool says of the same code."""

    tool: str
    fault_class: str
    action: str


@dataclass(frozen=True, slots=True)
class FaultKnowledge:
    """One row of the tables, or the default of its vendor.

    `immediate` and `investigate` are the actions by the names the vendor's catalogue gives them,
    "" where it gives none. With `line_decides` the log line itself says how grave it is, and the
    class here holds only where it does not. `part_of` names faults that, reported of the same
    device just before, are the same with more: then this one is evidence of theirs.
    """

    vendor: str
    code: str
    mnemonic: str
    meaning: str
    fault_class: FaultClass
    immediate: str
    investigate: str
    cleared_by: FaultRecovery
    source: str
    others: tuple[OutsideOpinion, ...] = ()
    line_decides: bool = False
    part_of: tuple[str, ...] = ()
    known: bool = True
