"""Ranks that all others wait for, told by their devices: these are given nothing to do."""

from collections.abc import Sequence

import numpy as np

from ...vocabulary.findings import Finding
from .. import compute_time, medians
from ..contract import Detector
from ..findings import report
from ..window import Flags, Floats, JobWindow
from .slow_steps import SlowStepsDetector

UTILIZATION = "hw.gpu.utilization"

PAST_SECONDS = 600.0
FEWEST_READINGS, FEWEST_STEPS = 6, 3
LEAST_SPREAD = 0.1
"""The least by which readings of one device are taken to differ, however few are seen."""

SPINS = 0.85
"""Utilization of devices that wait in collectives for most of a longer step, and work else."""

NEARLY_NONE = 0.15
"""Idle time of the others, as a share of what steps take longer."""


class StarvedDevicesDetector(Detector):
    """Name the ranks whose devices lie idle for longer since steps are slow, while all others spin.

    A device that waits in a collective is busy to its counter of utilization: a kernel runs. So
    where steps grew longer and ranks say no more than that, the devices tell who is waited for.
    Those of a rank whose loader, processes or host are late rest for the time by which the step is
    longer; those of all others fill it with waiting. Their idle seconds a step, since the onset
    and before it, are compared with what steps take longer: by ranks, and by the mean of a host's.
    A device that is slow itself is as busy as the others, and is none of these.

    Parameters
    ----------
    least : idle seconds a step that were added, as a share of what steps take longer.
    sigmas : standard errors by which they must exceed half of that.

    Examples
    --------
    From step 60 on the ranks of host-0 wait for data, 0.6 s a step, and report step times alone.

    >>> from rankscope.detectors.sketch import START, readings, sketch
    >>> own = np.random.default_rng(7).normal(0.8, 0.008, (4, 120))
    >>> own[:2, 60:] += 0.6
    >>> at = START + np.arange(0.0, 156, 3)
    >>> used = np.full((4, len(at)), 0.95)
    >>> used[:2, at > START + 60] = 0.59
    >>> unknown = np.full((4, 120), np.nan)
    >>> window = sketch(own, planes={compute_time.COMPUTE: unknown, compute_time.COMM: unknown},
    ...     rank_readings={UTILIZATION: readings(at, used)})
    >>> for finding in StarvedDevicesDetector().evaluate(window):
    ...     print(finding.kind, finding.entity, f"{finding.expected:.2f} {finding.observed:.2f}")
    rank.device_starved rank 0 on host-0 0.95 0.59
    rank.device_starved rank 1 on host-0 0.95 0.59

    Fails where loaders of most ranks are late alike, where a collective waits by sleeping (gloo),
    and for steps much longer than others have been. Cannot see why a device is given nothing.

    References: NVML's utilization counts the time in which a kernel runs; kernels of NCCL run while
    they wait.
    """

    name = "starved_devices"
    kinds = ("rank.device_starved",)
    cadence_seconds = 10.0

    def __init__(self, *, least: float = 0.4, sigmas: float = 3.0) -> None:
        self.least = least
        self.sigmas = sigmas

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return a finding a rank; none where steps are not slow, or ranks say more of them."""
        slow = next(iter(SlowStepsDetector().evaluate(window)), None)
        if slow is None or compute_time.own_plane(window.features.steps) != compute_time.STEP:
            return []
        before, since = float(slow.expected or 0.0), float(slow.observed or 0.0)
        longer, onset = since - before, slow.onset[1]
        devices = window.of_ranks(UTILIZATION)
        seconds = window.now - onset
        count = seconds / devices.period()
        if longer <= 0 or count < FEWEST_READINGS or seconds < FEWEST_STEPS * since:
            return []
        used = devices.mean(onset, window.now)
        past = devices.mean(slow.onset[0] - PAST_SECONDS, slow.onset[0])
        rested = (1 - past) * before
        added = (1 - used) * since - rested
        known = np.isfinite(added)
        spread = np.nanstd(devices.between(onset, window.now).value[known], axis=1)
        error = np.full(len(added), np.nan)
        error[known] = np.maximum(spread, LEAST_SPREAD) * since / np.sqrt(count)
        starved = self._starved(window, added, error, longer)
        others = known & ~starved
        if (
            not starved.any()
            or others.sum() < starved.sum()
            or medians.middle(added[others]) > NEARLY_NONE * longer
            or medians.middle(used[others]) < SPINS
        ):
            return []
        return [
            report(
                window,
                self.name,
                "rank.device_starved",
                window.rank_entity(row),
                onset=slow.onset,
                seen=slow.window,
                magnitude=slow.magnitude,
                score=2.0,
                signal=UTILIZATION,
                observed=float(used[row]),
                expected=float(past[row]),
                text=f"the device of rank {int(window.ranks[row])} rests "
                f"{(1 - used[row]) * since:.2g} s in a step, {rested[row]:.2g} s before; steps "
                f"take {longer:.2g} s longer and the others' devices are busy",
            )
            for row in np.flatnonzero(starved).tolist()
        ]

    def _starved(self, window: JobWindow, added: Floats, error: Floats, longer: float) -> Flags:
        """Return [ranks], who rests as long as steps are longer: alone, or with its whole host."""
        starved = self._certain(added, error, longer)
        for host in range(len(window.hosts)):
            on = np.flatnonzero((window.host_of == host) & np.isfinite(added))
            if len(on) < 2:
                continue
            together = np.array([added[on].mean()])
            its = np.array([np.sqrt((error[on] ** 2).sum()) / len(on)])
            if self._certain(together, its, longer).all():
                starved[on] |= added[on] >= self.least * longer / 2
        return starved

    def _certain(self, added: Floats, error: Floats, longer: float) -> Flags:
        least = self.least * longer
        with np.errstate(invalid="ignore"):
            return (added >= least) & (added - self.sigmas * error >= least / 2)
