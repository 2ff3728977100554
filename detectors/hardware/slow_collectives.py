"""Collectives that are slower for everybody: the exchange itself, not a rank that comes late."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...vocabulary.findings import Finding
from .. import compute_time, durations, medians, onsets, parts
from ..contract import Detector
from ..findings import report
from ..pace import LEAST_BLOCK, LONG, slower
from ..window import Flags, Floats, JobWindow, StepValues
from .congestion import CongestionDetector

BLOCKS = 4
"""So many blocks of steps a past must hold before single exchanges are put together."""

MOST_BEFORE = 0.6
"""No block of earlier steps may have shown more than this share of the excess."""


class _LongExchange(NamedTuple):
    """Usual and newest seconds, the first long column, and whether it is long now and stays so."""

    usual: float
    seen: float
    first: int
    lasts: bool


class SlowCollectivesDetector(Detector):
    """Compare the shortest exposed wait in collectives with what it was.

    Every member of a synchronising collective waits for the last one to come, and then for the
    exchange. The last one waits for the exchange alone: so the shortest time that any rank spends
    in collectives is the time of the exchange, whoever is late. Its median over the newest steps
    against the median of earlier ones: an excess of `least` of the step that stands beyond its own
    noise means that the network, or what is sent, changed. A single exchange strays by more than
    that on a busy fabric: a minute of steps together shows 5 % of the step, three minutes
    `least_small`, by the noise of their medians. What grew little by little is left out there. Two
    episodes or more that come and go are found between them too. Evidence about the job. While it
    is `slows` of the step or more, and was in three steps in a row, it is what slows the job as
    well: no pause of a rank, evaluation or checkpoint makes the exchange longer for the one that
    comes last. `least_small` of the step is enough where minutes of steps show it together, and
    where the ports of most hosts show congestion too: two witnesses.

    Parameters
    ----------
    least : smallest excess, as a share of the step.
    least_small : smallest excess that lasts for minutes.
    slows : smallest excess that is said to slow the job, as a share of the step.
    sigmas : how far beyond the noise of earlier steps it must stand.

    Examples
    --------
    From step 40 on the exchange takes 0.5 s instead of 0.2 s, on every rank.

    >>> from rankscope.detectors.sketch import sketch
    >>> own = np.full((4, 60), 0.8)
    >>> comm = np.full((4, 60), 0.2)
    >>> comm[:, 40:] = 0.5
    >>> window = sketch(own, planes={"training.comm.duration": comm,
    ...     "training.step.duration": own + comm})
    >>> for finding in SlowCollectivesDetector().evaluate(window):
    ...     print(finding.kind, f"{finding.observed:.2f}", f"{finding.expected:.2f}")
    job.slow_collectives 0.50 0.20
    job.slow 1.00 0.70

    The one that comes last may be among those that have yet to report: of the newest steps only
    those count that every rank has reported which reported any within a minute of them.

    Fails where the exchange is hidden behind computing, and where the rank that comes late does not
    report: then the others' wait for it looks like a slow exchange.

    References: Mycroft and Greyhound for the member that waits least.
    """

    name = "slow_collectives"
    kinds = ("job.slow_collectives", "job.slow")
    cadence_seconds = 5.0

    def __init__(
        self,
        *,
        least: float = 0.05,
        least_small: float = 0.04,
        slows: float = 0.15,
        sigmas: float = 5.0,
    ) -> None:
        self.least = least
        self.least_small = least_small
        self.slows = slows
        self.sigmas = sigmas

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return a finding where the exchange is slower than it was, and what it costs the job."""
        steps = parts.steps_to_compare(window)
        if steps is None or not steps.has(compute_time.COMM):
            return []
        steps = _reported(steps)
        if len(steps.index) < parts.FEWEST + parts.WARM_UP:
            return []
        exchange = compute_time.exchange(steps)
        ends = compute_time.step_ends(steps)
        count = min(parts.newest(window, steps), len(steps.index) - parts.WARM_UP)
        step = parts.step_seconds(steps.last(count))
        found = self._at_once(exchange, ends, step, count)
        lasting = self._accumulated(exchange, ends, step)
        found = found or lasting
        if found is None or found.seen - found.usual > compute_time.MOST:
            return []
        excess, first = found.seen - found.usual, found.first
        before = float(ends[max(first - 1, 0)])
        onset = (min(before, float(ends[first])), float(ends[first]))
        return [
            report(
                window,
                self.name,
                "job.slow_collectives",
                window.entity,
                onset=onset,
                magnitude=found.seen / found.usual if found.usual > 0 else 1.0 + excess / step,
                score=min(excess / (self.least * step) + 1.0, 3.0),
                signal=compute_time.COMM,
                observed=found.seen,
                expected=found.usual,
                text=f"even the rank that waits least spends {durations.seconds(found.seen)} of a "
                f"step in collectives, {durations.seconds(found.usual)} before",
            ),
            *(
                self._slow(window, excess, step, onset, sure=lasting is not None)
                if found.lasts
                else []
            ),
        ]

    def _at_once(
        self, exchange: Floats, ends: Floats, step: float, count: int
    ) -> _LongExchange | None:
        """Return what stands out in so many of the newest steps, or in episodes that came before.

        exchange, ends: [steps], seconds, and when the steps ended. step: the usual one (s).
        """
        early = exchange[parts.WARM_UP : -count][-4 * parts.HABIT :]
        # Of the earlier half: what began lately must not become what is usual.
        early = early[: max(len(early) // 2, 2 * parts.FEWEST)]
        early = early[np.isfinite(early)]
        recent = exchange[-count:]
        recent = recent[np.isfinite(recent)]
        if len(early) < parts.FEWEST or len(recent) < parts.FEWEST or not step > 0:
            return None
        usual = medians.middle(early)
        least = max(self.least * step, self.sigmas * medians.spread(early))
        seen, first = medians.middle(recent), None
        runs = onsets.episodes(np.nan_to_num(exchange) > usual + least, parts.FEWEST)
        ongoing = seen - usual >= least
        again = onsets.recurring(runs, ends, float(ends[-1]), ongoing=ongoing)
        if again is not None:
            # Two episodes or more are one fault, between them too.
            odd = np.concatenate([exchange[begin : end + 1] for begin, end in runs[-again[1] :]])
            first, seen = again[0], medians.known(odd)
        excess = seen - usual
        if not excess >= least:
            return None
        if first is None:
            first = onsets.newest_run(np.nan_to_num(exchange) > usual + excess / 2)
        lasts = ongoing and _in_a_row(exchange[-count:] > usual + min(least, excess / 2))
        return _LongExchange(usual, seen, first, lasts=lasts)

    def _accumulated(self, exchange: Floats, ends: Floats, step: float) -> _LongExchange | None:
        """Return what minutes of steps show together, whatever a single exchange strays by.

        As steps are compared with older ones, had all but the exchange taken as long as ever.
        """
        valid = np.flatnonzero(np.isfinite(exchange) & np.isfinite(ends))[parts.WARM_UP :]
        if not step > 0 or not len(valid):
            return None
        rest = max(step - medians.middle(exchange[valid]), 0.0)
        found = slower(
            rest + exchange[valid], ends[valid], None,
            least=1 + self.least_small, sigmas=self.sigmas, blocks=BLOCKS, fewest=LONG,
        )  # fmt: skip
        if found is None or found.drifts:
            return None
        earlier = rest + exchange[valid[: found.first]]
        size = max(LEAST_BLOCK, min(found.count, len(earlier) // 8))
        if len(earlier) < BLOCKS * size:
            return None
        # A fabric that others use too has been as slow before.
        blocks = medians.of_rows(earlier[-(len(earlier) // size * size) :].reshape(-1, size))
        if float(blocks.max()) - found.healthy > MOST_BEFORE * (found.recent - found.healthy):
            return None
        first = int(valid[found.first])
        return _LongExchange(found.healthy - rest, found.recent - rest, first, lasts=True)

    def _slow(
        self,
        window: JobWindow,
        excess: float,
        step: float,
        onset: tuple[float, float],
        *,
        sure: bool,
    ) -> list[Finding]:
        """Return the symptom, where the excess (s) is a share of the step (s) that counts.

        sure: minutes of steps show it together. Nobody waits for longer than the step takes: a
        larger number is of another unit.
        """
        lost, slows = min(excess, 0.95 * step), self.slows
        if lost < slows * step and (sure or CongestionDetector().evaluate(window)):
            slows = self.least_small
        if lost < slows * step or excess > step:
            return []
        return [
            report(
                window,
                self.name,
                "job.slow",
                window.entity,
                onset=onset,
                magnitude=step / (step - lost),
                score=max(lost / (self.slows * step), 1.0),
                signal=compute_time.STEP,
                observed=step,
                expected=step - lost,
                text=f"steps take {durations.seconds(step)}; were the exchange in collectives as "
                f"fast as before they would take {durations.seconds(step - lost)}",
            )
        ]


def _reported(steps: StepValues) -> StepValues:
    """Return the steps without the newest ones that a rank has yet to report, if it still does."""
    known = np.isfinite(steps.plane(compute_time.COMM))
    last = known.shape[1] - 1 - np.argmax(known[:, ::-1], axis=1)
    ends = compute_time.step_ends(steps)
    newest = float(np.max(ends, where=np.isfinite(ends), initial=-np.inf))
    with np.errstate(invalid="ignore"):
        reports = known.any(axis=1) & (ends[last] >= newest - compute_time.STALE_SECONDS)
    return steps.cut(0, int(last[reports].min()) + 1) if reports.any() else steps


def _in_a_row(odd: Flags) -> bool:
    """Tell whether three values in a row, and most of all, are odd."""
    together: Flags = odd[2:] & odd[1:-1] & odd[:-2]
    return bool(together.any()) and float(odd.mean()) >= onsets.ODD_SHARE
