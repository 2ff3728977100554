"""Errors of device memory: those that could not be corrected, and a rate of corrected ones."""

from collections.abc import Sequence

import numpy as np

from ...vocabulary.findings import Finding
from ..contract import Detector
from ..findings import report
from ..window import JobWindow
from . import counters

ERRORS = "hw.errors"
LINKS = ("pcie", "nvlink", "c2c")
"""Parts whose errors are those of links, not of memory."""


class MemoryErrorsDetector(Detector):
    """Name devices whose memory gave wrong data, and those that correct far more than their peers.

    Any growth of an uncorrected counter within the newest `seconds` counts, and it is a symptom
    without waiting for the job: the process that reads the bad word is ended. Corrected errors
    count by rate: at least `least` a second and ten times the median of the job's other devices.
    They are evidence and no more: error correction is there to do this.

    Parameters
    ----------
    seconds : the newest time range evaluated.
    least : corrected errors a second from which on their rate counts.

    Examples
    --------
    One word of the device of rank 1 cannot be corrected at second 50.

    >>> from rankscope.detectors.sketch import START, readings, sketch
    >>> at = START + np.arange(0, 61, 5)
    >>> wrong = np.zeros((4, 13))
    >>> wrong[1, 10:] = 1
    >>> window = sketch(np.full((4, 60), 0.8), rank_readings={
    ...     "hw.errors|uncorrected|hbm": readings(at, wrong)})
    >>> (found,) = MemoryErrorsDetector().evaluate(window)
    >>> found.kind, str(found.entity), found.onset[0] - START
    ('gpu.memory_error', 'gpu GPU-1 on host-0', 45.0)

    Fails where ECC is off or not reported: then wrong data shows in the loss, or not at all.

    References: NVSentinel issue 1748 (a dying memory: thousands of corrected errors a second, and
    no XID).
    """

    name = "memory_errors"
    kinds = ("gpu.memory_error", "gpu.memory_corrected")
    cadence_seconds = 5.0

    def __init__(self, *, seconds: float = 300.0, least: float = 1.0) -> None:
        self.seconds = seconds
        self.least = least

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return one finding a device, the worst."""
        findings: dict[tuple[str, int], Finding] = {}
        for values, name in counters.variants(window.rank_readings, ERRORS):
            if not values or any(part in LINKS for part in values[1:]):
                continue
            if values[0] == "uncorrected":
                self._uncorrected(window, name, findings)
            elif values[0] == "corrected":
                self._corrected(window, name, findings)
        return list(findings.values())

    def _uncorrected(
        self, window: JobWindow, name: str, findings: dict[tuple[str, int], Finding]
    ) -> None:
        found = counters.growth(window.rank_readings[name], self.seconds)
        for number, row in enumerate(found.rows.tolist()):
            entity = window.gpu_entity(row)
            first, last = (float(at) for at in found.first[number])
            if entity is None or last < window.attempt_started_at:
                continue
            count = float(found.total[number])
            findings.setdefault(
                ("uncorrected", row),
                report(
                    window,
                    self.name,
                    "gpu.memory_error",
                    entity,
                    onset=(first, last),
                    magnitude=count,
                    score=2.5,
                    signal=ERRORS,
                    observed=count,
                    expected=0.0,
                    text=f"{entity}: {count:.0f} memory errors that could not be corrected",
                ),
            )

    def _corrected(
        self, window: JobWindow, name: str, findings: dict[tuple[str, int], Finding]
    ) -> None:
        found = counters.growth(window.rank_readings[name], self.seconds)
        for fast in counters.fast(
            found, len(window.ranks), per=1.0, shortest=self.seconds / 5, least=self.least
        ):
            entity = window.gpu_entity(fast.row)
            if entity is None:
                continue
            findings.setdefault(
                ("corrected", fast.row),
                report(
                    window,
                    self.name,
                    "gpu.memory_corrected",
                    entity,
                    onset=fast.onset,
                    magnitude=fast.rate,
                    score=min(1 + np.log10(fast.rate / self.least), 3.0),
                    signal=ERRORS,
                    observed=fast.rate,
                    expected=fast.usual,
                    text=f"{entity} corrects {fast.rate:.3g} memory errors a second, its peers "
                    f"{fast.usual:.2g}",
                ),
            )
