"""The newest micro-batches of this rank, by their fingerprints, and in which step each was used.

A loader may run one batch ahead of the loop (accelerate's does), so batches wait in a line: as many
leave it at the end of a step as there were backward passes in it. How far the loader is ahead is
what the first step leaves behind; what is more than that was fetched and not trained on.
"""

import math
import os
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from . import fingerprints, locating
from .fingerprints import BatchFingerprint

KEPT = 512
"""Micro-batches of a rank."""
MOST_COPIED = 16
"""Batches whose copies wait for the sender's thread at once: at most so many MiB."""
LANDMARKS = 4
"""First steps of a process, and after a checkpoint, whose batches and state are sent: what a later
attempt that goes on from there is compared with."""
OFTEN, EVERY, WARY = 32, 1024, 16
"""Every 32nd of the first 1024 steps and then every 1024th, and after a suspicious step every 16th,
are landmarks too: the same ones on every rank, so that replicas can be compared."""
_WARY_STEPS = 128
_LOCATED, _LONGEST = 3, 60
"""Samples of a batch that are named by the dataset, and characters of such a name."""
_OFF = {"0", "off", "false", "no"}


class BatchRing:
    """Filled by the training thread; `settle` and the readers are called in the sender's.

    `on` False keeps nothing (RANKSCOPE_BATCHES=0). `locate` names a sample by its index: of the
    dataset that the loop gave, else of the one that a loader was seen with, where that is known.
    `missed` counts batches without a tensor in host memory.
    """

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        self.on = environ.get("RANKSCOPE_BATCHES", "").strip().lower() not in _OFF
        self.missed = 0
        self.failures = 0
        self.passes = 0
        self.landmarks = LANDMARKS
        self._epochs = 0
        self._wary = -1
        self._counts = fingerprints.TokenCounts()
        self.locate: Callable[[int], object] | None = None
        self._seen: weakref.ref[Any] | None = None
        self._held: deque[BatchFingerprint] = deque(maxlen=KEPT)
        self._line: deque[BatchFingerprint | None] = deque(maxlen=KEPT)
        self._ahead: int | None = None
        self._copied: deque[BatchFingerprint] = deque()

    def take(self, batch: Any, ids: Iterable[Any] | None = None, epoch: int = 0) -> None:
        """Keep a batch that was fetched for training; never raises."""
        if not self.on:
            return
        try:
            found = fingerprints.take(batch, ids)
            if found is not None:
                found.epoch = epoch
            if found is None:
                self.missed += 1
            elif len(self._copied) < MOST_COPIED:
                self._copied.append(found)
            else:  # the sender's thread is behind: ids alone
                found.copied = found.mask = None
            self._line.append(found)
        except Exception:  # noqa: BLE001  the edge of the job: a batch may be anything
            self.failures += 1

    def given(self, locate: Callable[[int], object]) -> None:
        """Take what names a sample by its index from the loop itself."""
        self.locate, self._seen = locate, None

    def seen(self, dataset: Any) -> None:
        """Take the dataset of a loader, unless the loop gave one; kept as a weak reference."""
        if self.locate is not None and self._seen is None:
            return
        try:
            held = self._seen = weakref.ref(dataset)
        except TypeError:  # a list, or another thing that has no name for its samples
            self.locate = self._seen = None
        else:
            self.locate = lambda index: locating.located(held(), index)

    def begun(self) -> int:
        """Return a number for a pass over the data that begins."""
        self._epochs += 1
        return self._epochs

    def saved(self) -> None:
        """Note that a checkpoint was written: the steps after it are landmarks."""
        self.landmarks = LANDMARKS

    def due(self, step: int) -> bool:
        """Return whether a step that is about to end is a landmark."""
        if not self.on:
            return False
        if self.landmarks > 0 or (step <= self._wary and step % WARY == 0):
            return True
        return step > 0 and step % (OFTEN if step < EVERY else EVERY) == 0

    def suspected(self, step: int) -> None:
        """Make landmarks of more of the next steps; called in the sender's thread."""
        self._wary = step + _WARY_STEPS

    def close(self, step: int) -> None:
        """Note that a step ended, and with it its batches."""
        passes, self.passes = self.passes, 0
        waiting = self._line
        count = min(passes or len(waiting), len(waiting))
        for micro in range(count):
            found = waiting.popleft()
            if found is not None:
                found.step, found.micro = step, micro
                self._held.append(found)
        if self._ahead is None and count:
            self._ahead = min(len(waiting), 1)
        while len(waiting) > (self._ahead or 0):
            waiting.popleft()
        self.landmarks = max(self.landmarks - 1, 0)

    def settle(self) -> None:
        """Make the fingerprints of what was copied since; in the sender's thread."""
        while self._copied:
            try:
                fingerprints.finish(self._copied[0], self._counts)
            except Exception:  # noqa: BLE001  one batch, not the thread
                self.failures += 1
            self._copied.popleft()

    def batches(self) -> Sequence[BatchFingerprint]:
        """Return what is held, oldest first."""
        return list(self._held)

    def of_step(self, step: int) -> Sequence[BatchFingerprint]:
        """Return the batches of one of the newest steps, in their order."""
        found: list[BatchFingerprint] = []
        for one in reversed(self.batches()):
            if one.step == step:
                found.append(one)
            elif found:
                break
        return found[::-1]

    def named(self, ids: Iterable[str | int]) -> str:
        """Return ids as a text: as the dataset locates them, else as ranges of numbers."""
        found = list(ids)
        whole = [one for one in found if isinstance(one, int)]
        if whole and self.locate is not None:
            try:
                places = [str(self.locate(one))[:_LONGEST] for one in whole[:_LOCATED]]
                more = f" and {len(whole) - _LOCATED} more" if len(whole) > _LOCATED else ""
                if all(places):
                    return ", ".join(places) + more
            except Exception:  # noqa: BLE001  the job's own function
                self.failures += 1
        if len(whole) == len(found):
            return _ranges(whole)
        return ", ".join(str(one) for one in found[:4]) + (", ..." if len(found) > 4 else "")


def _ranges(numbers: Sequence[int]) -> str:
    """Return "8-15, 20" for numbers that follow one another, eight such parts at most."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][1] + 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    text = ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in parts[:8])
    return text + (", ..." if len(parts) > 8 else "")


def repeats(batches: Sequence[BatchFingerprint], step: int) -> tuple[int, int, int | None, float]:
    """Return of a step: samples seen in an earlier one, of how many, in which, and the usual share.

    Only what comes again in one epoch counts. The usual share is that of the steps from 24 to 9
    before it; NaN where none of them is held.
    """
    first: dict[tuple[int, int], int] = {}
    again: dict[int, list[int]] = {}
    total: dict[int, int] = {}
    for one in batches:
        for row in one.rows:
            total[one.step] = total.get(one.step, 0) + 1
            before = first.setdefault((one.epoch, row), one.step)
            if before != one.step:
                again.setdefault(one.step, []).append(before)
    usual_steps = [each for each in total if step - 24 <= each <= step - 9]
    usual = (
        sum(len(again.get(each, ())) for each in usual_steps)
        / sum(total[each] for each in usual_steps)
        if usual_steps
        else math.nan
    )
    seen = again.get(step, [])
    most = max(sorted(set(seen)), key=seen.count) if seen else None
    return len(seen), total.get(step, 0), most, usual


UNUSUAL_FROM = 32
"""Batches before a step without which nothing is said of how usual its own are."""
_MARGIN = 1.5
"""What is outside the middle nine tenths by so many times their width is unusual."""
_FLOOR = {"mean": 0.02, "rarity": 0.03, "size": 0.1}
"""The least width: a share of the median; of shares, so much."""
_SHARE_FLOOR = 0.02


def unusual(
    batches: Sequence[BatchFingerprint], step: int
) -> tuple[BatchFingerprint, str, float, float, float] | None:
    """Return the batch of a step that is furthest from those before, its figure, value, and usual.

    Of the batches before it, the quantiles 0.05 and 0.95. None where it is like them.
    """
    best: tuple[float, BatchFingerprint, str, float, float, float] | None = None
    before = [one for one in batches if one.step < step]
    for one in batches:
        if one.step != step:
            continue
        for name, value in one.figures.items():
            past = sorted(
                figure
                for each in before
                if (figure := each.figures.get(name)) is not None and math.isfinite(figure)
            )
            if len(past) < UNUSUAL_FROM:
                continue
            low, high = past[len(past) // 20], past[-1 - len(past) // 20]
            middle = abs(past[len(past) // 2])
            floor = middle * _FLOOR[name] if name in _FLOOR else _SHARE_FLOOR
            width = max(high - low, floor, 1e-12)
            out = max(low - value, value - high) / width if math.isfinite(value) else math.inf
            if out > _MARGIN and (best is None or out > best[0]):
                best = (out, one, name, value, low, high)
    return None if best is None else best[1:]
