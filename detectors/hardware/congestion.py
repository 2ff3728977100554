"""Congestion marks, notifications and pauses at the job's ports."""

from collections.abc import Sequence

import numpy as np

from ...vocabulary.findings import Finding
from .. import medians
from ..contract import Detector
from ..findings import report
from ..window import Floats, JobWindow
from . import counters, past, ports

CONGESTION = "hw.network.congestion"

SAMPLED = 256
"""Ports of one name that are looked at, evenly over the hosts: enough to tell what most do."""

MOST_HOSTS = 0.5
"""Share of the hosts on which a sign must have risen."""


class CongestionDetector(Detector):
    """Compare the rate of congestion signs over the job's hosts with their own past.

    Signs (ECN marks, notifications, priority pauses, ticks of waiting to send) are counted on any
    busy fabric, so a rate says nothing by itself. It counts where it rose on half of the hosts that
    report it to `factor` times its earlier rate, or where it is there now and was not at all.
    Evidence about the job: it says why collectives are slower, where they are.

    Parameters
    ----------
    seconds : the newest time range evaluated.
    past : how far back the hosts' own past is learnt from.
    factor : rise that counts.

    Examples
    --------
    From minute 4 on the ports of both hosts are marked ten times as often.

    >>> from rankscope.detectors.sketch import START, readings, sketch
    >>> at = START + np.arange(0, 301, 5)
    >>> marks = np.cumsum(np.where(at > START + 240, 1000.0, 100.0))
    >>> window = sketch(np.full((4, 60), 0.8), now=START + 300, host_readings={
    ...     "hw.network.congestion|mlx5_0|ecn|1": readings(at, np.stack((marks, marks)))})
    >>> (found,) = CongestionDetector().evaluate(window)
    >>> found.text
    'ecn at the ports of 2 of 2 hosts: 10 times as often as before'

    Fails where the fabric was congested from the start, and where switches drop without marking.

    References: IEEE 802.1Qbb, RFC 3168, RoCEv2 congestion notification.
    """

    name = "congestion"
    kinds = ("job.congestion",)
    cadence_seconds = 10.0

    def __init__(self, *, seconds: float = 45.0, past: float = 900.0, factor: float = 3.0) -> None:
        self.seconds = seconds
        self.past = past
        self.factor = factor

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return one finding: the sign that rose on most hosts."""
        found: list[tuple[float, Finding]] = []
        for sign, (rate, levels, start) in sorted(self._rates(window).items()):
            usual = past.usual(levels)
            known = np.isfinite(rate) & np.isfinite(usual)
            if not known.any():
                continue
            least = max(medians.middle(rate[known]) / 10, 1.0)
            rose = known & (rate >= np.maximum(self.factor * usual, least))
            share = float(rose.sum() / known.sum())
            if share < MOST_HOSTS:
                continue
            seen, before = medians.middle(rate[rose]), medians.middle(usual[rose])
            times = seen / max(before, least / self.factor)
            together = medians.median(levels[rose], axis=0)
            found.append(
                (
                    share * times,
                    report(
                        window,
                        self.name,
                        "job.congestion",
                        window.entity,
                        onset=past.began(together, start, self.seconds, (seen + before) / 2),
                        seen=(start, window.now),
                        magnitude=times,
                        score=min(1.0 + np.log2(times) / 2, 3.0),
                        signal=CONGESTION,
                        observed=seen,
                        expected=before,
                        text=f"{sign} at the ports of {int(rose.sum())} of {int(known.sum())} "
                        f"hosts: {times:.2g} times as often as before",
                    ),
                )
            )
        return [max(found, key=lambda one: one[0])[1]] if found else []

    def _rates(self, window: JobWindow) -> dict[str, tuple[Floats, Floats, float]]:
        """Return by sign the rates of [hosts] over all ports: now, in the past, and since when."""
        held: dict[str, tuple[Floats, Floats, float]] = {}
        for plane in ports.planes(window, CONGESTION):
            newest = plane.readings.newest_at()
            if newest == -np.inf:
                continue
            count = len(plane.hosts)
            readings, hosts_of = plane.readings, plane.hosts
            if count > SAMPLED:
                rows = np.unique(np.linspace(0, count - 1, SAMPLED).astype(np.int64))
                readings, hosts_of = readings.of(rows), hosts_of[rows]
            start = newest - max(self.seconds, 3.2 * readings.period())
            now = readings.rate(start, newest)
            levels = past.blocks(readings, start, self.past, counter=True)
            if plane.middle not in held:
                none = np.full(len(window.hosts), np.nan)
                held[plane.middle] = (none, np.full((len(none), levels.shape[1]), np.nan), start)
            total, before, _ = held[plane.middle]
            some = np.flatnonzero(hosts_of >= 0)
            for whole, part in ((total, now), (before, levels)):
                valid = np.isfinite(part) & (part < counters.MOST)
                added, known = np.zeros(whole.shape), np.zeros(whole.shape, np.bool_)
                np.add.at(added, hosts_of[some], np.where(valid, part, 0.0)[some])
                np.logical_or.at(known, hosts_of[some], valid[some])
                whole[known] = np.nan_to_num(whole[known]) + added[known]
        return held
