"""The phases that ranks enter, and the ends of processes between two attempts."""

import numpy as np

from .situation import CaseSituation
from .training import JobAttempt


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
        first = int(records.numbers[0]) if len(records.numbers) else 0
        for phase, at in entered:
            number = first + int(np.searchsorted(records.ends, at))
            for rank in range(len(attempt.layout.ranks)):
                case.say("phase", rank, at, phase=phase, number=number)
    if case.restart is not None:
        for rank in case.everybody:
            case.say("exit", rank, case.restart.at + 0.3, code=0)
