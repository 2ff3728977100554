"""What came of an action: did the job regain its steps, and their speed? Pure.

Who carried it out may say what it likes: the answer is read from the job's own steps.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...vocabulary.remedies import RESTARTING, RemedyOutcome
from ..store.remedy_rows import RemedyRecord
from ..windows.queries import RECENT_STEPS, JobSummary

AS_FAST = 1.15
"""A step may take so many times as long as usual: the caches are cold, a neighbour is another."""
NEW_ATTEMPT_STEPS = 5
"""Steps of a new attempt that are enough: none of them is of before."""
SAME_ATTEMPT_STEPS = RECENT_STEPS + 1
"""Where the attempt is the same, the median must hold steps of after the action alone."""
FEWEST_STEPS = 2
WATCHED_SECONDS, WATCHED_STEPS = 60.0, 10.0
"""Who has looked at the job for less, in seconds and in usual steps, cannot say that it stands: a
collector that was away meanwhile saw no step begin."""


@dataclass(frozen=True, slots=True)
class JobMeasures:
    """A job before an action. `before_seconds`: of a step, None where none ended any more.

    `usual_seconds`: of a step of this job when nothing is wrong, None where that is not known.
    """

    before_seconds: float | None
    usual_seconds: float | None
    attempt: int
    last_step: int | None
    ranks: int

    def document(self) -> dict[str, Any]:
        return {
            "before_seconds": self.before_seconds,
            "usual_seconds": self.usual_seconds,
            "attempt": self.attempt,
            "last_step": self.last_step,
            "ranks": self.ranks,
        }


@dataclass(frozen=True, slots=True)
class RemedyResult:
    """What came of an action; `after_seconds` of a step, None where none ended."""

    outcome: RemedyOutcome
    after_seconds: float | None
    text: str


def measured(summary: JobSummary | None, slowdown: float | None) -> dict[str, Any]:
    """Return what a job does before an action, ready to be kept; nothing of a job without steps.

    `slowdown` is the incident's: None where the job is stopped.
    """
    if summary is None:
        return {}
    step = summary.step_seconds
    # The newest steps of a job that is stopped are those of before.
    usual = step if step is None or slowdown is None else step / slowdown
    return JobMeasures(
        before_seconds=None if slowdown is None else step,
        usual_seconds=usual,
        attempt=summary.attempt,
        last_step=summary.last_step,
        ranks=summary.ranks,
    ).document()


@dataclass(slots=True)
class StepsSince:
    """The first step of a job that was seen after an action, in which attempt, and when."""

    attempt: int
    step: int | None
    seen_at: float = 0.0

    def of(self, summary: JobSummary) -> int:
        """Return how many steps ended since then; a new attempt begins to count anew."""
        if summary.attempt != self.attempt:
            self.attempt, self.step = summary.attempt, summary.last_step
        if self.step is None:
            self.step = summary.last_step
        if self.step is None or summary.last_step is None:
            return 0
        self.step = min(self.step, summary.last_step)
        return summary.last_step - self.step


def result(
    row: RemedyRecord, summary: JobSummary | None, since: StepsSince, now: float, *, within: float
) -> RemedyResult | None:
    """Return what came of an action that is done; None while that is too early to say.

    `within`: the seconds that the job has for it.
    """
    usual = float(row.measured.get("usual_seconds") or 0.0)
    watched = min(within, max(WATCHED_SECONDS, WATCHED_STEPS * usual))
    over = now - (row.ended_at or now) >= within and now - since.seen_at >= watched
    if row.action not in RESTARTING:
        return _unseen("the job is held until a person says") if over else None
    if summary is None or not row.measured:
        return _unseen("nothing was received of the job") if over else None
    before: Mapping[str, Any] = row.measured
    steps = since.of(summary)
    anew = summary.attempt != before["attempt"]
    where = f"attempt {summary.attempt}" if anew else "the same attempt"
    if steps >= (NEW_ATTEMPT_STEPS if anew else SAME_ATTEMPT_STEPS) or (
        over and steps >= FEWEST_STEPS
    ):
        found = _by_speed(before, summary, f"{steps} steps of {where}")
        # A job that still gathers way is given its time.
        return found if over or found.outcome == "recovered" else None
    if not over:
        return None
    if now - summary.last_received > within / 2:
        return _unseen("the job ended, or nothing was received of it")
    return RemedyResult("not_recovered", None, f"no step ended within {within:.0f} s")


def _by_speed(before: Mapping[str, Any], summary: JobSummary, what: str) -> RemedyResult:
    step, usual = summary.step_seconds, before["usual_seconds"]
    if step is None or usual is None:
        return RemedyResult("recovered", step, what)
    text = f"{what}, {step:.3g} s a step, usually {usual:.3g} s"
    if summary.ranks != before["ranks"]:
        # As many steps of fewer ranks are not as long as before.
        text = f"{text}; {summary.ranks} ranks in place of {before['ranks']}"
        return RemedyResult("recovered", step, text)
    fast = step <= AS_FAST * usual
    return RemedyResult("recovered" if fast else "not_recovered", step, text)


def _unseen(why: str) -> RemedyResult:
    return RemedyResult("undetermined", None, why)
