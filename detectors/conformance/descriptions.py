"""What a detector says of itself, and what it holds: its kinds, its docstring, its attributes."""

import pickle
from collections.abc import Iterator
from typing import cast

from ...vocabulary import events, findings, metrics
from .. import catalogue
from ..contract import Detector


def described(detector: Detector) -> Iterator[str]:
    """Yield what is wrong with its name, kinds, cadence and docstring."""
    if not detector.name.isidentifier():
        yield f"its name {detector.name!r} is not a word of letters, digits and _"
    if any(
        one.name == detector.name and type(one) is not type(detector)
        for one in catalogue.detectors()
    ):
        yield f"its name {detector.name} is taken by a detector of Rankscope"
    if not detector.kinds:
        yield "it has no kinds of findings"
    known = findings.catalogue()
    for kind in detector.kinds:
        if kind not in known:
            yield f"nobody describes the kind {kind}: list it in finding_kinds"
        elif unknown := [name for name in known[kind].signals if not reported(name)]:
            yield f"the kind {kind} needs {', '.join(unknown)}, which no source reports"
    cadence = detector.cadence_seconds
    if not isinstance(cast("object", cadence), int | float):
        yield f"its cadence_seconds {cadence!r} is not a number"
    elif not cadence >= 0:
        yield f"its cadence_seconds {cadence} is not 0 or more"
    if "Fails" not in (type(detector).__doc__ or ""):
        yield "its docstring does not say where it fails: no sentence of it begins with Fails"


def reported(signal: str) -> bool:
    """Tell whether a metric, whatever its variant, or an event is one that sources report."""
    name = signal.partition("|")[0]
    return name in metrics.catalogue() or name in events.catalogue()


def held(detector: Detector) -> str:
    """Return what a detector holds, as text: equal while it is the same."""
    return str(vars(detector))


def kept(detector: Detector) -> Iterator[str]:
    """Yield what is wrong with what it holds: it is pickled, and made again with parameters."""
    unfit = {name: why for name, value in vars(detector).items() if (why := _unfit(value))}
    for name, why in unfit.items():
        yield f"it keeps state that cannot be pickled: its attribute {name}: {why}"
    if unfit:
        return
    if why := _unfit(detector):
        yield f"it cannot be pickled: {why}"
    elif held(pickle.loads(pickle.dumps(detector))) != held(detector):  # noqa: S301  our own bytes
        yield "it is not the same after pickling"
    try:
        type(detector)(**vars(detector))
    except Exception as error:  # noqa: BLE001  whatever it raises is the answer
        yield f"its attributes are not its parameters, so settings cannot change them: {error}"


def _unfit(value: object) -> str:
    """Return why something cannot be pickled, "" where it can be."""
    try:
        pickle.loads(pickle.dumps(value))  # noqa: S301  our own bytes
    except Exception as error:  # noqa: BLE001  whatever it raises is the answer
        return str(error)
    return ""
