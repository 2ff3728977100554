"""Devices whose readings, taken together, are unlike those of their peers."""

from collections.abc import Sequence
from contextlib import suppress

import numpy as np

from ...vocabulary.findings import Finding
from .. import compute_time, medians
from ..contract import Detector
from ..findings import report
from ..window import Floats, Ints, JobWindow
from . import forests

_LEVELS = (
    ("hw.gpu.utilization", "utilization"),
    ("hw.gpu.sm.activity", "SM activity"),
    ("hw.gpu.tensor.activity", "tensor activity"),
    ("hw.gpu.memory.activity", "memory activity"),
    ("hw.power", "power"),
    ("hw.temperature|gpu", "temperature"),
    ("hw.frequency|sm", "SM clock"),
)
_ALIKE = ("hw.power.limit", "hw.gpu.memory.limit", "hw.frequency.limit|sm")
"""Devices with the same limits are of one model, set up alike."""

FEWEST = 8
"""Peers without which nobody is unlike them."""

SAMPLE = 256
"""Peers that the forest is grown on, and devices that it scores: its cost has a bound."""

FAR = 6.0
"""Robust standard deviations from the peers, in one reading at least; 4 in the minutes before."""

MOST = 4


class IsolationDetector(Detector):
    """Point at the devices that an isolation forest separates from their peers.

    One vector a device: activity, power, temperature, clock (means of the newest `seconds`),
    errors, and its rank's compute time. Each value against the median of devices of the same model
    and limits whose ranks have the same role, in robust standard deviations. What is far off in
    some value, and was in the minutes before, goes to the forest; what this isolates quickly is
    reported. No fault is known by it: evidence of low confidence, which opens no incident and pages
    nobody.

    Parameters
    ----------
    seconds : the newest time range; as much again is looked at before it.
    least : anomaly score of the forest from which on it counts; 0.5 is usual.

    Examples
    --------
    The device of rank 5 draws less power and does more with its memory than its peers.

    >>> from importlib.util import find_spec
    >>> from rankscope.detectors.sketch import START, readings, sketch
    >>> random = np.random.default_rng(1)
    >>> at = START + np.arange(0, 241, 5.0)
    >>> power, memory = random.normal(600, 6, (16, 49)), random.normal(0.4, 0.01, (16, 49))
    >>> power[5], memory[5] = power[5] - 150, memory[5] + 0.3
    >>> window = sketch(np.full((16, 240), 0.8), now=START + 240, rank_readings={
    ...     "hw.power": readings(at, power), "hw.gpu.memory.activity": readings(at, memory)})
    >>> found = [str(finding.entity) for finding in IsolationDetector().evaluate(window)]
    >>> found == (["gpu GPU-5 on host-0"] if find_spec("sklearn") else [])
    True

    Fails with fewer than eight peers, where a whole host or rack is unlike the others in the same
    way, and where scikit-learn is not installed (extra `analysis`): then it finds nothing.

    References: Liu, Ting, Zhou, Isolation forest (ICDM 2008); Minder (NSDI'25) for distances
    between machines that should be alike.
    """

    name = "isolation"
    kinds = ("gpu.unlike_peers",)
    cadence_seconds = 60.0

    def __init__(self, *, seconds: float = 120.0, least: float = 0.62) -> None:
        self.seconds = seconds
        self.least = least

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return one finding a device, at most four."""
        if len(window.ranks) < FEWEST:
            return []
        end = max((held.newest_at() for held in window.rank_readings.values()), default=-np.inf)
        if not np.isfinite(end):
            return []
        middle = end - self.seconds
        newest = self._values(window, middle, end)
        groups = _peers(window)
        if not newest or not _any_far(newest, groups):
            return []  # the past of healthy devices is not even looked at
        earlier = self._values(window, middle - self.seconds, middle)
        names = [name for name in newest if name in earlier]
        if len(names) < 2:
            return []
        now = np.stack([newest[name] for name in names], axis=1)
        before = np.stack([earlier[name] for name in names], axis=1)
        found: list[tuple[float, int, str]] = []
        for rows in groups:
            far = _distances(now[rows])
            steady = np.abs(_distances(before[rows]))
            worst = np.abs(far).argmax(axis=1)
            place = np.arange(len(rows))
            odd = (np.abs(far[place, worst]) >= FAR) & (steady[place, worst] >= FAR * 2 / 3)
            odd = np.flatnonzero(odd)
            if not 0 < len(odd) <= max(1, len(rows) / 16):
                continue
            scores = _isolated(far, odd)
            for number, score in zip(odd.tolist(), scores.tolist(), strict=True):
                if score >= self.least:
                    row, column = int(rows[number]), int(worst[number])
                    usual = float(np.nanmedian(now[rows, column]))
                    words = f"{names[column]} {now[row, column]:.3g}, its peers {usual:.3g}"
                    found.append((score, row, words))
        found.sort(key=lambda one: (-one[0], int(window.ranks[one[1]])))
        return [
            report(
                window,
                self.name,
                "gpu.unlike_peers",
                entity,
                onset=(middle - self.seconds, end),
                magnitude=score,
                score=0.5,
                signal="hw.gpu.utilization",
                observed=score,
                expected=0.5,
                text=f"{entity} is unlike its peers: {words}",
            )
            for score, row, words in found[:MOST]
            if (entity := window.gpu_entity(row)) is not None
        ]

    def _values(self, window: JobWindow, start: float, end: float) -> dict[str, Floats]:
        """Return [ranks] of a time range by the value's name; what half of the ranks report."""
        found: dict[str, Floats] = {}
        for metric, name in _LEVELS:
            found[name] = window.of_ranks(metric).mean(start, end)
        for metric in sorted(window.rank_readings):
            if metric.startswith(("hw.errors", "hw.gpu.pcie.replays")):
                found[metric] = window.rank_readings[metric].rate(start, end)
        ratio = window.features.ratio
        if ratio is not None:
            ends = compute_time.step_ends(window.features.steps)
            inside = (ends > start) & (ends <= end)
            found["own time over that of peers"] = medians.median(ratio[:, inside], axis=1)
        return {name: values for name, values in found.items() if np.isfinite(values).mean() >= 0.5}


def _peers(window: JobWindow) -> list[Ints]:
    """Return the rows of devices that should be alike, by rank, of each model and role."""
    keys = [window.role_of.astype(np.float64)]
    for metric in _ALIKE:
        readings = window.rank_readings.get(metric)
        if readings is not None:
            keys.append(np.nan_to_num(readings.latest()[0], nan=-1.0, posinf=-1.0, neginf=-1.0))
    # What is the same for all tells nobody apart, and sorting rows is slow.
    keys = [key for key in keys if len(key) and key.min() != key.max()] or keys[:1]
    _, which = np.unique(np.stack(keys, axis=1), axis=0, return_inverse=True)
    which = which.reshape(-1)
    groups = []
    for number in range(int(which.max(initial=-1)) + 1):
        rows = np.flatnonzero(which == number)
        if len(rows) >= FEWEST:
            groups.append(rows[np.argsort(window.ranks[rows], kind="stable")])
    return groups


def _any_far(newest: dict[str, Floats], groups: list[Ints]) -> bool:
    """Tell whether any device is far from its peers in any of its newest values."""
    now = np.stack(list(newest.values()), axis=1)
    return any(bool((np.abs(_distances(now[rows])) >= FAR).any()) for rows in groups)


def _distances(values: Floats) -> Floats:
    """Return [devices, values] in robust standard deviations from the median; 0 where unknown."""
    middle = medians.median(values, axis=0)
    off = values - middle
    spread = medians.OF_MAD * medians.median(np.abs(off), axis=0)
    # Two in a hundred of the level is what readings are worth.
    spread = np.maximum(spread, 0.02 * np.abs(middle))
    with np.errstate(invalid="ignore", divide="ignore"):
        distances = np.where(np.isfinite(off) & (spread > 0), off / spread, 0.0)
    return np.clip(distances, -100.0, 100.0)


def _isolated(far: Floats, odd: Ints) -> Floats:
    """Return [odd], the anomaly score of each, 0 to 1; zeros where there is no library for it."""
    usual = np.setdiff1d(np.arange(len(far)), odd)
    usual = usual[np.linspace(0, len(usual) - 1, min(SAMPLE, len(usual))).astype(np.int64)]
    chosen = odd[:SAMPLE]
    scores = np.zeros(len(odd))
    with suppress(ImportError):
        scores[: len(chosen)] = forests.isolation(
            far[np.concatenate([usual, chosen])], far[chosen], trees=64, seed=7
        )
    return scores
