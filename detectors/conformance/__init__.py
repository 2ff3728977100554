"""What the contract asks of every detector, tried out.

`python -m rankscope.detectors.conformance NAME`, where NAME is an entry point of
`rankscope.detectors` or `module:Class`, prints what is wrong, a line each, and exits 1 if anything.
It is tried on the windows of drawn.py and on those that the example in its docstring evaluates.

In: a detector. Out: what is wrong with it, a sentence each. Imports: vocabulary; catalogue,
contract, features, findings, members, readings, selection, sketch, window.
"""

from collections.abc import Collection
from dataclasses import dataclass, field

from ...vocabulary import findings
from ..contract import Detector
from ..members import add_kinds, missing
from . import descriptions, drawn, evaluations, examples

EXAMPLE = "its docstring's example"


@dataclass(slots=True)
class DetectorTrial:
    """What came of trying a detector.

    problems: what is wrong, by the windows where it was, none where it is so anyway. windows: how
    many it was tried on. found: how many findings each gave, of those that gave any. unseen: its
    kinds that none gave. unknown: metrics that it looked for and that no source reports.
    """

    problems: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    windows: int = 0
    found: dict[str, int] = field(default_factory=dict[str, int])
    unseen: list[str] = field(default_factory=list[str])
    unknown: list[str] = field(default_factory=list[str])


def problems(detector: Detector) -> list[str]:
    """Return what is wrong with a detector, a sentence each; empty where it keeps the contract."""
    return problems_of(trial(detector))


def problems_of(tried: DetectorTrial) -> list[str]:
    """Return what came out wrong, a sentence each, with the windows where it did."""
    return [
        text + (f" ({listed(where)})" if where else "") for text, where in tried.problems.items()
    ]


def trial(detector: Detector) -> DetectorTrial:
    """Try a detector, its own kinds of findings being known from then on."""
    made = DetectorTrial()
    wrong = [*missing(detector), *add_kinds(detector)]
    if wrong:
        made.problems = {text: [] for text in wrong}
        return made
    failed, shown = examples.run(type(detector))
    made.problems = {text: [] for text in (*descriptions.described(detector), *failed)}
    before, asked, seen = descriptions.held(detector), set[str](), set[str]()
    tried = drawn.windows(asked) | {
        EXAMPLE + (f", window {number}" if number > 1 else ""): window
        for number, window in enumerate(shown, start=1)
    }
    kinds = findings.catalogue()
    for name in tuple(tried):
        done = evaluations.evaluated(detector, tried[name])
        for text in dict.fromkeys(done.problems):
            made.problems.setdefault(text, []).append(name)
        if done.findings:
            made.found[name] = len(done.findings)
        reported = {finding.kind for finding in done.findings}
        seen |= reported
        if name == drawn.HEALTHY and any(kinds[kind].symptom for kind in reported & kinds.keys()):
            made.problems["it reports a symptom of a healthy job"] = []
        if done.spoilt:  # what it wrote into is in other windows, too
            tried |= drawn.windows(asked)
    if descriptions.held(detector) != before:
        made.problems["it keeps state: its attributes changed in evaluate"] = []
    made.problems |= {text: [] for text in descriptions.kept(detector)}
    made.windows = len(tried)
    made.unseen = [kind for kind in detector.kinds if kind not in seen]
    made.unknown = sorted(name for name in asked if not descriptions.reported(name))
    return made


def listed(names: Collection[str], most: int = 3) -> str:
    """Return names in one line: the first of them, and how many others there are."""
    shown = ", ".join(list(names)[:most])
    return shown + (f" and {len(names) - most} others" if len(names) > most else "")
