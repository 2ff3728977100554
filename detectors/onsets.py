"""When something that still goes on began: the one onset search of every detector."""

import numpy as np

from .window import Flags, Floats, Ints

ENDS_AFTER = 3
"""So many normal values in a row are the end of a run; fewer are luck."""

ODD_SHARE = 0.6
"""Share of an episode's values that must be odd."""

MOST_GAP_SECONDS = 600.0
"""The longest time between two episodes of one fault that comes and goes."""

CLEARLY = 1.0
"""By how much the logarithm of a likelihood must be higher to say that something began."""


def newest_run(odd: Flags, *, ends_after: int = ENDS_AFTER) -> int:
    """Return the first place of the newest run of odd values; the last place where none is odd.

    odd: [places], ascending in time. `ends_after` normal values in a row separate two runs, so the
    start of a run stays where it is for as long as the run goes on.
    """
    places = np.flatnonzero(odd)
    if not len(places):
        return max(len(odd) - 1, 0)
    if len(odd) - 1 - int(places[-1]) >= ends_after:
        return len(odd) - 1
    gaps = np.flatnonzero(np.diff(places) > ends_after)
    return int(places[gaps[-1] + 1]) if len(gaps) else int(places[0])


def change_point(values: Floats, limit: float, most: float) -> int:
    """Return the first place of the newest values that together stand farthest above a limit.

    values: [places], ascending in time, none of them NaN; each counts up to `most` above or below
    the limit. For effects smaller than the noise from value to value, where no run is unbroken
    (Page's CUSUM, read backwards). The last place where nothing stands above the limit.
    """
    beyond = np.clip(values - limit, -most, most)
    sums = np.cumsum(beyond[::-1])
    return len(values) - 1 - int(np.argmax(sums))


def more_often(places: Ints, size: int) -> int:
    """Return which of these places, ascending, is the first since which they are more frequent.

    size: how many places there are. By the likelihood of two rates instead of one; the first where
    the two are not clearly likelier, or the places are not more frequent after any.
    """
    number = len(places)
    before, first = np.arange(number), places - places[0]
    rest = size - places[0]
    after, last = number - before, rest - first
    with np.errstate(divide="ignore", invalid="ignore"):
        gain = _likelihood(before, first) + _likelihood(after, last)
        gain = np.where(before / first < after / last, gain, -np.inf)
    best = int(np.argmax(gain))
    return best if float(gain[best] - _likelihood(number, rest)) > CLEARLY else 0


def _likelihood(count: Ints | int, size: Ints | int) -> Floats:
    """Return the highest logarithm of the likelihood of so many among so many, by one rate."""
    return _x_log_x(count) + _x_log_x(np.subtract(size, count)) - _x_log_x(size)


def _x_log_x(values: Ints | int) -> Floats:
    return np.multiply(values, np.log(np.maximum(values, 1)))


def episodes(odd: Flags, fewest: int, *, ends_after: int = ENDS_AFTER) -> list[tuple[int, int]]:
    """Return the (first, last) places of the runs that hold at least `fewest` odd values."""
    places = np.flatnonzero(odd)
    if len(places) < fewest:
        return []
    cuts = np.flatnonzero(np.diff(places) > ends_after) + 1
    firsts, lasts = np.append(0, cuts), np.append(cuts, len(places)) - 1
    counts = lasts - firsts + 1
    begin, end = places[firsts], places[lasts]
    long = (counts >= fewest) & (counts >= ODD_SHARE * (end - begin + 1))
    return [(int(one), int(other)) for one, other in zip(begin[long], end[long], strict=True)]


def recurring(
    runs: list[tuple[int, int]], at: Floats, now: float, *, ongoing: bool
) -> tuple[int, int] | None:
    """Return (first place, how many) of the newest episodes that come and go; None: fewer than two.

    runs: as `episodes` returns them; at: [places], seconds since the epoch. Episodes belong
    together while no time between two exceeds MOST_GAP_SECONDS. They are over when nothing is
    `ongoing` and more than twice the longest of these times has passed since the newest.
    """
    if len(runs) < 2:
        return None
    begins, finishes = (at[[run[side] for run in runs]] for side in (0, 1))
    gaps = begins[1:] - finishes[:-1]
    apart = np.flatnonzero(gaps > MOST_GAP_SECONDS)
    first = int(apart[-1]) + 1 if len(apart) else 0
    count = len(runs) - first
    if count < 2:
        return None
    held = min(2 * float(gaps[first:].max()), MOST_GAP_SECONDS)
    return (runs[first][0], count) if ongoing or now - float(finishes[-1]) <= held else None
