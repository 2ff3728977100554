"""Devices that give no readings any more, or count as failed, while their ranks make no steps."""

from collections.abc import Sequence

import numpy as np

from ...vocabulary.findings import Finding
from .. import parts
from ..contract import Detector
from ..findings import report
from ..tenants import own_events
from ..window import Flags, Floats, JobWindow
from . import devices
from .fault_codes import KINDS, LOST, code_of

VITAL = ("hw.gpu.utilization", "hw.temperature|gpu", "hw.power", "hw.gpu.memory.usage")
"""Readings that only a device that works can give."""

FAILED = "hw.status|failed"


class LostDevicesDetector(Detector):
    """Name devices that fell silent while others of their host report, or that count as failed.

    Silent: no vital reading for `periods` of the usual time between two and `seconds` at least,
    while another device of the host gave one in that time. A device whose rank goes on making steps
    works: then it is the agent that cannot read it, and nothing is said; nor is it before three
    steps should have ended. Nor is a device lost whose
    rank's own process fell silent with it and was not seen to end, or that itself reported another
    fault: one that answers, or that keeps a call waiting, is still there.

    Parameters
    ----------
    periods, seconds : how long a device must be silent.

    Examples
    --------
    From second 40 on the device of rank 3 gives no readings, and the job's last step ends there.

    >>> from rankscope.detectors.sketch import START, readings, sketch
    >>> at = START + np.arange(0.0, 81, 5)
    >>> power = np.full((4, len(at)), 600.0)
    >>> found = readings(at, power)
    >>> found.at[3, 9:] = found.value[3, 9:] = np.nan
    >>> window = sketch(np.full((4, 40), 0.8), now=START + 80, rank_readings={"hw.power": found})
    >>> (lost,) = LostDevicesDetector().evaluate(window)
    >>> str(lost.entity), lost.onset[0] - START
    ('gpu GPU-3 on host-1', 40.0)

    Fails where all devices of a host fall silent together (a driver that hangs, or the host), and
    where a host has one device only.

    References: NVML_ERROR_GPU_IS_LOST.
    """

    name = "lost_devices"
    kinds = ("gpu.lost",)
    cadence_seconds = 5.0

    def __init__(self, *, periods: float = 4.0, seconds: float = 15.0) -> None:
        self.periods = periods
        self.seconds = seconds

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        last = last_readings(window)
        newest = float(last.max(initial=-np.inf))
        late = np.isfinite(last) & (last < newest - self.seconds)
        failed = self._failed(window)
        if not (late | np.isfinite(failed)).any():
            return []
        period = reading_period(window)
        silent = self._silent(window, last, period)
        silent &= ~_gone_with_its_rank(window, max(self.periods * period, self.seconds))
        rows = np.flatnonzero(silent | np.isfinite(failed))
        if not len(rows):
            return []
        stepped, other = _last_steps(window), _with_another_fault(window)
        step = np.nan_to_num(parts.step_seconds(window.steps))
        findings = []
        for row in rows.tolist():
            entity = window.gpu_entity(row)
            began = float(last[row]) if silent[row] else float(failed[row])
            slack = max(2 * period, 5.0)
            if entity is None or row in other or stepped[row] > began + slack:
                continue
            # That no step has ended since says something only when one should have.
            if window.now - began < max(self.seconds, slack + 3 * step):
                continue
            what = (
                f"{entity} has given no readings for {window.now - began:.0f} s while its "
                "neighbours do"
                if silent[row]
                else f"{entity} counts as failed"
            )
            findings.append(
                report(
                    window,
                    self.name,
                    "gpu.lost",
                    entity,
                    onset=(began, began + period) if silent[row] else began,
                    magnitude=window.now - began,
                    signal="hw.power" if silent[row] else "hw.status",
                    observed="silent" if silent[row] else "failed",
                    expected="readings",
                    text=f"{what}, and rank {int(window.ranks[row])} makes no steps",
                )
            )
        return findings

    def _silent(self, window: JobWindow, last: Floats, period: float) -> Flags:
        limit = max(self.periods * period, self.seconds)
        newest = float(last.max(initial=-np.inf))
        silent = np.zeros(len(last), np.bool_)
        if newest == -np.inf:
            return silent
        # By the newest reading of all, not by the clock: a sender may lag behind as a whole.
        rows = np.flatnonzero((newest - last > limit) & np.isfinite(last))
        for row in rows.tolist():
            host = window.host_of[row]
            beside = last[(window.host_of == host) & (np.arange(len(last)) != row)]
            if host >= 0 and len(beside) and newest - beside.max() <= limit / 2:
                silent[row] = True
        return silent

    def _failed(self, window: JobWindow) -> Floats:
        """Return [ranks], since when a device counts as failed; NaN for the others."""
        since = np.full(len(window.ranks), np.nan)
        held = window.rank_readings.get(FAILED)
        if held is None:
            return since
        # Only the state that a device is in is reported: one that has ended just falls silent.
        value, at = held.latest()
        current = at >= held.newest_at() - 3 * held.period()
        current &= at >= window.now - max(4 * held.period(), 30.0)
        for row in np.flatnonzero((value == 1) & current).tolist():
            since[row] = devices.since(held, row, 1.0)
        return since


def _with_another_fault(window: JobWindow) -> set[int]:
    """Return the rows of devices whose own codes name another fault, and no loss."""
    codes: dict[int, set[str]] = {}
    for event in own_events(window):
        row = window.row_of_event(event) if event.name == "gpu.fault" else None
        if row is not None:
            codes.setdefault(row, set()).add(code_of(event))
    # Rows of memory that are to be remapped neither stop a device nor keep it from being lost.
    named = {code for code, kind in KINDS.items() if not kind.startswith("gpu.row_remap")} - LOST
    return {row for row, held in codes.items() if held & named and not held & LOST}


def last_readings(window: JobWindow) -> Floats:
    """Return [ranks], when a device last gave a vital reading; -inf where none did."""
    last = np.full(len(window.ranks), -np.inf)
    for metric in VITAL:
        held = window.rank_readings.get(metric)
        if held is not None and held.newest_at() > -np.inf:
            last = np.fmax(last, held.latest()[1])
    return last


def reading_period(window: JobWindow) -> float:
    """Return how often devices give vital readings, in seconds: what is given most rarely."""
    held = [window.rank_readings[metric] for metric in VITAL if metric in window.rank_readings]
    return max([5.0, *(one.period() for one in held if one.newest_at() > -np.inf)])


def _gone_with_its_rank(window: JobWindow, seconds: float) -> Flags:
    """Return [ranks], whose own process fell silent too, and was not seen to end.

    Then whoever reads for that rank stopped, and nothing is known of its device.
    """
    exits = window.named("process.exit")
    ended = {event.attributes.get("rank") for event in exits}
    with np.errstate(invalid="ignore"):
        gone: Flags = window.now - window.last_received > seconds
    return gone & ~np.isin(window.ranks, [rank for rank in ended if isinstance(rank, int)])


def _last_steps(window: JobWindow) -> Floats:
    """Return [ranks], when each rank's newest step ended; -inf where none is known."""
    at = window.steps.at
    last: Floats = np.max(np.where(np.isfinite(at), at, -np.inf), axis=1, initial=-np.inf)
    return last
