"""How bad an incident is: as its first cause usually is, within what the symptoms make certain."""

from collections.abc import Sequence

from ..vocabulary import faults
from ..vocabulary import findings as kinds
from ..vocabulary.counterfactuals import StepComparison
from ..vocabulary.faults import SEVERITIES, Severity
from ..vocabulary.findings import Finding
from ..vocabulary.ids import Fault
from ..vocabulary.incidents import RootCause
from .causes.catalogue import catalogue, cause_of
from .causes.left_over import URGENT

UNNAMED_SECONDS, UNNAMED_STEPS = 60.0, 3.0
"""What has no named cause, or one that barely beats unknown, pages nobody for so long after it was
found; slowness for so many steps where they take longer: one more step proves little."""

SLIGHT_SLOWDOWN = 1.15
"""Steps that are longer by less are slightly longer."""

MUCH_SLOWDOWN = 1.25
"""From here on steps are much longer: a fifth of the job's devices is lost."""

SURE_OF_HANG = 0.95
"""The probability from which on a cause that hangs jobs makes a stall certain: the job stands still
in any case."""

NOTHING_GAINED = 0.02
"""A gain below this share of a step, at the far end of its 90 % interval, is none."""

COSTLY_SLOWDOWN = 1.5
"""A job whose steps take so many times longer loses a third of its GPUs: that pages."""


def severity(
    symptoms: Sequence[Finding],
    cause: RootCause,
    lasted: float,
    step_seconds: float = 0.0,
    *,
    costly: bool = True,
    steps: StepComparison | None = None,
) -> Severity:
    """Return the severity of symptoms that were first found `lasted` seconds ago.

    `step_seconds`: how long a step of the job usually takes, 0 where nobody can tell. `costly`:
    they have cost so much by now that somebody would look at slowness that waits for its cost,
    which is info before. `steps`: the job's steps with and without the cause, where they were
    compared.

    A stall starts as info: evaluation or a checkpoint may explain it; the score of its detector
    rises when that is over, or a device or driver that hangs explains it for certain; what else the
    incident shows (a port that is down) counts as it would without the stall. A job that stopped
    for certain is no news of little weight, whatever its cause usually is. A page at night is for
    what is certain or costly: where nothing has stopped, a cause of low confidence is a warning at
    most. What only slows the job is a warning at most below COSTLY_SLOWDOWN: a port that is down
    pages when the job stalls, not while it goes on by another way. What slows the job, or will harm
    it later, pages nobody while its detector scores it below 1; nor does what may have corrupted
    it. What costs the job nothing and is barely worth reporting (a row remap that waits for a
    reset) is info, whatever its fault usually is, and makes nothing else worse that happens beside
    it (a clock that is off, of a job whose batches are uneven as ever). What is only claimed makes
    nothing worse: alone it is info. So is a slow device or rank without which the job would be no
    faster, where the job is as fast as ever.
    """
    symptoms = [symptom for symptom in symptoms if not symptom.claimed]
    if not symptoms:
        return "info"
    if steps is not None and slows_nobody(symptoms, steps):
        return "info"
    level = _severity(symptoms, cause, lasted, step_seconds, stalled=False)
    return level if costly or not waits_for_its_cost(symptoms, cause) else "info"


def slows_nobody(symptoms: Sequence[Finding], steps: StepComparison) -> bool:
    """Return whether symptoms are slowness alone, and steps without their cause would take no less.

    Measured by what ranks do in a step, and with certainty. Where the job's own steps are found to
    be long the cause is another one, and the slowness stays what it is.
    """
    only_slow = all(
        kinds.catalogue()[symptom.kind].slowdown and symptom.entity.type != "job"
        for symptom in symptoms
    )
    least = (1 - NOTHING_GAINED) * steps.step_seconds
    return only_slow and steps.basis == "phases" and steps.without.low > least


def waits_for_its_cost(symptoms: Sequence[Finding], cause: RootCause) -> bool:
    """Return whether slowness is worth a person's time only once it has cost enough of the job's.

    So where no cause is named, and where steps are slightly longer, on all ranks, for a reason that
    passes by itself: storage and loaders of a busy cluster are slower for minutes again and again.
    """
    if is_unnamed_slowness(symptoms, cause):
        return True
    first = cause.hypotheses[0]
    known = cause_of(first.fault)
    if known is None or not known.passes or first.entity.type != "job":
        return False
    rows = [(kinds.catalogue()[symptom.kind], symptom.magnitude) for symptom in symptoms]
    slight = bool(rows) and all(row.slowdown and size < SLIGHT_SLOWDOWN for row, size in rows)
    return slight and not _follows_a_change(cause)


def is_unnamed_slowness(symptoms: Sequence[Finding], cause: RootCause) -> bool:
    """Return whether all that is known is that steps are long: no cause, and no change before."""
    if cause.hypotheses[0].fault != faults.UNKNOWN or _follows_a_change(cause):
        return False
    return bool(symptoms) and all(kinds.catalogue()[s.kind].slowdown for s in symptoms)


def is_of_the_exchange(symptoms: Sequence[Finding], cause: RootCause) -> bool:
    """Return whether steps are much longer since collectives are slow that nobody is late for.

    A job may make its own steps longer (larger batches, longer sequences): then its ranks work for
    longer. What it hands to the network takes longer only by what is between its devices.
    """
    much = any(
        kinds.catalogue()[symptom.kind].slowdown and symptom.magnitude >= MUCH_SLOWDOWN
        for symptom in symptoms
    )
    return much and _is_shown(cause, "job.slow_collectives")


def _follows_a_change(cause: RootCause) -> bool:
    return _is_shown(cause, "job.slow_since_change")


def _is_shown(cause: RootCause, kind: str) -> bool:
    return any(
        term.relation == "supports" and term.kind == kind
        for row in cause.hypotheses
        for term in row.evidence
    )


def _severity(
    symptoms: Sequence[Finding],
    cause: RootCause,
    lasted: float,
    step_seconds: float,
    *,
    stalled: bool,
) -> Severity:
    first = faults.catalogue()[cause.hypotheses[0].fault]
    named = first.id != faults.UNKNOWN
    serious = [s for s in symptoms if kinds.catalogue()[s.kind].effect in ("stops", "corrupts")]
    if serious:
        certain = max(symptom.score for symptom in serious)
        only_stalled = all(symptom.kind == "job.stalled" for symptom in serious)
        known = cause_of(first.id)
        hangs = known is not None and known.hangs_job
        if only_stalled and hangs and (cause.hypotheses[0].probability or 0.0) >= SURE_OF_HANG:
            return first.severity
        if only_stalled or not named:
            level: Severity = "critical" if certain >= 3 else "warning" if certain >= 2 else "info"
            beside = [symptom for symptom in symptoms if symptom not in serious]
            without: Severity = "info"
            if beside:
                without = _severity(beside, cause, lasted, step_seconds, stalled=True)
            return without if worse(without, level) else level
        if certain >= 2 and first.severity == "info":
            return "critical" if certain >= 3 else "warning"
        return first.severity if certain >= 2 else "warning" if certain >= 1 else "info"
    if all(symptom.score < 1 or _only_beside(symptom, first.id) for symptom in symptoms):
        return "info"
    barely = cause.hypotheses[0].score < cause.unknown.score + catalogue().weights.certain
    slows = any(kinds.catalogue()[symptom.kind].effect == "slows" for symptom in symptoms)
    wait = max(UNNAMED_SECONDS, UNNAMED_STEPS * step_seconds if slows else 0.0)
    if (not named or barely) and lasted < wait:
        return "info"
    if all(kinds.catalogue()[s.kind].effect == "none" and s.score < URGENT for s in symptoms):
        return "info"
    if first.severity == "critical" and cause.hypotheses[0].confidence == "low":
        return "warning"  # nothing has stopped, and what will is not certain: no page at night
    if first.severity == "critical" and not stalled and _slows_a_little(symptoms):
        return "warning"
    return first.severity


def _only_beside(symptom: Finding, fault: Fault) -> bool:
    """Return whether a symptom that costs nothing has joined a fault that does not explain it."""
    if kinds.catalogue()[symptom.kind].effect != "none" or symptom.score >= URGENT:
        return False
    cause = cause_of(fault)
    return cause is None or symptom.kind not in cause.symptoms


def _slows_a_little(symptoms: Sequence[Finding]) -> bool:
    """Return whether symptoms cost the job some of its time, and threaten nothing else."""
    rows = [(kinds.catalogue()[symptom.kind], symptom.magnitude) for symptom in symptoms]
    costly = any(kind.slowdown and magnitude >= COSTLY_SLOWDOWN for kind, magnitude in rows)
    return not costly and all(kind.effect == "slows" for kind, _ in rows)


def worse(one: Severity, other: Severity) -> bool:
    """Return whether one severity is worse than another."""
    return SEVERITIES.index(one) < SEVERITIES.index(other)
