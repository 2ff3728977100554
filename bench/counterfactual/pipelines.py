"""How long the pipelines of a step take, micro-batch by micro-batch, one forward one backward.

Stage s runs as many forwards ahead as there are stages after it, then a backward after each
forward, then the backwards that are left. A forward waits for that of the stage before, a backward
for that of the stage after.
"""

import numpy as np

from rankscope.detectors.arrays import Floats

_Operation = tuple[str, int]


def schedule(stage: int, stages: int, batches: int) -> list[_Operation]:
    """Return what a stage runs, in order: "forward" or "backward", and of which micro-batch."""
    ahead = min(stages - 1 - stage, batches)
    found: list[_Operation] = [("forward", number) for number in range(ahead)]
    for number in range(batches):
        if ahead + number < batches:
            found.append(("forward", ahead + number))
        found.append(("backward", number))
    return found


def span(forward: Floats, backward: Floats) -> Floats:
    """Return [steps], when the last pipeline of a step has ended (s).

    Both [stages, micro-batches, steps, pipelines], seconds.
    """
    stages, batches = forward.shape[:2]
    works = {"forward": forward, "backward": backward}
    ends: dict[tuple[str, int, int], Floats] = {}
    free = [np.zeros(forward.shape[2:]) for _ in range(stages)]
    left = [schedule(stage, stages, batches)[::-1] for stage in range(stages)]
    while any(left):
        for stage in range(stages):
            while left[stage]:
                what, number = left[stage][-1]
                other = stage - 1 if what == "forward" else stage + 1
                begin = free[stage]
                if 0 <= other < stages:
                    if (what, other, number) not in ends:
                        break
                    begin = np.maximum(begin, ends[what, other, number])
                free[stage] = begin + works[what][stage, number]
                ends[what, stage, number] = free[stage]
                left[stage].pop()
    found: Floats = np.max(free, axis=0).max(axis=-1)
    return found
