"""The command: it loads a detector, tries it, and says what is wrong and what was not tried."""

import argparse
import difflib
import importlib
import sys
from collections.abc import Callable, Iterator, Sequence

from ...vocabulary import metrics
from .. import selection
from ..contract import Detector
from . import DetectorTrial, listed, problems_of, trial


def main(words: Sequence[str]) -> int:
    """Print what is wrong with a detector; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="rankscope.detectors.conformance",
        description="Say what is wrong with a detector: a line each, and exit code 1.",
    )
    parser.add_argument("name", help="an entry point of rankscope.detectors, or module:Class")
    name = parser.parse_args(words).name
    try:
        detector = _loaded(name)
    except selection.SelectionError as error:
        print(error, file=sys.stderr)  # noqa: T201  a command
        return 2
    tried = trial(detector)
    for text in (*problems_of(tried), *_summary(getattr(detector, "name", name), tried)):
        print(text)  # noqa: T201  a command
    return 1 if tried.problems else 0


def _loaded(name: str) -> Detector:
    """Return the detector of an entry point or of `module:Class`. Raises SelectionError."""
    module, colon, attribute = name.partition(":")
    if colon:
        sys.path.insert(0, "")  # as with `python -m`: what lies in this folder is found
    point = None if colon else selection.entry_point(name)
    try:
        made: Callable[[], Detector] = (
            point.load() if point else getattr(importlib.import_module(module), attribute)
        )
        return made()
    except Exception as error:  # the edge of somebody else's code
        raise selection.SelectionError(f"{name}: {type(error).__name__}: {error}") from error


def _summary(name: str, tried: DetectorTrial) -> Iterator[str]:
    """Yield what it was tried on, and what is not known after it."""
    for metric in tried.unknown:
        near = difflib.get_close_matches(metric, metrics.catalogue(), n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        yield f"{name} looks for {metric}, which no source reports{hint}"
    if not tried.windows:
        return
    answer = f"{name} {'breaks' if tried.problems else 'keeps'} the contract"
    if tried.found:
        yield (
            f"{answer}; findings: {sum(tried.found.values())}, in {len(tried.found)} of "
            f"{tried.windows} windows ({listed(tried.found)})"
        )
    else:
        yield (
            f"{answer}{'' if tried.problems else ' as far as it was tried'}; it reported nothing "
            f"in any of {tried.windows} windows, so the checks of findings were not made"
        )
    if tried.unseen:
        yield (
            f"{name} never reported {', '.join(tried.unseen)}: let the example in its docstring "
            "evaluate a window in which it does, and that window is tried, too"
        )
