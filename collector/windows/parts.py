"""Which plane, and which row of it, each rank or host of a job is read from."""

from dataclasses import dataclass, field

import numpy as np

from ...detectors.arrays import Flags, Ints
from .plane_data import NOBODY
from .planes import MetricPlane


@dataclass(frozen=True, slots=True)
class PlanePart:
    """One plane and its row for each row of the window, -1 where it has none.

    held: the rows as they are read, a slice where they follow one another, 0 where there is none.
    missing: [rows], where there is none; None where that is nowhere.
    """

    plane: MetricPlane
    rows: Ints
    held: Ints | slice = field(init=False)
    missing: Flags | None = field(init=False)

    def __post_init__(self) -> None:
        """Find out once how the rows are read."""
        rows, lacking = self.rows, self.rows < 0
        held: Ints | slice = rows
        missing: Flags | None = None
        if lacking.any():
            held, missing = np.maximum(rows, 0), lacking
        elif len(rows) and (rows[1:] - rows[:-1] == 1).all():
            held = slice(int(rows[0]), int(rows[0]) + len(rows))
        object.__setattr__(self, "held", held)
        object.__setattr__(self, "missing", missing)


@dataclass(frozen=True, slots=True)
class RowChoice:
    """Each row left to one part: that of the better source, then that of the newest reading.

    watched: planes of which rows were not chosen. While nothing is written to these, and no row
    gets another source, no choice changes: those that were chosen only become newer.
    """

    parts: tuple[PlanePart, ...]
    claims: tuple[tuple[MetricPlane, int], ...]
    watched: tuple[tuple[MetricPlane, int], ...]

    @classmethod
    def of(cls, parts: tuple[PlanePart, ...]) -> "RowChoice":
        """Choose among parts over the same rows."""
        if len(parts) == 1:
            return RowChoice(parts, (), ())
        count = len(parts[0].rows)
        best = np.full(count, -1)
        source, at = np.full(count, NOBODY + 1), np.full(count, -np.inf)
        for number, part in enumerate(parts):
            here = np.flatnonzero(part.rows >= 0)
            rows = part.rows[here]
            mine, newest = part.plane.source[rows].astype(np.int64), part.plane.last_at[rows]
            better = (newest > -np.inf) & (
                (mine < source[here]) | ((mine == source[here]) & (newest > at[here]))
            )
            won = here[better]
            best[won], source[won], at[won] = number, mine[better], newest[better]
        chosen = tuple(
            PlanePart(part.plane, np.where(best == number, part.rows, -1))
            for number, part in enumerate(parts)
            if (best == number).any()
        )
        return cls(
            chosen or parts[:1],
            tuple((part.plane, part.plane.claims) for part in parts),
            tuple(
                (part.plane, part.plane.version)
                for number, part in enumerate(parts)
                if ((part.rows >= 0) & (best != number)).any()
            ),
        )

    def holds(self) -> bool:
        """Tell whether it would be the same now."""
        return all(plane.claims == claims for plane, claims in self.claims) and all(
            plane.version == version for plane, version in self.watched
        )
