"""Ranks whose own loss or gradient norm leaves that of their peers beyond the noise of batches."""

from collections.abc import Sequence

import numpy as np

from ...vocabulary.findings import Finding
from .. import compute_time, curves, medians
from ..contract import Detector
from ..findings import INFORMATION, report
from ..window import Floats, Ints, JobWindow, StepValues
from . import model_replicas, outlying, pairs, peers, shapes, trios
from .peers import EXCURSION, FEWEST_EARLY, NEWEST, PeerOffset

LEAST_OF_LEVEL = {curves.LOSS: 0.02, curves.GRADIENT: 0.1}
"""Smallest offset as a share of the peers' level: less changes nothing."""

MOST = 512
"""Newest points that are looked at."""

CERTAIN = 64
"""Points that an offset has to last before it is certain."""

MOST_SHARE = 0.125
"""Where more replicas than that stand out, it is the peers' distribution that is wide."""


_CAME: dict[shapes.Came, tuple[str, str]] = {
    "at once": ("rank.value_offset", "is off"),
    "gradually": ("rank.value_drift", "drifts away"),
    "unclear": ("rank.value_off", "is off"),
}


class PeerValuesDetector(Detector):
    """Name the ranks whose local loss or gradient norm persistently differs from their peers'.

    Distance of each rank from the median of the peers of its role at the same step, in units of
    the spread between peers in a step (the noise of a micro batch). Ranks of roles with too few
    are compared with each other: what their roles differ by is their habit. A rank is off when the
    median of its newest 16 distances, less that of the oldest of its own, is beyond `sigmas`
    standard errors, beyond six times what other ranks' medians differ by (shards of data differ)
    and twice what any of them has been off by for eight points (data that comes in runs); where
    no earlier ones are known, three times the noise of a single point. An offset that grew little
    by little is a replica that drifts away; one that came at once is a device that computes wrong;
    what few points cannot tell apart (shapes.py) is either. A rank whose gradient norm is twice
    its peers' in five single steps, when no other rank's is, computes wrong now and then
    (outlying.py). The ranks of one replica, by their data-parallel coordinate, count as one. Of
    three ranks one leaves the other two (trios.py), of two one leaves its own past (pairs.py).

    Parameters
    ----------
    sigmas : standard errors of a median of 16 distances.
    unknown : smallest distance without a known habit, in units of batch noise.

    Examples
    --------
    The local loss of rank 5 is too high from step 60 on.

    >>> from rankscope.detectors.sketch import sketch
    >>> loss = np.random.default_rng(7).normal(2.0, 0.05, (8, 120))
    >>> loss[5, 60:] += 0.5
    >>> window = sketch(np.full((8, 120), 0.8), planes={"training.loss|local": loss})
    >>> for finding in PeerValuesDetector().evaluate(window):
    ...     print(finding.kind, finding.entity, finding.text)
    job.values_differ job example values of rank 5 differ from its peers'
    rank.value_offset rank 5 on host-1 rank 5's own loss is off by +0.52 since step 60, 26.0% of it

    Fails with a single rank, where only reduced values are reported, and where a
    rank was off by less than three times the batch noise from its first step, or, of three or two
    ranks, by whatever within their first 32 or 64 points. A wrong value that
    the reduction spreads to all ranks in the same step is not seen here. Cannot tell a device from
    a corrupted copy of the weights: a replay on another device can.

    References: Dixit et al., Silent data corruptions at scale (2021); Llama 3 (2024) 3.3.4; Gemini
    (2023) on silent corruption of accelerators.
    """

    name = "peer_values"
    kinds = ("job.values_differ", "rank.value_offset", "rank.value_drift", "rank.value_off")
    cadence_seconds = 5.0
    of_steps = True

    def __init__(self, *, sigmas: float = 8.0, unknown: float = 3.0) -> None:
        self.sigmas = sigmas
        self.unknown = unknown

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return the ranks that are off, and the symptom that values differ."""
        steps = window.features.steps.last(MOST)
        if len(window.ranks) < pairs.RANKS or compute_time.stale(window.features.steps, window.now):
            return []
        for metric in (curves.LOSS, curves.GRADIENT):
            plane = steps.planes.get(f"{metric}|local")
            if plane is None:
                continue
            least = LEAST_OF_LEVEL[metric]
            off = [one for rows in _peers(window) for one in self._off(plane, rows, least)]
            for rows in _few(window):
                few = trios if len(rows) == trios.RANKS else pairs
                one = few.off(plane, rows, sigmas=self.sigmas, least=least)
                off += [] if one is None else [one]
            if off and _of_few_replicas(window, off):
                return self._findings(window, steps.index, metric, off)
        return self._now_and_then(window, steps)

    def _now_and_then(self, window: JobWindow, steps: StepValues) -> list[Finding]:
        """Return the rank whose gradient norm leaves its peers' for single steps, repeatedly."""
        plane = steps.planes.get(f"{curves.GRADIENT}|local")
        if plane is None:
            return []
        ends = compute_time.step_ends(steps)
        for role in np.unique(window.role_of):
            one = outlying.repeated(plane, np.flatnonzero(window.role_of == role))
            if one is None or len(plane[0]) - int(one.columns[-1]) > outlying.NEWEST:
                continue
            rank, since = int(window.ranks[one.row]), int(steps.index[one.columns[0]])
            at = float(ends[one.columns[0]])
            found = report(
                window,
                self.name,
                "rank.value_offset",
                window.rank_entity(one.row),
                onset=at,
                magnitude=one.size,
                score=1.9,
                signal=curves.GRADIENT,
                observed=one.size,
                expected=1.0,
                text=f"rank {rank}'s own gradient norm was {one.size:.1f} times its peers' in "
                f"{len(one.columns)} single steps since step {since}",
            )
            named = f"rank {rank} differ from its"
            return [
                symptom(window, self.name, curves.GRADIENT, named, [rank], (at, at), 1.9),
                found,
            ]
        return []

    def _off(self, plane: Floats, rows: Ints, least_share: float) -> list[PeerOffset]:
        reported = np.isfinite(plane[rows, -4 * NEWEST :])
        columns = np.flatnonzero(reported.sum(axis=0) >= max(peers.FEWEST, len(rows) / 2))
        if len(columns) < NEWEST:
            return []
        newest = columns[-NEWEST:] + max(plane.shape[1] - 4 * NEWEST, 0)
        level, noise = peers.reference(plane, rows, newest)
        middle = medians.middle(level)
        if not noise > 0:
            noise = 1e-6 * abs(middle) + 1e-12
        distance = (peers.finite(plane[rows][:, newest]) - level) / noise
        recent = medians.median(distance, axis=1)
        recent = np.where(np.isfinite(distance).sum(axis=1) >= NEWEST // 2, recent, 0.0)
        between = medians.spread(recent)
        least = max(self.sigmas * medians.OF_MEDIAN / np.sqrt(NEWEST), 6 * between)
        least = max(least, least_share * abs(middle) / noise)
        found = []
        far = np.flatnonzero(np.abs(recent) > least)
        if len(far):
            least = max(
                least, EXCURSION * peers.excursions(plane, np.delete(rows, far), NEWEST // 2)
            )
            far = far[np.abs(recent[far]) > least]
        for place in far[: 2 + int(MOST_SHARE * len(rows))]:
            one = self._against_habit(plane, rows, int(place), least)
            if one is not None:
                share = abs(one.offset) * noise / max(abs(middle), 1e-12)
                found.append(
                    PeerOffset(one.row, one.distance, one.columns, one.offset * noise, share)
                )
        return found

    def _against_habit(
        self, plane: Floats, rows: Ints, place: int, least: float
    ) -> PeerOffset | None:
        """Return a rank that is off also compared with its own past."""
        row = int(rows[place])
        others = peers.chosen(rows)
        columns = np.flatnonzero(
            (np.isfinite(plane[others]).sum(axis=0) >= peers.FEWEST) & np.isfinite(plane[row])
        )
        level, noise = peers.reference(plane, others, columns)
        noise = noise if noise > 0 else 1e-6 * abs(medians.middle(level)) + 1e-12
        distance = (plane[row, columns].astype(np.float64) - level) / noise
        recent = medians.middle(distance[-NEWEST:])
        early = distance[:-NEWEST]
        # The older half, where there are few: what drifts has long begun in the newer one.
        early = early[: max(FEWEST_EARLY, min(len(early) // 2, 4 * FEWEST_EARLY))]
        if len(early) < FEWEST_EARLY:
            return (
                PeerOffset(row, distance, columns, recent, 0.0)
                if abs(recent) > self.unknown
                else None
            )
        offset = recent - medians.middle(early)
        return PeerOffset(row, distance, columns, offset, 0.0) if abs(offset) > least else None

    def _findings(
        self, window: JobWindow, index: Ints, metric: str, off: list[PeerOffset]
    ) -> list[Finding]:
        ends = compute_time.step_ends(window.features.steps.last(MOST))
        ranks = sorted(int(window.ranks[one.row]) for one in off)
        named = f"rank {ranks[0]} differ from its" if len(ranks) == 1 else (
            f"{len(ranks)} ranks differ from their"
        )  # fmt: skip
        found = []
        for one in off:
            shape = shapes.of(one.distance)
            first, (kind, word) = shape.first, _CAME[shape.came]
            what = "loss" if metric == curves.LOSS else "gradient norm"
            score = min(1.0 + one.share / LEAST_OF_LEVEL[metric] / 2, 4.0)
            if len(one.distance) - first < CERTAIN:
                score = min(score, 1.9)  # a shard may hold a run of unusual batches
            if not one.certain and shape.came != "gradually":
                score = INFORMATION
            at = float(ends[one.columns[first]])
            before = float(ends[one.columns[max(first - 1, 0)]])
            found.append(
                report(
                    window,
                    self.name,
                    kind,
                    window.rank_entity(one.row),
                    onset=(min(before, at), at),
                    magnitude=abs(one.offset),
                    score=score,
                    signal=metric,
                    observed=one.offset,
                    expected=0.0,
                    text=f"rank {int(window.ranks[one.row])}'s own {what} {word} by "
                    f"{one.offset:+.3g} since step {int(index[one.columns[first]])}, "
                    f"{one.share:.1%} of it",
                )
            )
        onset = min((f.onset for f in found), key=lambda pair: pair[1])
        score = max(f.score for f in found)
        return [symptom(window, self.name, metric, named, ranks, onset, score), *found]


def _of_few_replicas(window: JobWindow, off: Sequence[PeerOffset]) -> bool:
    """Tell whether few replicas are off, of however many ranks, which share their values."""
    rows = np.array([one.row for one in off], np.int64)
    everyone = model_replicas.count(window, np.arange(len(window.ranks)))
    return model_replicas.count(window, rows) <= max(1.0, MOST_SHARE * everyone)


def _peers(window: JobWindow) -> list[Ints]:
    """Return the rows of each role, and those of roles with too few ranks as one."""
    _, role, size = np.unique(window.role_of, return_inverse=True, return_counts=True)
    enough = [np.flatnonzero(role == number) for number in np.flatnonzero(size >= peers.FEWEST)]
    few = np.flatnonzero(size[role] < peers.FEWEST)
    return [*enough, few] if len(few) >= peers.FEWEST else enough


def _few(window: JobWindow) -> list[Ints]:
    """Return the rows of a role of three or two ranks, where no other role has too few."""
    _, role, size = np.unique(window.role_of, return_inverse=True, return_counts=True)
    few = np.flatnonzero(size[role] < peers.FEWEST)
    alone = len(few) in (trios.RANKS, pairs.RANKS) and bool((size[role[few]] == len(few)).all())
    return [few] if alone else []


def symptom(
    window: JobWindow,
    detector: str,
    metric: str,
    named: str,
    ranks: Sequence[int],
    onset: tuple[float, float],
    score: float,
) -> Finding:
    """Return that values of ranks differ more than they may."""
    return report(
        window,
        detector,
        "job.values_differ",
        window.entity,
        onset=onset,
        magnitude=float(len(ranks)),
        score=score,
        signal=metric,
        observed=float(len(ranks)),
        expected=0.0,
        text=f"values of {named} peers'",
        ranks=ranks,
    )
