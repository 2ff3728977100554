"""When each detector is asked about an attempt, what it answered last, and which failed."""

import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from zlib import crc32

from ...detectors import claims
from ...detectors.contract import Detector
from ...detectors.selection import DetectorSelection
from ...detectors.window import JobWindow
from ...vocabulary.findings import Finding

APART_SECONDS = 5.0
"""Detectors of one cadence are spread over it in steps of so many seconds."""

SLOW_SECONDS, GRACE = 30.0, 0.5
"""A detector of such a cadence that has yet to look at what changed waits for the next report that
comes after it; so much of the cadence later it looks without one. Then a job that reports every
30 s is evaluated at its reports alone."""

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class DetectorAnswer:
    """When a detector was last asked, what it found, and when time alone changes that."""

    at: float
    found: tuple[Finding, ...]
    again: float
    """When it is asked again at the soonest where only data changed."""
    latest: float
    """When it looks at data that changed since, if no report comes before."""
    due: float = math.inf
    of: tuple[Any, ...] | None = None
    """The state of what a detector of steps looks at; None where that is not known."""


@dataclass(frozen=True, slots=True)
class _DetectorTurn:
    """A detector and what its class says of when it is asked: read once, not at each evaluation."""

    detector: Detector
    name: str
    cadence: float
    of_steps: bool
    waits: bool
    """Time alone may change its answer."""
    grace: float
    """By how much more than its cadence it waits for a report."""

    @classmethod
    def of(cls, detector: Detector) -> "_DetectorTurn":
        cadence = detector.cadence_seconds
        return cls(
            detector,
            detector.name,
            cadence,
            getattr(detector, "of_steps", False),  # a site's own detector need not say it
            type(detector).next_due is not Detector.next_due,
            GRACE * cadence if cadence >= SLOW_SECONDS else 0.0,
        )


class DetectorRunner:
    """The detectors in use. All of it can be pickled but the detectors: see `resume`."""

    def __init__(self, selection: DetectorSelection) -> None:
        self.selection = selection
        self.failures: dict[str, int] = {}
        """How often each detector failed."""
        self._turns: dict[int, tuple[Sequence[Detector], tuple[_DetectorTurn, ...]]] = {}
        """By the identity of what the selection returns: a site's detector need not be hashable."""

    def __getstate__(self) -> dict[str, Any]:
        """Return what a snapshot keeps: of the detectors only which they were."""
        return {**vars(self), "selection": self.selection.description, "_turns": {}}

    def resume(self, started: "DetectorRunner") -> bool:
        """Go on with the detectors that this process started with; True: they are the same."""
        same: bool = vars(self)["selection"] == started.selection.description
        self.selection = started.selection
        return same

    def found(
        self,
        window: JobWindow,
        held: dict[str, DetectorAnswer] | None = None,
        *,
        changed: bool = True,
    ) -> tuple[Finding, ...]:
        """Return what detectors find; `held`: what was asked of them before, brought up to date.

        One that was asked before answers anew where something changed, not sooner than its cadence,
        and where time alone may have changed its answer.
        """
        findings: list[Finding] = []
        now, state = window.now, None if held is None else _state(window)
        for turn in self._turns_of(window):
            asked = None if held is None else held.get(turn.name)
            if asked is not None and now < asked.due and (not changed or now < asked.again):
                if asked.found:
                    findings += asked.found
                if changed and asked.latest < asked.due:
                    asked.due = asked.latest
                continue
            of = state if turn.of_steps else None
            found: tuple[Finding, ...] = ()
            if of is None or asked is None or asked.found or asked.of != of:
                try:
                    if seen := turn.detector.evaluate(window):
                        found = claims.marked(window, seen)
                except Exception as error:  # noqa: BLE001  the edge of one detector
                    self._failed(turn.detector, window, error)
                    if held is not None:
                        held.pop(turn.name, None)
                    continue
                findings += found
            if held is None:
                continue
            again = now + turn.cadence
            if asked is None:
                again += _apart(window, turn.detector)
                held[turn.name] = DetectorAnswer(now, found, again, again + turn.grace, of=of)
            else:
                asked.at, asked.found, asked.of = now, found, of
                asked.again, asked.latest, asked.due = again, again + turn.grace, math.inf
        return tuple(findings)

    def next_due(self, window: JobWindow, held: Mapping[str, DetectorAnswer]) -> float:
        """Return when time alone could change what detectors find in a window just looked at."""
        now, due = window.now, math.inf
        for turn in self._turns_of(window):
            asked = held.get(turn.name)
            if asked is None:
                due = min(due, now + 1.0)
                continue
            if turn.waits and asked.at >= now:
                try:
                    asked.due = turn.detector.next_due(window)
                    if asked.found:
                        asked.due = min(asked.due, claims.due(window, asked.found))
                except Exception as error:  # noqa: BLE001  the edge of one detector
                    self._failed(turn.detector, window, error)
                    asked.due = now + 1.0
            due = min(due, asked.due)
        return due

    def _turns_of(self, window: JobWindow) -> tuple[_DetectorTurn, ...]:
        """Return the detectors of a job in their order."""
        detectors = self.selection.of(window.job, window.cluster)
        held = self._turns.get(id(detectors))
        if held is None or held[0] is not detectors:
            held = detectors, tuple(map(_DetectorTurn.of, detectors))
            self._turns[id(detectors)] = held
        return held[1]

    def _failed(self, detector: Detector, window: JobWindow, error: Exception) -> None:
        """Count a defect of a detector, and log its first; the others go on."""
        count = self.failures.get(detector.name, 0)
        self.failures[detector.name] = count + 1
        if count == 0:
            _log.error("detector %s failed on job %s", detector.name, window.job, exc_info=error)


def _apart(window: JobWindow, detector: Detector) -> float:
    """Return by how many seconds a detector is asked a second time later than its cadence says.

    So that detectors of one cadence, and jobs, do not all come due in the same second: by names
    alone, so that replay does the same. In steps of 5 s, as most sources report: no second is
    evaluated for it alone.
    """
    steps = int(detector.cadence_seconds // APART_SECONDS)
    return APART_SECONDS * (crc32(f"{window.job} {detector.name}".encode()) % max(steps, 1))


def _state(window: JobWindow) -> tuple[Any, ...] | None:
    """Return what is another value whenever steps, baselines, topology or events changed."""
    steps, learnt = window.steps.state, window.held_baselines
    if steps is None or learnt is None or window.placed is None:
        return None
    return (steps, learnt.frozen, window.placed.version, window.events)
