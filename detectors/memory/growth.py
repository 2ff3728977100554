"""Memory that goes on growing, and when it will run out: one test for every kind of memory.

A leak is told from what healthy memory does by its shape. A resize is one step, not a slope; a
caching allocator or a warming cache grows ever more slowly, and the level that it heads for is
below the limit; an epoch's saw-tooth comes back down. What is left grows in many places of a time
range, significantly (Mann-Kendall), and still does in its newest part. How fast: the median of the
slopes between all pairs (Theil-Sen) with the confidence interval of Sen.

References: Sen, Estimates of the regression coefficient based on Kendall's tau (JASA 1968).
"""

from dataclasses import dataclass

import numpy as np

from .. import medians
from ..durations import duration
from ..window import Flags, Floats, Ints, PeriodicReadings, StepValues
from . import trend

SCALES = (43_200.0, 14_400.0, 1800.0, 900.0, 240.0)
"""Time ranges that are looked at, seconds up to now, the longest that shows growth counts."""

FINE_SECONDS = 900.0
"""Longer ranges are read from the thinned past, where there is one."""

SHORTEST_SECONDS = 150.0
"""Growth for less is called none."""

MOST_ROWS = 1024
"""Rows whose slopes are computed; where more grow, it is the same thing on evenly chosen ones."""

HORIZON_SECONDS = 8 * 3600.0
"""What runs out within a night or a working day needs somebody now: a warning."""

DAY_SECONDS = 86_400.0
"""What runs out within a day is an incident of level info; what lasts longer an observation."""

ROUNDED = 1 - 1e-6
"""What is below this share of a bound is below it however means are rounded."""

REACH = 24.0
"""How far ahead growth is drawn on, as a multiple of the time that it has been seen for.

What a process gathers in its first minutes says nothing about the night.
"""

INTEREST_SECONDS = 7 * 86_400.0
"""What lasts longer than a week is no finding."""


@dataclass(frozen=True, slots=True)
class RowGrowth:
    """Rows that grow; all but the scalars are [found].

    rows: of the readings. slope, low, high: bytes a second, with the 95 % confidence interval.
    level: newest value (bytes). decay: the share by which growth becomes slower a second, 0 where
    it is straight or becomes faster. begun: when growth began as judged (s since the epoch), not
    before the range. levels: it slows down so that it ends below the limit. end: up to when.
    usual: bytes a second that the median row grew by since growth began. candidates: how many
    rows grew before MOST_ROWS were chosen; reported: how many rows have readings at both ends of
    the range.
    """

    rows: Ints
    slope: Floats
    low: Floats
    high: Floats
    level: Floats
    decay: Floats
    begun: Floats
    levels: Flags
    usual: Floats
    end: float
    candidates: int
    reported: int

    @property
    def share(self) -> float:
        return len(self.rows) / max(min(self.candidates, MOST_ROWS), 1)

    def of(self, chosen: Flags) -> "RowGrowth":
        """Return a part of what was found."""
        return RowGrowth(
            self.rows[chosen], self.slope[chosen], self.low[chosen], self.high[chosen],
            self.level[chosen], self.decay[chosen], self.begun[chosen], self.levels[chosen],
            self.usual[chosen], self.end, self.candidates, self.reported,
        )  # fmt: skip

    @property
    def seen(self) -> Floats:
        """Return for how many seconds each row has been seen to grow."""
        return self.end - self.begun

    def rates(self) -> tuple[Floats, Floats, Floats]:
        """Return bytes a second at the end of the range: expected, and the interval of it."""
        slowed = np.exp(-self.decay * self.seen / 2)
        return self.slope * slowed, self.low * slowed, self.high * slowed

    def left(self, remaining: Floats) -> tuple[Floats, Floats, Floats]:
        """Return seconds until `remaining` bytes are used up: expected, shortest, longest."""
        expected, low, high = self.rates()
        return (
            used_up(remaining, expected, self.decay),
            used_up(remaining, high, self.decay),
            used_up(remaining, low, self.decay),
        )


class StepReadings(PeriodicReadings):
    """A plane of the steps as readings; ranges are cut by when steps ended."""

    def __init__(self, steps: StepValues, plane: Floats, ends: Floats) -> None:
        super().__init__(steps.at, plane)
        self._ends = ends

    def between(self, start: float, end: float) -> PeriodicReadings:
        """Return the readings of the steps that ended in [start, end], and one before."""
        inside = np.flatnonzero((self._ends >= start) & (self._ends <= end))
        if not len(inside):
            return PeriodicReadings(self._at[:, :0], self._value[:, :0])
        first, last = max(int(inside[0]) - 1, 0), int(inside[-1]) + 1
        return PeriodicReadings(self._at[:, first:last], self._value[:, first:last])


def growing(
    readings: PeriodicReadings,
    *,
    now: float,
    least: Floats,
    limit: Floats,
    since: float = -np.inf,
    levelling: bool = False,
    risen: int = trend.BINS // 4,
) -> RowGrowth | None:
    """Return the rows that grow and do not level off below their limit; None where none does.

    least, limit: [rows], the smallest growth over a range that counts, and where memory ends
    (bytes; inf where unknown). since: what is from before is warm-up. levelling: rows that level
    off are returned as well. risen: in how many of BINS parts memory must have risen. A row
    counts on the longest scale on which it grows.
    """
    rows: Ints = np.zeros(0, np.int64)
    parts: list[tuple[RowGrowth, Flags]] = []
    candidates = reported = 0
    past = readings.history()
    if _steady(readings, past, least):
        return None
    thinned = past if past.at.shape[1] else readings
    for scale in SCALES:
        source = thinned if scale > FINE_SECONDS else readings
        found = _on_scale(source, now, max(now - scale, since), scale, least, limit, risen)
        if found is not None and not levelling:
            found = found.of(~found.levels)
        if found is None:
            continue
        candidates, reported = max(candidates, found.candidates), max(reported, found.reported)
        new = ~np.isin(found.rows, rows)
        rows = np.concatenate([rows, found.rows[new]])
        parts.append((found, new))
    if not len(rows):
        return None

    order = np.argsort(rows)

    def joined(name: str) -> Floats:
        values: Floats = np.concatenate([getattr(found, name)[new] for found, new in parts])
        return values[order]

    return RowGrowth(
        rows[order], joined("slope"), joined("low"), joined("high"), joined("level"),
        joined("decay"), joined("begun"), joined("levels").astype(np.bool_), joined("usual"),
        now, candidates, reported,
    )  # fmt: skip


def _steady(readings: PeriodicReadings, past: PeriodicReadings, least: Floats) -> bool:
    """Tell whether no two readings of a row are so far apart: nor are the means of two ranges."""
    low, high = np.full(len(least), np.inf), np.full(len(least), -np.inf)
    for held in (readings.between(-np.inf, np.inf), past):
        low = np.fmin(low, np.fmin.reduce(held.value, axis=1, initial=np.inf))
        high = np.fmax(high, np.fmax.reduce(held.value, axis=1, initial=-np.inf))
    with np.errstate(invalid="ignore"):
        return not (high - low >= ROUNDED * least).any()


def _on_scale(
    readings: PeriodicReadings,
    now: float,
    start: float,
    scale: float,
    least: Floats,
    limit: Floats,
    risen: int,
) -> RowGrowth | None:
    if now - start < scale / 2:
        return None
    eighth = (now - start) / 8
    early = readings.mean(start, start + 2 * eighth)
    late = readings.mean(now - eighth, now)
    with np.errstate(invalid="ignore"):
        rows = np.flatnonzero(late - early >= least)
    both = np.isfinite(early) & np.isfinite(late)
    reported = int(both.sum())
    candidates = len(rows)
    if not candidates:
        return None
    if candidates > MOST_ROWS:
        rows = rows[np.linspace(0, candidates - 1, MOST_ROWS).astype(np.int64)]
    mine = readings.of(rows)
    binned = trend.means(mine, np.full(len(rows), start), now)
    coarse = (trend.slopes(binned)[1] > 0) & trend.goes_on(binned, least[rows], risen)
    filled = trend.completed(binned)
    coarse &= filled[:, -1] - _before(mine, start) >= 0.3 * (filled[:, -1] - filled[:, 0])
    rows, binned = rows[coarse], binned[coarse]
    if not len(rows):
        return None
    base = trend.level_before(binned)
    # Twice more from where growth began: how fast it is, known to within a half, and whether it
    # slows down.
    begins = start + (trend.last_low(binned) + 0.5) * (now - start) / trend.BINS
    binned = trend.means(mine.of(np.flatnonzero(coarse)), begins, now)
    begins = begins + np.maximum(trend.last_low(binned) - 0.5, 0.0) * (now - begins) / trend.BINS
    binned = trend.means(mine.of(np.flatnonzero(coarse)), begins, now)
    knee = trend.knee(binned)
    if knee.any():  # it grew before, or was taken to, and has grown faster since
        begins = begins + knee * (now - begins) / trend.BINS
        binned = trend.means(mine.of(np.flatnonzero(coarse)), begins, now)
    width = (now - begins) / trend.BINS
    slope, low, high = (values / width for values in trend.slopes(binned))
    grows = (low > 0.5 * slope) & trend.goes_on(binned, 0.8 * least[rows], risen)
    grows &= now - begins >= SHORTEST_SECONDS
    rows, binned = rows[grows], binned[grows]
    if not len(rows):
        return None
    slope, begins, base = slope[grows], begins[grows], base[grows]
    filled = trend.completed(binned)
    base = np.where(knee[grows] > 0, np.maximum(base, filled[:, 0]), base)
    # The last part's mean is of its middle.
    level = filled[:, -1] + slope * (now - begins) / (2 * trend.BINS)
    second, ratio = trend.halves(filled)
    levels = trend.levels_off(filled[:, -1], second, ratio, limit[rows])
    decay = trend.decay(ratio, now - begins)
    usual = np.full(len(rows), _usual(readings, medians.middle(begins), now))
    # It began where the line through the growth meets the level of before.
    begun = np.clip(now - (level - base) / slope, start, now)
    return RowGrowth(
        rows, slope, low[grows], high[grows], level, decay, begun, levels, usual, now, candidates,
        reported,
    )  # fmt: skip


def _usual(readings: PeriodicReadings, begun: float, now: float) -> float:
    """Return by how many bytes a second the median row grows since `begun`."""
    quarter = (now - begun) / 4
    grown = readings.mean(now - quarter, now) - readings.mean(begun, begun + quarter)
    grown = grown[np.isfinite(grown)]
    return medians.middle(grown) / (now - begun - quarter) if len(grown) else 0.0


def _before(readings: PeriodicReadings, start: float) -> Floats:
    """Return [rows], the highest level of the time before the range; -inf where there is none.

    Memory that comes back to where it has been before is a saw-tooth.
    """
    at = readings.at
    oldest = np.min(np.where(np.isfinite(at), at, start), axis=1, initial=start)
    known = oldest < start - 1.0
    binned = trend.means(readings, np.where(known, oldest, start - 1.0), start)
    highest = np.max(np.where(np.isfinite(binned), binned, -np.inf), axis=1)
    levels: Floats = np.where(known, highest, -np.inf)
    return levels


def span(shortest: float, seconds: float, longest: float) -> str:
    """Return an expected time with its interval: `40 min (35 min to 47 min)`."""
    return f"{duration(seconds)} ({duration(shortest)} to {duration(longest)})"


def used_up(remaining: Floats, rate: Floats, decay: Floats) -> Floats:
    """Return seconds until bytes are used up at a rate that decays; inf where they never are."""
    with np.errstate(divide="ignore", invalid="ignore"):
        slowed = -np.log1p(-np.minimum(remaining * decay / rate, 1.0)) / decay
        return np.where(decay > 0, slowed, remaining / rate)


def score(seconds: float, seen: float, horizon: float = HORIZON_SECONDS) -> float:
    """Return the score of what runs out in so many seconds, having grown for `seen` seconds.

    A warning within `horizon`, below that info where it lasts no day; OBSERVED where it does, or is
    too far ahead of what was seen.
    """
    if not seconds <= min(DAY_SECONDS, REACH * seen):
        return OBSERVED
    return 2.0 + max(0.0, 1.0 - seconds / horizon) if seconds <= horizon else LATER


OBSERVED, LATER = 0.5, 1.0
"""Scores of a symptom that ends nowhere in sight, and of one that does so within a day."""
