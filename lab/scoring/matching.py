"""The incidents of one case against its truth: found or missed, false ones, delays.

An incident *matches* where it is above info (info is enough for a fault whose severity is info in
vocabulary/faults.toml, unless the incident names another fault: a clock that is off is no answer to
devices that idle; and for an incident that names the true cause and entity: a leak that will not
fill the memory is worth knowing and pages nobody), is about the faulty job, is first reported
at such a severity between the onset and the end of the fault plus a grace, and opens no earlier
than the onset less a tolerance.
(One that was info before the onset and rose after it has taken the fault in: it may open earlier.
So may one that names the true cause and entity, by a quarter of the time that it took to find, when
a slow change in noise began is known no better; and by one reporting interval: a counter that was
higher at a report began to rise at any time since the one before.)
Where no incident matches, an observation does that is at the true entity, in the same time range,
and of a kind that costs nothing and that the fault explains: memory that grows and fills nothing.
It names no cause, so that the first cause is not right.
The first one to be reported is the answer; further matching ones are duplicates. Every other
incident above info is false. A case without a fault has no match: all of them are false.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ...alerts.causes.catalogue import cause_of
from ...vocabulary import faults, findings
from ...vocabulary.ids import Fault
from . import placing
from .seen import CaseTruth, SeenIncident

TOLERANCE_SECONDS = 10.0
TOLERANCE_STEPS = 2.0
"""How far before the onset an incident may open: onsets are estimates, by whole steps and at the
clock of a host. The larger of the two counts."""

TOLERANCE_SHARE = 0.25
"""The same for an incident that names the true cause and entity, as a share of its delay."""

GRACE_SECONDS = 60.0
GRACE_STEPS = 3.0
"""How long after its end a fault may still be found: the last step under it is reported late."""


@dataclass(frozen=True, slots=True)
class CaseOutcome:
    """What came of one case. Delays in seconds from the onset, None where nothing was found.

    `delay` is to the first report at a severity that counts, `first_report` to the first at all.
    `wrong_accusations` are incidents above info that accuse a healthy node, matching or not.
    """

    found: SeenIncident | None
    duplicates: tuple[SeenIncident, ...]
    false: tuple[SeenIncident, ...]
    wrong_accusations: tuple[SeenIncident, ...]
    exact_entity: bool = False
    right_entity: bool = False
    right_cause: bool = False
    delay: float | None = None
    first_report: float | None = None


def outcome(
    truth: CaseTruth | None,
    incidents: Sequence[SeenIncident],
    *,
    step_seconds: float,
    report_seconds: float = 0.0,
) -> CaseOutcome:
    """Return what the incidents of a case are worth.

    step_seconds: of the healthy step; report_seconds: how often hosts report.
    """
    above = [row for row in incidents if row.above_info_at is not None]
    accusing = tuple(row for row in above if placing.accuses(row, truth))
    if truth is None:
        return CaseOutcome(None, (), tuple(above), accusing)
    matching = sorted(
        (row for row in incidents if _matches(row, truth, step_seconds, report_seconds)),
        key=lambda row: (row.observed, _counts_at(row, truth), row.id),
    )
    matched = {row.id for row in matching}
    false = tuple(row for row in above if row.id not in matched)
    if not matching:
        return CaseOutcome(None, (), false, accusing)
    found, duplicates = matching[0], tuple(row for row in matching[1:] if not row.observed)
    right_entity = placing.right(found, truth)
    return CaseOutcome(
        found=found,
        duplicates=duplicates,
        false=false,
        wrong_accusations=accusing,
        exact_entity=any(placing.exact(found.entity, entity) for entity in truth.entities),
        right_entity=right_entity,
        right_cause=_named(found, truth),
        delay=_counts_at(found, truth) - truth.onset,
        first_report=max(found.detected_at - truth.onset, 0.0),
    )


def info_counts(fault: str) -> bool:
    """Return whether an incident of severity info is enough for this fault."""
    kind = faults.catalogue().get(Fault(fault))
    return kind is not None and kind.severity == "info"


def _matches(
    row: SeenIncident, truth: CaseTruth, step_seconds: float, report_seconds: float
) -> bool:
    at = _counts_at(row, truth)
    tolerance = max(TOLERANCE_SECONDS, TOLERANCE_STEPS * step_seconds)
    if _named(row, truth):
        slow = TOLERANCE_SHARE * (row.detected_at - truth.onset)
        tolerance = max(tolerance, slow, report_seconds)
    grace = max(GRACE_SECONDS, GRACE_STEPS * step_seconds)
    return (
        at < float("inf")
        and truth.job in row.jobs
        and (row.opened_at >= truth.onset - tolerance or row.detected_at < truth.onset)
        and truth.onset <= at <= truth.until + grace
    )


def _named(row: SeenIncident, truth: CaseTruth) -> bool:
    return row.fault == truth.fault and placing.right(row, truth)


def _shows(row: SeenIncident, truth: CaseTruth) -> bool:
    """Return whether an observation is what a fault shows that costs nothing, where it is."""
    cause = cause_of(Fault(truth.fault))
    shown = () if cause is None else cause.symptoms
    costless = all(
        kind in shown and findings.catalogue()[kind].effect == "none" for kind in row.symptoms
    )
    return costless and placing.at_fault(row.entity, truth)


def _counts_at(row: SeenIncident, truth: CaseTruth) -> float:
    """Return when an incident was first reported at a severity that counts, inf for never."""
    new = row.detected_at >= truth.onset
    if row.observed:
        return row.detected_at if new and _shows(row, truth) else float("inf")
    if new and info_counts(truth.fault) and row.fault in (truth.fault, faults.UNKNOWN):
        return row.detected_at
    if row.above_info_at is not None:
        return row.above_info_at
    return row.detected_at if new and _named(row, truth) else float("inf")
