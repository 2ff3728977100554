"""The phases that ranks enter, the ends of processes between two attempts, and steps of events."""

from dataclasses import replace

import numpy as np

from .effects import EventRecord
from .situation import CaseSituation
from .training import JobAttempt

_SAID_SECONDS = 0.02
"""A value is known, and said, so soon after its step has ended."""


def add(case: CaseSituation, attempts: tuple[JobAttempt, ...]) -> None:
    """Add the events; a silent loop reports the start alone."""
    silent = case.habit("silent_phases") is not None
    for attempt in attempts:
        records = attempt.records
        entered: list[tuple[str, float]] = []
        if attempt.number or not case.habit("joined_midway"):
            entered = [("init", attempt.begin + 1.0)]
            entered += [("train", float(at)) for at in records.begins[:1]]
        if not silent:
            entered += [("eval", begin) for begin, _ in records.pauses]
            entered += [("checkpoint", begin) for begin, _ in records.saves]
            entered += [("train", end) for _, end in (*records.pauses, *records.saves)]
        for phase, at in entered:
            for rank in range(len(attempt.layout.ranks)):
                case.say("phase", rank, at, phase=phase)
    if case.restart is not None:
        for rank in case.everybody:
            case.say("exit", rank, case.restart.at + 0.3, code=0)
    case.events = [_with_step(event, attempts) for event in case.events]


def _with_step(event: EventRecord, attempts: tuple[JobAttempt, ...]) -> EventRecord:
    """Return an event of training with the step in which it is; a value comes when that ends."""
    if not event.name.startswith("training."):
        return event
    records = [one for one in attempts if one.begin <= event.at][-1].records
    place = int(np.searchsorted(records.ends, event.at))
    step = (int(records.numbers[0]) if len(records.numbers) else 0) + place
    ended = event.name == "training.numeric" and place < len(records.ends)
    at = float(records.ends[place]) + _SAID_SECONDS if ended else event.at
    return replace(event, at=at, attributes={**event.attributes, "step": step})
