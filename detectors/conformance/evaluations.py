"""What a detector does with one window, and what it reports of it."""

import io
import math
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from ...vocabulary import findings
from ...vocabulary.findings import Finding
from ..contract import Detector
from ..findings import report
from ..window import JobWindow
from . import writes
from .descriptions import reported
from .turned import turned


@dataclass(slots=True)
class WindowEvaluation:
    """What one window gave. spoilt: the window was written into, and is of no more use."""

    findings: list[Finding] = field(default_factory=list[Finding])
    problems: list[str] = field(default_factory=list[str])
    spoilt: bool = False


def evaluated(detector: Detector, window: JobWindow) -> WindowEvaluation:
    """Evaluate a window, again, and with its ranks in another order; return what is wrong."""
    before = dict(writes.contents(window))
    made = WindowEvaluation()
    result, made.problems = _quietly("evaluate", lambda: detector.evaluate(window))
    if written := writes.written(window, before):
        made.spoilt = True
        made.problems.append(
            f"evaluate writes into the window, which all detectors share: {written[0]}; copy it"
        )
    if made.problems and result is None:
        return made
    if not isinstance(result, Sequence) or isinstance(result, str):
        made.problems.append(f"evaluate returned a {type(result).__name__}, not a list of findings")
        return made
    for one in cast("Sequence[object]", result):
        if isinstance(one, Finding):
            made.findings.append(one)
            made.problems += _sound(detector, window, one)
        else:
            made.problems.append(
                f"evaluate returned a list with a {type(one).__name__} in it, not a Finding "
                f"({report.__module__}.{report.__name__} makes one)"
            )
    if made.spoilt:
        return made
    made.problems += _due(detector, window)
    if _texts(_findings(detector, window)) != _texts(made.findings):
        made.problems.append("the same window gave other findings")
    elif len(window.ranks) > 1:
        other = _findings(detector, turned(window))
        if _accused(other) != _accused(made.findings):
            made.problems.append("ranks in another order were accused otherwise")
    return made


def _quietly(name: str, call: Callable[[], object]) -> tuple[object, list[str]]:
    """Return what a method answers, None where it raises, and what else it did."""
    found: list[str] = []
    result: object = None
    printed = io.StringIO()
    with (
        warnings.catch_warnings(record=True) as warned,
        redirect_stdout(printed),
        redirect_stderr(printed),
    ):
        warnings.simplefilter("always")
        try:
            result = call()
        except Exception as error:  # noqa: BLE001  whatever it raises is the answer
            last = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{Path(last.filename).name}, line {last.lineno}"
            found.append(f"{name} raised {type(error).__name__}: {error} ({where})")
    if printed.getvalue():
        found.append(f"{name} prints, and may do nothing but answer")
    found += [f"{name} warns: {one.category.__name__}: {one.message}" for one in warned]
    return result, found


def _due(detector: Detector, window: JobWindow) -> list[str]:
    due, found = _quietly("next_due", lambda: detector.next_due(window))
    if found:
        return found
    if not isinstance(due, int | float):
        return [f"next_due returned a {type(due).__name__}, not seconds since the epoch"]
    return [] if due > window.now else [f"next_due returned {due}, which is not later than now"]


def _sound(detector: Detector, window: JobWindow, finding: Finding) -> Iterator[str]:
    kind = findings.catalogue().get(finding.kind)
    if finding.kind not in detector.kinds or kind is None:
        yield f"it reported {finding.kind}, which is not among its kinds"
    elif finding.entity.type not in kind.entities:
        yield f"{finding.kind} is about a {finding.entity.type}, not {', '.join(kind.entities)}"
    if finding.detector != detector.name:
        yield f"{finding.kind} is by the detector {finding.detector!r}, not {detector.name!r}"
    if (finding.job, finding.attempt) != (window.job, window.attempt):
        yield f"{finding.kind} is about another job or attempt than the window's"
    numbers: dict[str, Sequence[object]] = {
        "onset": finding.onset,
        "window": finding.window,
        "magnitude": (finding.magnitude,),
        "score": (finding.score,),
    }
    odd = {name for name, held in numbers.items() if not all(map(_finite, held))}
    for name in sorted(odd):
        shown = ", ".join(str(number) for number in numbers[name] if not _finite(number))
        yield f"the {name} of {finding.kind} is {shown}, which is not a finite number"
    latest = max([window.now, *(event.at for event in window.events)])  # by the clocks of hosts
    if "onset" not in odd:
        first, last = finding.onset
        if first > last:
            yield f"the onset of {finding.kind} ends {first - last:g} s before it begins"
        if last > latest:
            yield f"the onset of {finding.kind} is {last - window.now:g} s later than now"
    if "window" not in odd and finding.window[0] > finding.window[1]:
        yield f"the window of {finding.kind} ends before it begins"
    if "score" not in odd and finding.score < 0:
        yield f"the score of {finding.kind} is {finding.score:g}, below 0"
    if not reported(finding.signal):
        yield f"{finding.kind} has the signal {finding.signal!r}, which no source reports"
    if not finding.text.strip():
        yield f"{finding.kind} has no text"


def _finite(number: object) -> bool:
    return isinstance(number, int | float) and math.isfinite(number)


def _findings(detector: Detector, window: JobWindow) -> list[Finding]:
    """Return what a window gives, nothing where it cannot be evaluated."""
    result, _ = _quietly("evaluate", lambda: detector.evaluate(window))
    held = cast("Sequence[object]", result) if isinstance(result, Sequence) else ()
    return [one for one in held if isinstance(one, Finding)]


def _texts(found: Sequence[Finding]) -> list[str]:
    """Return findings as texts: equal where they are, to the digit and NaN included."""
    return [repr(finding) for finding in found]


def _accused(found: Sequence[Finding]) -> set[tuple[str, str]]:
    return {(finding.kind, finding.entity.id) for finding in found}
