"""What the contract asks of every detector, tried out.

`python -m rankscope.detectors.conformance NAME`, where NAME is an entry point of
`rankscope.detectors` or `module:Class`, prints what is wrong, a line each, and exits 1 if anything.
"""

import argparse
import copy
import importlib
import math
import pickle
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from ..vocabulary import events, findings, metrics
from ..vocabulary.findings import Finding
from . import selection
from .contract import Detector
from .sketch import START, readings, sketch
from .window import JobWindow, Readings, Steps, no_processes


def problems(detector: Detector) -> list[str]:
    """Return what is wrong with a detector, a sentence each; empty where it keeps the contract."""
    drawn = windows()
    found = [*_described(detector), *_stateless(detector, drawn["a job with a slow rank"])]
    for name, window in drawn.items():
        found += [f"{text} ({name})" for text in _evaluated(detector, window)]
    healthy = _findings(detector, drawn["a healthy job"])
    kinds = findings.catalogue()
    if any(kinds[row.kind].symptom for row in healthy if row.kind in kinds):
        found.append("it reports a symptom of a healthy job")
    return list(dict.fromkeys(found))


def windows() -> dict[str, JobWindow]:
    """Return windows by what they are: healthy, in trouble, poor in data, and degenerate."""
    rng = np.random.default_rng(7)
    own = rng.normal(0.8, 0.004, (8, 80))
    healthy = _reported(own)
    slow = own.copy()
    slow[3, 50:] *= 1.4
    nothing = np.full((8, 80), np.nan)
    empty = Readings(np.full((8, 3), np.nan), np.full((8, 3), np.nan))
    made = {
        "a healthy job": healthy,
        "a job with a slow rank": _reported(slow),
        "a job that stopped": replace(healthy, now=healthy.now + 60),
        "a job whose values are all NaN": replace(
            healthy,
            steps=Steps(healthy.steps.index, nothing, dict.fromkeys(healthy.steps.planes, nothing)),
            rank_readings=dict.fromkeys(healthy.rank_readings, empty),
            processes=no_processes(),
        ),
        "a job without periodic readings": replace(healthy, rank_readings={}, host_readings={}),
    }
    for name in healthy.steps.planes:
        planes = {other: plane for other, plane in healthy.steps.planes.items() if other != name}
        made[f"a job without {name}"] = replace(
            healthy, steps=replace(healthy.steps, planes=planes)
        )
    for ranks, steps in ((0, 0), (1, 0), (1, 1), (1, 60), (2, 60)):
        made[f"a job of {ranks} ranks and {steps} steps"] = sketch(
            np.full((ranks, steps), 0.8), hosts=min(ranks, 2)
        )
    return made


def _reported(own: np.ndarray) -> JobWindow:
    """Return a job with the common planes and readings."""
    ranks, count = own.shape
    bare = sketch(own)
    at = np.arange(START, bare.now + 1, 5)
    loss = np.linspace(3.0, 2.5, count) + np.random.default_rng(1).normal(0, 0.01, own.shape)
    level = {
        "training.progress.age": 0.0,
        "process.cpu.utilization": 0.6,
        "hw.gpu.utilization": 0.9,
        "hw.power": 500.0,
        "hw.frequency|sm": 1.7e9,
        "hw.temperature|gpu": 60.0,
    }
    host = {"system.cpu.utilization": 0.3, "system.memory.usage": 1e11, "system.memory.limit": 5e11}
    return sketch(
        own,
        planes={
            "training.loss": loss,
            "training.grad_norm": loss,
            "training.tokens": 0 * loss + 4e3,
        },
        rank_readings={name: readings(at, np.full((ranks, 1), x)) for name, x in level.items()},
        host_readings={name: readings(at, np.full((2, 1), x)) for name, x in host.items()},
    )


def _described(detector: Detector) -> Iterator[str]:
    if not detector.name.isidentifier():
        yield f"its name {detector.name!r} is no word of letters, digits and _"
    if not detector.kinds:
        yield "it has no kinds of findings"
    known, signals = findings.catalogue(), {*metrics.catalogue(), *events.catalogue()}
    for kind in detector.kinds:
        if kind not in known:
            yield f"nobody describes the kind {kind}: list it in finding_kinds"
        elif unknown := sorted(set(known[kind].signals) - signals):
            yield f"the kind {kind} needs {', '.join(unknown)}, which no source reports"
    if detector.cadence_seconds < 0:
        yield "its cadence_seconds is below 0"
    text = type(detector).__doc__ or ""
    for part, why in (("Examples", "shows no example"), ("Fails", "does not say where it fails")):
        if part not in text:
            yield f"its docstring {why}"


def _stateless(detector: Detector, window: JobWindow) -> Iterator[str]:
    before = copy.deepcopy(vars(detector))
    _findings(detector, window)
    if str(before) != str(vars(detector)):
        yield "it keeps state: its attributes changed in evaluate"
    try:
        again = pickle.loads(pickle.dumps(detector))  # noqa: S301  our own bytes
    except Exception as error:  # noqa: BLE001  whatever it raises is the answer
        yield f"it cannot be pickled: {error}"
        return
    if str(vars(again)) != str(before):
        yield "it is not the same after pickling"
    try:
        type(detector)(**before)
    except TypeError as error:
        yield f"its attributes are not its parameters, so settings cannot change them: {error}"


def _evaluated(detector: Detector, window: JobWindow) -> Iterator[str]:
    try:
        first = list(detector.evaluate(window))
    except Exception as error:  # noqa: BLE001  whatever it raises is the answer
        yield f"evaluate raised {type(error).__name__}: {error}"
        return
    if first != list(detector.evaluate(window)):
        yield "the same window gave other findings"
    for finding in first:
        yield from _sound(detector, finding)
    due = detector.next_due(window)
    if not due > window.now:
        yield f"next_due answered {due}, which is not later than now"
    if len(window.ranks) > 1:
        order = np.arange(len(window.ranks))[::-1]
        if _accused(first) != _accused(_findings(detector, _turned(window, order))):
            yield "ranks in another order were accused otherwise"


def _sound(detector: Detector, finding: Finding) -> Iterator[str]:
    kind = findings.catalogue().get(finding.kind)
    if finding.kind not in detector.kinds or kind is None:
        yield f"it reported {finding.kind}, which is not among its kinds"
    elif finding.entity.type not in kind.entities:
        yield f"{finding.kind} is about a {finding.entity.type}, not {', '.join(kind.entities)}"
    numbers = (*finding.onset, *finding.window, finding.magnitude, finding.score)
    if not all(math.isfinite(number) for number in numbers):
        yield f"{finding.kind} has a number that is not finite"
    if finding.onset[0] > finding.onset[1] or finding.score < 0:
        yield f"{finding.kind} has an onset that ends before it begins, or a score below 0"
    if not finding.text.strip():
        yield f"{finding.kind} has no text"


def _turned(window: JobWindow, order: np.ndarray) -> JobWindow:
    """Return the same job with its ranks' rows in another order."""
    steps = window.steps
    planes = {name: plane[order] for name, plane in steps.planes.items()}
    return replace(
        window,
        ranks=window.ranks[order],
        host_of=window.host_of[order],
        role_of=window.role_of[order],
        hw_ids=tuple(window.hw_ids[row] for row in order.tolist()),
        pids=window.pids[order],
        last_received=window.last_received[order],
        steps=Steps(steps.index, steps.at[order], planes),
        rank_readings={name: held.of(order) for name, held in window.rank_readings.items()},
    )


def _findings(detector: Detector, window: JobWindow) -> Sequence[Finding]:
    try:
        return list(detector.evaluate(window))
    except Exception:  # noqa: BLE001  reported where the window is evaluated
        return []


def _accused(found: Sequence[Finding]) -> set[tuple[str, str]]:
    return {(finding.kind, finding.entity.id) for finding in found}


def _loaded(name: str) -> Detector:
    """Return the detector of an entry point or of `module:Class`. Raises SelectionError."""
    module, colon, attribute = name.partition(":")
    if not colon:
        return selection.plugins([name])[0]
    sys.path.insert(0, "")  # as with `python -m`: what lies in this folder is found
    try:
        made: Callable[[], Detector] = getattr(importlib.import_module(module), attribute)
        detector = made()
        findings.add(getattr(detector, "finding_kinds", ()))
    except Exception as error:  # the edge of somebody else's code
        raise selection.SelectionError(f"{name}: {type(error).__name__}: {error}") from error
    return detector


def main(words: Sequence[str]) -> int:
    """Print what is wrong with a detector; return the exit code."""
    parser = argparse.ArgumentParser(prog="rankscope.detectors.conformance", description=__doc__)
    parser.add_argument("name", help="an entry point of rankscope.detectors, or module:Class")
    try:
        detector = _loaded(parser.parse_args(words).name)
    except selection.SelectionError as error:
        print(error, file=sys.stderr)  # noqa: T201  a command
        return 2
    wrong = problems(detector)
    for text in wrong:
        print(text)  # noqa: T201  a command
    if not wrong:
        print(f"{detector.name} keeps the contract")  # noqa: T201  a command
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
