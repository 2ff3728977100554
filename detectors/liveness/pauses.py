"""Pauses of normal life: evaluations and checkpoints, announced or survived before."""

from collections import Counter
from collections.abc import Collection

from ..window import JobWindow

TEARDOWN_SECONDS = 30.0
"""What ranks take to end after the first of them said that training is over."""

SURELY_SECONDS = 60.0
"""What a pause may take that the job has not shown before."""

SHOWN = 5
"""Pauses of one kind of which the longest says what the next one may take."""


def phase(window: JobWindow) -> str:
    """Return the phase that matters: shutdown if every rank said so, else any long-lived one.

    Where few ranks report phases, these stand for the others for TEARDOWN_SECONDS only: one rank
    that leaves the loop alone leaves the others waiting.
    """
    phases: dict[object, str] = {}
    newest = float("-inf")
    for event in window.named("training.phase"):
        phases[event.attributes.get("rank")] = str(event.attributes.get("phase", ""))
        newest = max(newest, event.at)
    counts = Counter(phases.values())
    if counts["shutdown"] and counts["shutdown"] >= len(phases):
        most = 2 * counts["shutdown"] > len(window.ranks)
        if most or window.now - newest < TEARDOWN_SECONDS:
            return "shutdown"
    for name in ("checkpoint", "eval", "init"):
        if counts[name]:
            return name
    return "train"


def longest(window: JobWindow) -> float:
    """Return the longest gap between steps that the job has survived in this attempt."""
    return window.baselines.longest_gap


def just_announced(window: JobWindow, last: float, usual: float) -> set[str]:
    """Return which pauses were announced just before the stall, or ended then: eval, checkpoint."""
    since, pausing, found = _just_before(last, usual), dict[object, str](), set[str]()
    for event in window.named("training.phase"):
        rank, said = event.attributes.get("rank"), str(event.attributes.get("phase"))
        if said in ("eval", "checkpoint"):
            pausing[rank] = said
        if event.at >= since and rank in pausing:
            found.add(pausing[rank])
        if said == "train":
            pausing.pop(rank, None)
    return found


def shown(window: JobWindow, kinds: Collection[str], last: float, usual: float) -> bool:
    """Tell whether the job has survived each of these kinds of pause often, before the newest."""
    counts = Counter[tuple[object, object]](
        (event.attributes.get("phase"), event.attributes.get("rank"))
        for event in window.named("training.phase")
        if event.at < _just_before(last, usual)
    )
    return {kind for (kind, _), count in counts.items() if count >= SHOWN}.issuperset(kinds)


def _just_before(last: float, usual: float) -> float:
    return last - max(5.0, 3 * usual)
