"""What speaks against an action that is planned, looked at until the moment it starts."""

from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from ...vocabulary.clock import Clock
from ...vocabulary.remedies import EXCLUDING
from ..settings.actions import ActionsSettings
from ..store import mutes
from ..store.mutes import DeliveryMute
from ..store.remedy_rows import RemedyRecord
from ..windows.queries import JobSummary
from . import verdicts
from .freshness import VerdictFreshness
from .outcomes import AS_FAST
from .verdicts import NoRemedy

_AHEAD_SECONDS = 5.0
"""A verdict may be so far in the future: clocks of two machines."""
_MOST_AHEAD_SECONDS = 60.0
"""A plan that is further in the future was made by a clock that was set back since."""
_MOVES_SECONDS = 60.0
"""So long after a step of a job that stood nobody calls it stopped."""
_MOST_WATCHED = 1000


class KeptIncidents(Protocol):
    """What is needed of the store beside the record of actions."""

    def incident(self, identity: str) -> dict[str, Any] | None:
        """Return an incident's document, None when there is none."""
        ...

    def active_mutes(self, now: float) -> list[DeliveryMute]:
        """Return the silences and maintenance windows that hold at `now`."""
        ...


@dataclass(slots=True)
class WatchedSteps:
    """The newest step of a job whose action is planned, and when it was seen to end, if any was.

    `usual`: seconds of a step without the fault, None where the job stood or was not slow.
    """

    attempt: int
    step: int | None
    usual: float | None
    moved_at: float | None = None


@dataclass(frozen=True, slots=True)
class RemedyDoubt:
    """Why an action is not to start; `lasting`: it never will."""

    why: str
    lasting: bool = False


class RemedyDoubts:
    """Compares a planned action with how things are now."""

    def __init__(
        self,
        *,
        settings: ActionsSettings,
        executors: Container[str],
        incidents: KeptIncidents,
        fresh: VerdictFreshness,
        clock: Clock,
    ) -> None:
        """`clock` is that of evaluation."""
        self._settings = settings
        self._executors = executors
        self._incidents = incidents
        self._fresh = fresh
        self._clock = clock
        self._watched: dict[str, WatchedSteps] = {}

    def about(
        self, row: RemedyRecord, summary: JobSummary | None, now: float
    ) -> RemedyDoubt | None:
        """Return what speaks against an action, None: nothing."""
        mode = self._settings.mode
        if mode != row.mode:
            return RemedyDoubt(f"actions.mode is {mode} by now", lasting=True)
        if row.mode == "act" and row.executor not in self._executors:
            return RemedyDoubt(f"executor {row.executor} is not in the settings", lasting=True)
        if row.planned_at > now + _MOST_AHEAD_SECONDS:
            return RemedyDoubt("it was planned in the future: the clock was set back", lasting=True)
        document = self._incidents.incident(row.incident)
        if document is None:
            return RemedyDoubt("the incident is not kept any more", lasting=True)
        return (
            self._about_cause(row, document)
            or _about_job(row, summary)
            or self._about_steps(row, summary, document)
            or self._about_now(row, document, now)
        )

    def about_rest(self, row: RemedyRecord) -> RemedyDoubt | None:
        """Return what speaks against the rest of an action that was started, None: nothing."""
        document = self._incidents.incident(row.incident)
        if document is None:
            return RemedyDoubt("the incident is not kept any more", lasting=True)
        return self._about_cause(row, document) or self._about_age(row)

    def _about_cause(self, row: RemedyRecord, document: Mapping[str, Any]) -> RemedyDoubt | None:
        found = verdicts.verdict(document, self._settings)
        if isinstance(found, NoRemedy):
            return RemedyDoubt(found.why, lasting=found.lasting)
        if (found.fault, found.host) != (row.fault, row.host):
            what = f"{found.fault} on {found.host}"
            return RemedyDoubt(f"the first cause is {what} by now", lasting=True)
        if found.entity["id"] != row.entity["id"] and row.action != "exclude_node":
            return RemedyDoubt(f"the first cause is at {found.entity['id']} by now", lasting=True)
        return None

    def _about_steps(
        self, row: RemedyRecord, summary: JobSummary | None, document: Mapping[str, Any]
    ) -> RemedyDoubt | None:
        """Hold back while a job goes on as usual again: evaluation takes a while to say so."""
        if summary is None:
            return None
        slowdown, seconds = document["impact"]["slowdown"], summary.step_seconds
        now, seen = self._clock.now(), self._watched.get(row.id)
        if seen is None or seen.attempt != summary.attempt:
            if len(self._watched) >= _MOST_WATCHED:
                del self._watched[next(iter(self._watched))]
            usual = None
            if seconds is not None and slowdown is not None and slowdown > AS_FAST:
                usual = seconds / slowdown
            self._watched[row.id] = WatchedSteps(summary.attempt, summary.last_step, usual)
            return None
        if slowdown is not None:
            fast = (
                seconds is not None and seen.usual is not None and seconds <= AS_FAST * seen.usual
            )
            return RemedyDoubt("the job is as fast as usual again") if fast else None
        if summary.last_step is not None and summary.last_step > (seen.step or -1):
            seen.step, seen.moved_at = summary.last_step, now
        if seen.moved_at is None or now - seen.moved_at > _MOVES_SECONDS:
            return None
        return RemedyDoubt("the job makes steps again")

    def _about_now(
        self, row: RemedyRecord, document: Mapping[str, Any], now: float
    ) -> RemedyDoubt | None:
        mute = mutes.holding(self._incidents.active_mutes(now), document)
        if mute is not None:
            return RemedyDoubt(f"{mute.kind} {mute.id} holds")
        return self._about_age(row)

    def _about_age(self, row: RemedyRecord) -> RemedyDoubt | None:
        age = self._fresh.age(row.incident, self._clock.now())
        if age is None or not -_AHEAD_SECONDS <= age <= self._settings.fresh_seconds:
            return RemedyDoubt("evaluation has not renewed the verdict")
        return None


def _about_job(row: RemedyRecord, summary: JobSummary | None) -> RemedyDoubt | None:
    # A job that somebody restarted on the same bad node is as badly off as before.
    if row.action in EXCLUDING or summary is None or summary.attempt <= row.attempt:
        return None
    text = f"the job is in attempt {summary.attempt} by now: somebody restarted it"
    return RemedyDoubt(text, lasting=True)
