"""The steps of an attempt as matrices, ranks down and steps across, and what is kept of them."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field

import numpy as np

from .arrays import Floats, Ints


@dataclass(frozen=True, slots=True)
class ColumnFeatures:
    """Features of the columns of a grid, aligned with its steps.

    own, ratio: [ranks, steps]. duration: [steps], median over ranks. most_tokens: [steps]. own is
    None where nobody reports what it is made of. version: [steps], another number whenever anything
    of a step changed. state: another number whenever anything of any step did; None: not known.
    made: what was made of these steps alone; the next window has it too where they are the same.
    """

    own: Floats | None
    ratio: Floats | None
    duration: Floats
    most_tokens: Floats
    version: Ints | None = None
    state: int | None = None
    made: dict[Hashable, object] = field(default_factory=dict)

    def cut(self, first: int, last: int) -> "ColumnFeatures":
        """Return those of the columns [first, last)."""
        return ColumnFeatures(
            None if self.own is None else self.own[:, first:last],
            None if self.ratio is None else self.ratio[:, first:last],
            self.duration[first:last],
            self.most_tokens[first:last],
            None if self.version is None else self.version[first:last],
        )


@dataclass(frozen=True, slots=True)
class StepValues:
    """Per-step values on the ruler of step indices.

    index: [steps], ascending. at: [ranks, steps], the end of each step. planes: by metric name,
    or `metric|variant` where the vocabulary has a closed attribute (`training.loss|local`). ends:
    [steps], when each ended on the last of its ranks, and kept, where the collector has computed
    them.
    """

    index: Ints
    at: Floats
    planes: Mapping[str, Floats] = field(default_factory=dict)
    ends: Floats | None = None
    kept: ColumnFeatures | None = None

    def plane(self, name: str) -> Floats:
        """Return [ranks, steps] of one plane; all NaN when nobody reports it."""
        found = self.planes.get(name)
        return np.full(self.at.shape, np.nan) if found is None else found

    def has(self, name: str) -> bool:
        """Tell whether anybody reports this plane."""
        plane = self.planes.get(name)
        if plane is None:
            return False
        return bool(
            np.count_nonzero(np.isfinite(plane[:, -4:])) or np.count_nonzero(np.isfinite(plane))
        )

    @property
    def state(self) -> tuple[int, ...] | None:
        """Return what differs between two windows whose steps do; None where nobody can tell."""
        if self.kept is None or self.kept.state is None:
            return None
        return (self.kept.state, *self.at.shape)

    def last(self, count: int) -> "StepValues":
        """Return the newest `count` steps."""
        if count >= len(self.index):
            return self
        return self.cut(len(self.index) - max(count, 0), len(self.index))

    def cut(self, first: int, last: int) -> "StepValues":
        """Return the steps of the columns [first, last)."""
        return StepValues(
            self.index[first:last],
            self.at[:, first:last],
            {name: plane[:, first:last] for name, plane in self.planes.items()},
            None if self.ends is None else self.ends[first:last],
            None if self.kept is None else self.kept.cut(first, last),
        )
