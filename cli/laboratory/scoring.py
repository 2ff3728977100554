"""`rankscope lab score`: refuses options that make no sense together, and hands on the rest."""

import argparse
import importlib.util
import math
from collections.abc import Iterator

from .complaints import wrong

_OF_A_SUITE = (
    "seed", "hours", "only", "jobs", "restart", "no_baselines", "docs", "without", "at_most",
)  # fmt: skip
"""Options that neither --compare nor --recordings looks at."""

_POINTS = 3.0


def run(arguments: argparse.Namespace) -> int:
    """Score or compare; return the exit code."""
    if text := next(_complaints(arguments), None):
        return wrong(text)
    from ...lab.scoring import command  # noqa: PLC0415  only this verb needs numpy

    if arguments.recordings is not None:
        from ...lab.scoring import recordings  # noqa: PLC0415

        return recordings.score(arguments.recordings, as_json=arguments.json)
    if arguments.compare is not None:
        within = _POINTS if arguments.within is None else arguments.within
        return command.compare(arguments.compare, within, as_json=arguments.json)
    simple = not arguments.no_baselines and arguments.suite != "quiet"
    if simple and importlib.util.find_spec("sklearn") is None:
        return wrong(
            "the simple methods need scikit-learn (pip install 'rankscope[analysis]'); leave them "
            "out with --no-baselines"
        )
    options = command.ScoringOptions(
        suite=arguments.suite,
        seed=arguments.seed,
        hours=arguments.hours,
        only=tuple(arguments.only),
        jobs=arguments.jobs or 0,
        results=arguments.results,
        restart=arguments.restart,
        with_baselines=not arguments.no_baselines,
        as_json=arguments.json,
        docs=arguments.docs,
        without=tuple(arguments.without),
        at_most=arguments.at_most,
    )
    return command.score(options)


def _complaints(given: argparse.Namespace) -> Iterator[str]:
    """Return what is wrong with the options, apart from what only the suite can say."""
    if given.suite is None:
        for name in _OF_A_SUITE:
            if getattr(given, name) not in (None, False, []):
                yield f"--{name.replace('_', '-')} is for --suite"
    if given.within is not None and given.compare is None:
        yield "--within is for --compare"
    if given.within is not None and not 0 <= given.within < math.inf:
        yield "--within: a number of points, at least 0"
    if given.seed is not None and given.seed < 0:
        yield "--seed: at least 0"
    if given.hours is not None and not 0 < given.hours < math.inf:
        yield "--hours: a number of hours, more than 0"
    if given.jobs is not None and given.jobs < 0:
        yield "--jobs: at least 1, or 0 for one a core"
    if given.at_most is not None and not given.without:
        yield "--at-most is for --without"
    if given.at_most is not None and given.at_most < 1:
        yield "--at-most: at least 1"
