"""Links between devices: those that went down, and those that repeat transfers."""

from collections.abc import Sequence

import numpy as np

from ...vocabulary.findings import Finding
from .. import medians
from ..contract import Detector
from ..findings import report
from ..window import JobWindow
from . import counters, states

UP = "hw.gpu.nvlink.up"
ERRORS = "hw.gpu.nvlink.errors"

_PEERS = 0.9
"""Share of the other devices of a model that must have a link up which was never seen up."""


class NvLinksDetector(Detector):
    """Name devices with a link that is down and was up, or that their peers have up; and errors.

    A link that is down counts when the device reported it as up before, or when nine of ten peers
    of the same model have theirs of that number up. It is a symptom by itself: collectives lose
    its share of the bandwidth, and NCCL does not route around one that fails while it is in use.
    Errors count by rate: at least `least` a minute and ten times the median of the other devices.
    They are evidence: links repeat transfers now and then.

    Parameters
    ----------
    seconds : the newest time range evaluated for errors.
    least : errors a minute over all links of a device from which on they count.

    Examples
    --------
    Link 4 of the device of rank 1 goes down at second 40.

    >>> from rankscope.detectors.sketch import START, readings, sketch
    >>> at = START + np.arange(0, 61, 5)
    >>> up = np.ones((4, 13))
    >>> up[1, 8:] = 0
    >>> window = sketch(np.full((4, 60), 0.8), rank_readings={
    ...     "hw.gpu.nvlink.up|4": readings(at, up)})
    >>> (down,) = NvLinksDetector().evaluate(window)
    >>> down.text, down.onset[0] - START, down.onset[1] - START
    ('gpu GPU-1 on host-0: NVLink 4 is down', 35.0, 40.0)

    Fails where links are neither counted nor listed; then the fault code is all there is
    (fault_codes.py). Cannot see which end of a link is broken: both devices may report it.

    References: nvmlDeviceGetNvLinkState and error counters.
    """

    name = "nvlinks"
    kinds = ("gpu.nvlink_down", "gpu.nvlink_errors")
    cadence_seconds = 5.0

    def __init__(self, *, seconds: float = 300.0, least: float = 10.0) -> None:
        self.seconds = seconds
        self.least = least

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return one finding a device with links that are down, and one for those with errors."""
        return [*self._down(window), *self._errors(window)]

    def _down(self, window: JobWindow) -> list[Finding]:
        findings = []
        turned = states.turned(window, UP, well=1.0, peers=_PEERS)
        for entity, links, onset in turned:
            named = ", ".join(sorted(links, key=lambda link: (len(link), link)))
            text = f"NVLink {named} is down" if len(links) == 1 else f"NVLinks {named} are down"
            findings.append(
                report(
                    window,
                    self.name,
                    "gpu.nvlink_down",
                    entity,
                    onset=onset,
                    magnitude=float(len(links)),
                    signal=UP,
                    observed=named,
                    expected="up",
                    text=f"{entity}: {text}",
                )
            )
        return findings

    def _errors(self, window: JobWindow) -> list[Finding]:
        total = np.zeros(len(window.ranks))
        first = np.full((len(window.ranks), 2), np.inf)
        for _, name in counters.variants(window.rank_readings, ERRORS):
            found = counters.growth(window.rank_readings[name], self.seconds)
            total[found.rows] += found.total * 60 / np.maximum(found.seconds, 60.0)
            earlier = found.first[:, 0] < first[found.rows, 0]
            first[found.rows[earlier]] = found.first[earlier]
        if not total.any():
            return []
        usual = medians.middle(total) if len(total) > 1 else 0.0
        findings = []
        for row in np.flatnonzero(total >= max(self.least, 10 * usual)).tolist():
            entity, seen = window.gpu_entity(row), float(total[row])
            if entity is None:
                continue
            findings.append(
                report(
                    window,
                    self.name,
                    "gpu.nvlink_errors",
                    entity,
                    onset=(float(first[row, 0]), float(first[row, 1])),
                    magnitude=seen,
                    score=min(1.5 + np.log10(seen / self.least), 3.0),
                    signal=ERRORS,
                    observed=seen,
                    expected=usual,
                    text=f"{entity}: {seen:.3g} NVLink errors a minute, its peers {usual:.2g}",
                )
            )
        return findings
