"""One value a step where a rank writes the same values into several files.

A rank may print its loss and write it for TensorBoard as well. Of each step, what the first file
reports is sent; of the others only what is lacking, at the time that the first one gave the step.
"""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field

from ...vocabulary.samples import Sample
from .sources import Inode, LogSource

_STEP = "training.step"
_MOST_RANKS = 4096
_MOST_STEPS = 4096

_RankKey = tuple[str, int | None, object]


@dataclass(slots=True)
class _LoggedStep:
    at: float
    file: Inode
    metrics: set[str]


@dataclass(slots=True)
class _LoggingRank:
    newest: float = -1.0
    steps: OrderedDict[float, _LoggedStep] = field(default_factory=OrderedDict)
    last: dict[Inode, float] = field(default_factory=dict)
    """The step that each file is at."""
    metrics: set[str] = field(default_factory=set)
    """What is reported with steps."""


class LogOwners:
    """For one thread; bounded."""

    def __init__(self) -> None:
        self._ranks: OrderedDict[_RankKey, _LoggingRank] = OrderedDict()

    def kept(self, source: LogSource, samples: Sequence[Sample]) -> list[Sample]:
        """Return what is to be sent of the samples of one line."""
        if not samples:
            return []
        rank = next((value for name, value in samples[0].attributes if name == "rank"), None)
        key: _RankKey = (source.job, source.attempt, rank)
        known = self._ranks.get(key)
        if known is None:
            if len(self._ranks) >= _MOST_RANKS:
                self._ranks.popitem(last=False)
            known = self._ranks[key] = _LoggingRank()
        named = next((sample for sample in samples if sample.metric == _STEP), None)
        step = known.last.get(source.inode) if named is None else named.value
        if step is None:  # a log without steps: nothing, where another file has them
            return [one for one in samples if one.metric not in known.metrics]
        held = known.steps.get(step)
        again = step < known.last.get(source.inode, step)
        known.last[source.inode] = step
        if again and (held is None or held.file == source.inode):
            known.steps.clear()  # the job went back to a checkpoint
            known.newest, held = -1.0, None
        if held is None:
            if step <= known.newest or named is None:
                return []
            held = known.steps[step] = _LoggedStep(named.at, source.inode, set())
            known.newest = step
            if len(known.steps) > _MOST_STEPS:
                known.steps.popitem(last=False)
        if held.file == source.inode:
            kept = list(samples)
        else:
            kept = [
                Sample(one.metric, one.value, held.at, one.attributes)
                for one in samples
                if one.metric not in held.metrics
            ]
        held.metrics.update(one.metric for one in kept)
        known.metrics.update(held.metrics)
        return kept

    def forget(self, source: LogSource) -> None:
        """Forget a file that is no longer followed."""
        for known in self._ranks.values():
            known.last.pop(source.inode, None)
