"""Rows of device memory that wait to be replaced, or could not be."""

from collections.abc import Sequence

import numpy as np

from ...vocabulary.findings import Finding
from ..contract import Detector
from ..findings import report
from ..window import JobWindow
from . import counters

REMAP = "hw.gpu.row_remap"
COUNTS = ("hw.gpu.row_remaps|uncorrected", "hw.gpu.retired_pages|uncorrected")
"""What counts rows and pages that were given up, where nobody says that one waits."""

PAST_SECONDS = 86_400.0
"""How long a row or page that was given up is worth knowing, if the job lasts that long."""

_WORDS = {
    "pending": "a bad row of memory waits to be replaced; reset it when its job has ended",
    "failed": "a bad row of memory could not be replaced; the next error there ends the job",
}


class RowRemapsDetector(Detector):
    """Report devices whose row remap is pending (worth knowing) or has failed (it will fail).

    Neither costs the job anything yet. A failed remap leaves a row that has returned wrong data in
    use, which is why it counts without an effect; a pending one takes effect with the next reset,
    and somebody should plan it. Exporters that have no such state (of other vendors, DCGM's) count
    the rows or pages that uncorrected errors took out of use: one more during the attempt is the
    same.

    Parameters
    ----------
    None: the device says it or does not.

    Examples
    --------
    >>> from rankscope.detectors.sketch import START, readings, sketch
    >>> state = np.array([[0.0], [0.0], [1.0], [0.0]])
    >>> window = sketch(np.full((4, 60), 0.8), rank_readings={
    ...     "hw.gpu.row_remap|failed": readings(START + np.arange(0, 61, 5), state)})
    >>> [(finding.kind, str(finding.entity)) for finding in RowRemapsDetector().evaluate(window)]
    [('gpu.row_remap_failed', 'gpu GPU-2 on host-1')]

    Fails on devices of vendors without states and counts, and for what came before the attempt
    where only counts are reported.

    References: NVIDIA, GPU memory error management.
    """

    name = "row_remaps"
    kinds = ("gpu.row_remap_pending", "gpu.row_remap_failed")
    cadence_seconds = 10.0

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return one finding a device and state."""
        findings = []
        for state, words in _WORDS.items():
            held = window.rank_readings.get(f"{REMAP}|{state}")
            if held is None:
                continue
            value, at = held.latest()
            for row in np.flatnonzero((value == 1) & np.isfinite(at)).tolist():
                entity = window.gpu_entity(row)
                if entity is None:
                    continue
                one = held.of(np.array([row]))
                ones = one.at[0][one.value[0] == 1]
                findings.append(
                    report(
                        window,
                        self.name,
                        f"gpu.row_remap_{state}",
                        entity,
                        onset=float(np.min(ones, initial=float(at[row]))),
                        score=2.0 if state == "failed" else 1.0,
                        signal=REMAP,
                        observed=state,
                        text=f"{entity}: {words}",
                    )
                )
        return [*findings, *self._counted(window)]

    def _counted(self, window: JobWindow) -> list[Finding]:
        """Return findings by counts, on devices that do not say whether a row waits."""
        stated = np.isfinite(window.of_ranks(f"{REMAP}|pending").latest()[0])
        findings: dict[int, Finding] = {}
        for name in COUNTS:
            held = window.rank_readings.get(name)
            if held is None:
                continue
            grown = counters.growth(held, PAST_SECONDS)
            for number, row in enumerate(grown.rows.tolist()):
                entity = window.gpu_entity(row)
                before, after = grown.last[number].tolist()
                if entity is None or stated[row] or after < window.attempt_started_at:
                    continue
                findings[row] = report(
                    window,
                    self.name,
                    "gpu.row_remap_pending",
                    entity,
                    onset=(before, after),
                    score=1.0,
                    signal=name.split("|")[0],
                    observed=float(grown.total[number]),
                    text=f"{entity}: {grown.total[number]:.0f} more rows or pages of its memory "
                    "were given up after uncorrected errors; reset it when its job has ended",
                )
        return list(findings.values())
