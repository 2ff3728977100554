"""Dynamic loss scaling: which overflows are its normal life, and when the scale collapses.

A scaler starts too high on purpose and halves at every overflow until gradients fit: at the start
of training that may take twenty steps in a row, each of them skipped. Later an overflow now and
then is how it finds out that the scale could be higher. Neither is a fault as long as the scale
falls with it and stays above one.

References: Mixed precision training (Micikevicius 2018); torch.amp.GradScaler (65536, halving);
Megatron's DynamicGradScaler (2**32, hysteresis 2).
"""

import numpy as np

from ..window import Flags, Floats, StepValues

SCALE = "training.loss_scale"

LEAST = 1.0
"""A scale below this no longer scales anything: the gradients themselves are not finite."""

SETTLED = 20
"""After so many steps without an overflow the scaler has found its scale."""

MOST_AT_START = 24
"""So many overflows in a row may begin a training: 2**32 halved to 2**8."""

MOST_IN_A_ROW = 3
"""So many skipped updates in a row are too many where nobody reports a scale that falls."""

RECENT, MOST_SHARE = 64, 0.125
"""The share of the newest steps whose updates may be skipped."""

FALLING = 64
"""So many steps before the values go bad, and after, show whether the scale collapsed."""

_FLOOR = 1e-12


def scale_of(steps: StepValues) -> Floats | None:
    """Return [steps], the scale as reported (0 where nobody did); None when nobody ever does."""
    plane = steps.planes.get(SCALE)
    if plane is None or not np.isfinite(plane).any():
        return None
    scale: Floats = np.max(np.where(np.isfinite(plane), plane, 0.0), axis=0, initial=0.0)
    return scale


def overflows(scale: Floats, bad: Flags, *, streak: int, over: bool = False) -> Flags:
    """Return [steps], where a bad gradient is a skipped step of loss scaling.

    scale: [steps]. bad: [steps], the gradients are not finite though the loss is. The newest step
    is given the benefit of the doubt: the scale may fall with the next one. over: there is none,
    and a scale of one (bfloat16) had nothing to fall to. One by which the scale falls to one later
    than at the start of training is not normal life: there is nothing left to lower.
    """
    count = len(scale)
    if not count or not bad.any():
        return np.zeros(count, np.bool_)
    known = scale > 0
    held = np.maximum.accumulate(np.where(known, np.arange(count), -1))
    filled = np.where(held >= 0, scale[np.maximum(held, 0)], 0.0)
    falls = np.diff(filled, prepend=filled[:1]) < 0
    soon = _soon(falls)
    if not over or filled[-1] > LEAST:
        soon |= np.arange(count) == count - 1
    normal: Flags = bad & soon & ((filled >= LEAST) | ~known)
    lowest = _soon(falls & (filled <= LEAST))
    places = np.flatnonzero(bad)
    starts = places[np.append(True, np.diff(places) > 1)]
    for start in starts:
        stop = start + int(np.argmin(np.append(bad[start:], False)))
        settled = start >= SETTLED and not bad[start - SETTLED : start].any()
        if settled and stop - start >= streak:
            normal[start:stop] = False
        elif start >= SETTLED:
            normal[start:stop] &= ~lowest[start:stop]
    return normal


def _soon(flags: Flags) -> Flags:
    """Return [steps], where a flag is up at a step or one of the next two: scales come late."""
    later = np.append(flags, [False, False])
    found: Flags = flags | later[1:-1] | later[2:]
    return found


def collapse(scale: Floats | None, first: int) -> tuple[int, float, float]:
    """Return how often the scale fell around a step, from what to what; 0 unless it collapsed.

    first: the column from which on values are not finite. It falls before that where gradients
    overflowed one by one, after it where they did in a row; how it has stood since says nothing.
    """
    if scale is None:
        return 0, 1.0, 1.0
    recent = scale[max(first - FALLING, 0) : first + FALLING]
    recent = recent[recent > 0]
    falls = int((np.diff(recent) < 0).sum())
    if len(recent) < 2 or falls < 5 or recent[-1] > recent.max() / 32:
        return 0, 1.0, 1.0
    high = float(recent.max())
    return falls, high, max(float(recent[-1]), high * _FLOOR)


def skipped(bad: Flags, broken: Flags, *, started: bool, waiting: bool) -> Flags:
    """Return [steps], where an update was skipped and training went on, whatever the scale said.

    bad: [steps], only reduced gradients are not finite. broken: [steps], a loss or a rank's own
    gradient is. An update with a bad gradient leaves no finite parameter, so a finite step after it
    proves that it was skipped: by a scaler that nobody reports, or by a guard. Few in a row and few
    of all are normal; at the start of training (`started`: the first step is the attempt's first)
    as many as a scaler needs. waiting: the step after the newest may still come.
    """
    normal = np.zeros(len(bad), np.bool_)
    places = np.flatnonzero(bad)
    for start in places[np.append(True, np.diff(places) > 1)] if len(places) else ():
        stop = int(start) + int(np.argmin(np.append(bad[start:], False)))
        # At the end of a job an update that was skipped before makes another one likely.
        doubtful = not (waiting or normal.any()) if stop == len(bad) else broken[stop]
        if doubtful:
            continue
        young = started and start < SETTLED and stop - start <= MOST_AT_START
        recent = float(bad[max(stop - RECENT, 0) : stop].sum()) / RECENT
        normal[start:stop] = young or (stop - start < MOST_IN_A_ROW and recent <= MOST_SHARE)
    return normal
