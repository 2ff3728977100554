"""Overflows that go on though the loss scale is as low as it can be: then gradients are not finite.

A scaler starts too high on purpose, and an overflow halves the scale: that is its normal life. At a
scale of one nothing is scaled any more. Where the scale fell there from overflow to overflow, with
no rise between them, it was not too high: the first one there is told.

Some frameworks only say that an update was skipped. Where they say so more often in a row than a
scale could have been halved, with no step reported in between, it is as low as that.

A loss that is not finite has nothing to do with a scale. One now and then comes of a single sample;
several updates in a row that are skipped for it are told (skipped_losses.py).
"""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache

from ...vocabulary import tables
from ...vocabulary.log_lines import SCALE_FLOOR
from ...vocabulary.patterns import DeferredPattern
from ...vocabulary.samples import Event, Sample
from .. import needles
from . import numbers, skipped_updates
from .skipped_losses import SkippedLosses

_LEAST = 1.0
_HIGHEST = 65536.0
"""What a scale that nobody names begins with, as PyTorch's does; others begin as high or lower."""
_FALLS = 5
"""By so many falls in a row, to a thirty-second, a scale has not found its level on the way."""


@dataclass(frozen=True, slots=True)
class OverflowForm:
    """One way to say it."""

    name: str
    needle: str
    pattern: DeferredPattern
    also: tuple[str, ...] = ()
    of_loss: bool = False


@cache
def forms() -> tuple[OverflowForm, ...]:
    """Return all forms of overflows.toml, one for each text of a row."""
    return tuple(
        replace(one, needle=needle)
        for one in tables.packaged(
            OverflowForm, __package__ or "", "overflows.toml", "overflow", beside="version source"
        )
        for needle in (one.needle, *one.also)
    )


class OverflowRun:
    """Counts the overflows of one log which a scale of one or less did not prevent."""

    def __init__(self) -> None:
        self._count = self._falls = 0
        self._next = skipped_updates.FIRST
        self._scale = math.inf
        self._unnamed = _HIGHEST
        self._losses = SkippedLosses()

    def stepped(self, samples: Iterable[Sample]) -> None:
        """Note that a step was reported, by its samples: an update was made."""
        self._unnamed = _HIGHEST
        self._losses.stepped(samples)

    def read(self, text: str, at: float, rank: int | None) -> list[Event]:
        """Take a line; return what is to be told with it."""
        form, found = next(needles.matches(forms(), text), (None, None))
        if form is None or found is None:
            return []
        if form.of_loss:
            return self._losses.read(text, at, rank)
        if (scale := _scale(found)) is None:
            self._unnamed /= 2
            scale = self._unnamed
        self._falls = self._falls + 1 if scale < self._scale < math.inf else 0
        self._scale = scale
        if scale > _LEAST:
            self._count, self._next = 0, skipped_updates.FIRST
            return []
        self._count += 1
        fell = self._count == 1 and self._falls >= _FALLS
        if self._count < self._next and not fell:
            return []
        if not fell:
            self._next *= 2
        return [skipped_updates.event(SCALE_FLOOR, self._count, text, at, rank)]


def _scale(found: re.Match[str]) -> float | None:
    written = found.groupdict().get("scale")
    return None if written is None else numbers.number(written.rstrip("."))
