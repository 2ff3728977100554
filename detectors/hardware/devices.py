"""Devices of a job beside their peers: which are of one model, which have work, what is usual."""

import numpy as np

from ..window import Flags, Floats, Ints, JobWindow, PeriodicReadings

UTILIZATION = "hw.gpu.utilization"
CLOCK = "hw.frequency|sm"

BUSY = 0.5
"""Utilization below which a device's low clock or idle link says that it waits."""

FEWEST_PEERS = 3
"""Devices of one kind without which nobody can tell which of them is odd."""

FEWEST_READINGS = 3
"""Readings of which a level is made, of slow reporters too."""

OWN_MODEL = 0.2
"""Share of devices that must have a lower highest clock to be another model, and not held down."""

MOMENT_SECONDS, REACH_PERIODS = 1.0, 2.5
"""A reading of utilization so near tells the state of a moment alone; else the one before and the
one after do, which are at most so many periods away."""

_GIB = float(1 << 30)


def recent(readings: PeriodicReadings, seconds: float) -> tuple[Floats, float]:
    """Return [rows], the mean of the newest seconds, and the time of the newest reading."""
    newest = readings.newest_at()
    if newest == -np.inf:
        return np.full(len(readings.at) if readings.at.ndim else 0, np.nan), newest
    seconds = max(seconds, (FEWEST_READINGS + 0.2) * readings.period())
    value = readings.mean(newest - seconds, newest)
    return np.where(np.abs(value) < 1e18, value, np.nan), newest


def highest(readings: PeriodicReadings, seconds: float, *, fewest: int = 1) -> Floats:
    """Return [rows], the highest value of the range that `recent` looks at; NaN of fewer values."""
    newest = readings.newest_at()
    start = newest - max(seconds, (FEWEST_READINGS + 0.2) * readings.period())
    found = readings.between(start, newest)
    valid = (found.at > start) & (np.abs(found.value) < 1e18)
    top = np.where(valid, found.value, -np.inf).max(axis=1, initial=-np.inf)
    return np.where(valid.sum(axis=1) >= fewest, top, np.nan)


def level(window: JobWindow, metric: str, seconds: float) -> Floats:
    """Return [ranks], the mean of the newest seconds of a metric, NaN where nobody reports it."""
    held = window.rank_readings.get(metric)
    return np.full(len(window.ranks), np.nan) if held is None else recent(held, seconds)[0]


def latest(window: JobWindow, metric: str) -> Floats:
    """Return [ranks], the newest value of a metric, NaN where nobody reports it."""
    held = window.rank_readings.get(metric)
    return np.full(len(window.ranks), np.nan) if held is None else held.latest()[0]


def waiting(window: JobWindow, seconds: float) -> Flags:
    """Return [ranks], whose device has too little work for its clocks and links to say anything."""
    return window.features.once((waiting, seconds), lambda: _waiting(window, seconds))


def _waiting(window: JobWindow, seconds: float) -> Flags:
    with np.errstate(invalid="ignore"):
        idle: Flags = level(window, UTILIZATION, seconds) < BUSY
        idle |= level(window, "hw.gpu.throttle|idle", seconds) >= 0.3
    return idle


def under_load(window: JobWindow, held: PeriodicReadings, row: int) -> PeriodicReadings:
    """Return a row's readings, [1, readings], NaN where the device had no work at that moment.

    Sources are read at cadences of their own: what was read minutes ago from an idle device says
    nothing about the load of now. All of them where nobody reports the row's utilization.
    """
    one = held.of(np.array([row]))
    busy = window.rank_readings.get(UTILIZATION)
    if busy is None:
        return one
    mine = busy.of(np.array([row]))
    valid = np.isfinite(mine.at[0]) & np.isfinite(mine.value[0])
    if not valid.any():
        return one
    order = np.argsort(mine.at[0, valid], kind="stable")
    at, works = mine.at[0, valid][order], mine.value[0, valid][order] >= BUSY
    worked = _worked(at, works, one.at[0], REACH_PERIODS * mine.period())
    return PeriodicReadings(one.at, np.where(worked, one.value, np.nan))


def level_under_load(window: JobWindow, metric: str, row: int, seconds: float) -> float:
    """Return the mean of a row's newest seconds of a metric that were at work; NaN without any."""
    worked = under_load(window, window.rank_readings[metric], row)
    return float(recent(worked, seconds)[0][0])


def _worked(at: Floats, works: Flags, moments: Floats, reach: float) -> Flags:
    """Return [moments], whether a device worked then, by when it was seen to (`at` in order)."""
    after = np.searchsorted(at, moments)
    before = np.maximum(after - 1, 0)
    newest = after == len(at)
    after = np.minimum(after, len(at) - 1)
    since, until = np.abs(moments - at[before]), np.abs(at[after] - moments)
    around = works[before] & (since <= reach) & (newest | (works[after] & (until <= reach)))
    nearest = np.where(since <= until, works[before], works[after])
    return np.where(np.fmin(since, until) <= MOMENT_SECONDS, nearest, around)


def models(window: JobWindow, *, power: bool = True) -> tuple[Ints, bool]:
    """Return [ranks], a number for each model of device, and whether anything is known of them.

    Of one model are devices with equal memory and highest memory clock, and with `power` equal
    power limits; where no such limit is reported, devices of one name. A lower highest SM clock
    makes another model only where a fifth of the devices share it: of fewer it is a setting that
    holds them down.
    """
    return window.features.once((models, power), lambda: _models(window, power=power))


def _models(window: JobWindow, *, power: bool) -> tuple[Ints, bool]:
    limits = [
        np.round(latest(window, "hw.gpu.memory.limit") / (4 * _GIB)),
        np.round(latest(window, "hw.frequency.limit|memory") / 1e7),
    ]
    if power:
        limits.append(np.round(latest(window, "hw.power.limit")))
    clock = latest(window, "hw.frequency.limit|sm")
    clock = np.where(np.isfinite(clock), clock, latest(window, "hw.frequency.limit"))
    known = bool(np.isfinite([*limits, clock]).any())
    columns = [np.nan_to_num(one, nan=-1.0, posinf=-1.0, neginf=-1.0) for one in limits]
    if window.hw_models and not np.isfinite(latest(window, "hw.power.limit")).any():
        # Exporters show no limits of power and clock, but what a device is called.
        names = [window.hw_models.get(hw_id or "", "") for hw_id in window.hw_ids]
        known = known or any(names)
        columns.append(np.unique(names, return_inverse=True)[1].astype(float))
    kinds = _numbered(columns)
    clock = np.round(np.nan_to_num(clock, nan=-1.0, posinf=-1.0, neginf=-1.0) / 1e6)
    if not len(clock) or clock.min() == clock.max():
        return kinds, known
    for kind in np.unique(kinds):
        rows = np.flatnonzero(kinds == kind)
        levels, counts = np.unique(clock[rows], return_counts=True)
        if len(levels) < 2:
            continue
        usual = levels[np.argmax(counts)]
        rare = levels[counts < OWN_MODEL * len(rows)]
        clock[rows[np.isin(clock[rows], rare)]] = usual
    return _numbered([kinds.astype(float), clock]), known


def peers_median(values: Floats, kinds: Ints, rows: Flags) -> Floats:
    """Return [ranks], the median of the rows of each kind; NaN where they are too few to tell."""
    usual = np.full(len(values), np.nan)
    for kind in np.unique(kinds[rows]):
        same = np.flatnonzero((kinds == kind) & rows & np.isfinite(values))
        if len(same) >= FEWEST_PEERS:
            usual[kinds == kind] = np.median(values[same])
    return usual


def median_of_others(seen: Floats) -> Floats:
    """Return [rows], the median over all other rows; NaN where there is no other."""
    valid = np.flatnonzero(np.isfinite(seen))
    others = np.full(len(seen), np.nan)
    count = len(valid) - 1
    if count > 0:
        order = valid[np.argsort(seen[valid], kind="stable")]
        ascending = seen[order]
        place = np.arange(count + 1)
        # What stands at a place when one's own value is taken out.
        low, high = (count - 1) // 2, count // 2
        lower, upper = ascending[low + (low >= place)], ascending[high + (high >= place)]
        others[order] = (lower + upper) / 2
    return others


def since(readings: PeriodicReadings, row: int, odd_from: float, *, below: bool = False) -> float:
    """Return when a row's values began to be odd (>= or, with `below`, <= `odd_from`) up to now.

    The time of the last other value, so that the onset lies between it and what it returns.
    """
    # Of this row alone: at a hundred thousand devices the whole is large.
    one = readings.of(np.array([row]))
    at, value = one.at[0], one.value[0]
    valid = np.isfinite(at) & np.isfinite(value)
    at, value = at[valid], value[valid]
    odd = value <= odd_from if below else value >= odd_from
    usual = at[~odd]
    start = float(usual.max()) if len(usual) else -np.inf
    later = at[odd & (at > start)]
    if not len(later):
        return float(at.max()) if len(at) else 0.0
    return float(later.min())


def _numbered(columns: list[Floats]) -> Ints:
    """Return [rows], equal numbers where all columns are equal; the usual case costs no sorting."""
    kinds = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        if not len(column) or column.min() == column.max():
            continue
        levels, which = np.unique(column, return_inverse=True)
        _, kinds = np.unique(kinds * len(levels) + which, return_inverse=True)
    return kinds
