"""Ranks that are slower since their machine shows why, before steps alone could tell."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ...vocabulary.findings import Finding
from .. import compute_time, medians
from ..contract import Detector
from ..hardware.clocks import LowClockDetector
from ..hardware.config_drift import ConfigDriftDetector
from ..hardware.cpu_time import CpuTimeDetector
from ..hardware.throttling import ThrottlingDetector
from ..window import Floats, Ints, JobWindow
from .excess import BEYOND_CHANCE, SIGMAS, OutstandingRanks, noise
from .hidden import behind_data
from .scales import LONG
from .straggler_findings import healthy_seconds, slow_job, slow_rank
from .usual import UsualRatios, unlike, usual_of

NEWEST = 64
"""Steps that are looked at, at most: an episode of long ago says nothing about now."""

START_SECONDS = 60.0
"""Of an attempt, within which a sign was there from its first step on."""

LEAST_SPREAD = 0.01
"""The least by which ranks are taken to differ from the first step on, however few are seen."""

_SIGNS: tuple[Detector, ...] = (ThrottlingDetector(), LowClockDetector(), CpuTimeDetector())
_DRIFT = ConfigDriftDetector()


@dataclass(frozen=True, slots=True)
class _MachineSign:
    """What a machine shows: rows of the ranks on it, and since when (the last moment without).

    -inf: it was never without.
    """

    rows: Ints
    since: float

    def always(self, window: JobWindow, first_end: float) -> bool:
        """Return whether it was there from the first step on, or before all that is still held."""
        return self.since <= max(window.attempt_started_at + START_SECONDS, first_end)


class SlowWithSignsDetector(Detector):
    """Name the ranks whose steps grew longer since their device or host began to be held back.

    Two witnesses need to be less sure than one. Stragglers are told from steps alone, which needs
    many where the effect is small against the noise. A device that reports a throttle reason or a
    lower clock than its peers, and a host whose processes wait for a CPU, say which ranks will be
    slower and since when: one question in the place of one for every rank and every moment. The
    median excess of these ranks over their peers and their own habit, of all steps that began since
    the sign, all ranks of a host together, must be `least` and `sigmas` standard errors beyond what
    other ranks show. What it finds is information; `certain` standard errors in `enough` steps make
    it a warning where the excess is one that stragglers.py warns of, which needs more steps.

    A machine that was like that from the first step on, by its clock or by a version unlike its
    peers', leaves no habit to compare with: its ranks are named where they took `least_always`
    longer than their peers then and do now, `certain` times as far as the other ranks differ.

    Parameters
    ----------
    least : smallest excess over peers and habit that is told; a warning needs 4 %.
    sigmas : standard errors by which it must stand out from the other ranks.
    fewest : steps since the sign, at least.
    certain, enough : standard errors, and steps, from which on it is a warning.
    least_always : smallest excess over peers of what was so from the first step on.

    Examples
    --------
    From second 90 on the ranks of host-0 wait for a CPU, and need 5 % more for steps that vary by
    2 %: two steps are enough.

    >>> from rankscope.detectors.sketch import START, readings, sketch
    >>> own = np.random.default_rng(7).normal(3.0, 0.06, (8, 33))
    >>> own[:2, 28:] *= 1.06
    >>> at = START + np.arange(0.0, 106, 5)
    >>> wait = np.full((8, len(at)), 0.05)
    >>> wait[:2, at > START + 90] = 3.0
    >>> window = sketch(own, hosts=4, rank_readings={
    ...     "process.cpu.wait": readings(at, np.cumsum(wait, axis=1))})
    >>> for finding in SlowWithSignsDetector().evaluate(window):
    ...     print(finding.kind, finding.entity, f"{finding.magnitude:.2f}")
    job.slow job example 1.06
    rank.slow_compute rank 0 on host-0 1.05
    rank.slow_compute rank 1 on host-0 1.05

    Fails where the sign comes with a report that is later than the steps, and where a machine is
    slow without a sign. No number of steps makes up for a habit that is known from few: with a
    noise of 3.7 % a step and a habit of 20 steps (a job of long steps), 5 % of a host's four ranks
    stand at three standard errors after 17 steps, and stay information.

    Reference: Wald's sequential test: what must be known beforehand is paid for in observations.
    """

    name = "slow_with_signs"
    kinds = ("job.slow", "rank.slow_compute")
    cadence_seconds = 5.0

    def __init__(
        self,
        *,
        least: float = 0.03,
        sigmas: float = 2.5,
        fewest: int = 2,
        certain: float = SIGMAS + BEYOND_CHANCE,
        enough: int = LONG.fewest,
        least_always: float = 0.1,
    ) -> None:
        self.least = least
        self.sigmas = sigmas
        self.fewest = fewest
        self.certain = certain
        self.enough = enough
        self.least_always = least_always

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return findings on the ranks that are slower, and on the job that waits for them."""
        steps, own, ratio = window.features.steps, window.features.own, window.features.ratio
        if own is None or ratio is None or window.features.stale or len(window.ranks) < 2:
            return []
        if (
            compute_time.own_plane(steps) == compute_time.STEP
            or len(steps.index) <= 2 * self.fewest
        ):
            return []
        usual, ends = usual_of(window, len(ratio)), window.features.step_ends
        findings: list[Finding] = []
        apart = medians.median(ratio[:, -NEWEST:], axis=1) - 1 >= self.least_always
        detectors = (*_SIGNS, _DRIFT) if apart.any() else _SIGNS  # most jobs need not ask
        for sign in _signs(window, detectors):
            began = np.append(-np.inf, ends[:-1]) >= sign.since
            columns = np.flatnonzero(began)[-NEWEST:]
            if len(columns) < self.fewest:
                continue
            count = ratio.shape[1] - int(columns[0])
            found = None
            if sign.since > -np.inf:
                found = self._slower(window, ratio, usual, sign.rows, count)
            if found is None and sign.always(window, float(ends[0])):
                found = self._always_slower(window, ratio, usual, sign.rows, count)
            if (
                found is None
                or behind_data(steps, own, found.effect, found.rows, found.count).any()
            ):
                continue
            first = int(columns[0])
            healthy = healthy_seconds(own[:, first:], window.role_of, found.rows)
            findings += slow_job(
                window, steps, own, ratio, found, first, least=self.least, warm_up=0,
                detector=self.name,
            )  # fmt: skip
            for row in found.rows.tolist():
                reported = np.flatnonzero(np.isfinite(ratio[row, first:]))
                peers = healthy[int(window.role_of[row])]
                findings.append(
                    slow_rank(
                        window,
                        steps,
                        own,
                        row,
                        found,
                        first + int(reported[0]),
                        peers,
                        detector=self.name,
                    )
                )
        return findings

    def _slower(
        self, window: JobWindow, ratio: Floats, usual: UsualRatios, rows: Ints, count: int
    ) -> OutstandingRanks | None:
        """Return the rows as those that stand out in so many newest steps, None where not."""
        beyond = ratio[:, -count:] / usual.ratio[:, None] - 1
        others = np.setdiff1d(np.flatnonzero(usual.known), rows)
        theirs = medians.median(beyond[others], axis=1)
        theirs = theirs[np.isfinite(theirs)]
        rows = rows[usual.known[rows] & np.isfinite(beyond[rows]).any(axis=1)]
        inside = beyond[rows]
        valid = inside[np.isfinite(inside)]
        if not len(theirs) or len(valid) < self.fewest or len(rows) >= len(others):
            return None
        effect = medians.middle(valid)
        error = medians.OF_MEDIAN * medians.middle(noise(ratio, window.role_of)[rows])
        error /= np.sqrt(len(valid))
        spread = medians.OF_MEDIAN * float(np.std(theirs)) / np.sqrt(len(rows))
        distance = (effect - max(medians.middle(theirs), 0.0)) / max(np.hypot(error, spread), 1e-9)
        if effect < self.least or distance < self.sigmas:
            return None
        first = effect < LONG.least or distance < self.certain
        first |= len(valid) < self.enough * len(rows)
        return _standing(rows, effect, usual.ratio, self.least, count, first=first)

    def _always_slower(
        self, window: JobWindow, ratio: Floats, usual: UsualRatios, rows: Ints, count: int
    ) -> OutstandingRanks | None:
        """Return the rows as those that are slower than their peers, and were from the start."""
        plain = medians.median(ratio[:, -count:], axis=1) - 1
        then = np.where(usual.known, usual.ratio - 1, plain)
        others = np.setdiff1d(np.flatnonzero(np.isfinite(plain)), rows)
        rows = rows[np.isfinite(plain[rows])]
        if count < self.enough or not len(rows) or len(rows) >= len(others) or len(unlike(window)):
            return None
        least = max(
            self.least_always,
            self.certain * max(float(np.std(plain[others])), LEAST_SPREAD),
        ) + max(medians.middle(plain[others]), 0.0)
        if np.median(np.minimum(plain, then)[rows]) < least:
            return None
        return _standing(rows, plain[rows], np.ones(len(ratio)), self.least_always, count)


def _standing(
    rows: Ints,
    effect: float | Floats,
    usual: Floats,
    least: float,
    count: int,
    *,
    first: bool = False,
) -> OutstandingRanks:
    """Return rows as those that stand out by an effect, of each or of all, in every scale."""
    effects = np.zeros(len(usual))
    effects[rows] = effect
    everywhere = np.ones(len(usual), np.bool_)
    return OutstandingRanks(
        rows, effects, usual, effects / least, everywhere, everywhere, count, first=first
    )


def _signs(window: JobWindow, detectors: Sequence[Detector]) -> Iterator[_MachineSign]:
    for detector in detectors:
        rows_of: dict[str, _MachineSign] = {}
        for found in detector.evaluate(window):
            rows = np.array(
                [row for r in found.entity.ranks if (row := window.row_of(r)) is not None]
            )
            if len(rows):
                since = -np.inf if found.kind == "host.differs" else found.onset[0]
                rows_of.setdefault(str(found.entity), _MachineSign(rows.astype(np.int64), since))
        yield from rows_of.values()
