"""Fault codes that devices report, and devices whose clocks are held down."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...vocabulary.findings import Finding
from ..contract import Detector
from ..findings import report
from ..tenants import own_events
from ..window import Flags, Floats, JobWindow

_HARMLESS = ("info", "warning", "application")
"""Classes of fault codes that accuse no device: an application's errors, news of no consequence.

A code without a class counts: the sender could not tell.
"""
_HARMFUL = ("thermal_hw", "thermal_sw", "power_brake", "slowdown_hw")
_LIMITS = ("hw.power.limit", "hw.frequency.limit|sm", "hw.frequency.limit", "hw.gpu.memory.limit")
_BUSY = 0.5
"""Utilization below which a device's low clock says that it waits, not that it is held down."""


@dataclass(frozen=True, slots=True)
class _Held:
    """A device held down: why, what was seen and what is usual, up to when."""

    reason: str
    seen: float
    usual: float
    newest: float


class DeviceFaults(Detector):
    """Report `gpu.fault` events of the job's devices, and clocks held down against the peers.

    Events that the agent classed as an application's or as harmless are left out, and those of
    the node's earlier tenant (see tenants.py).

    A power cap at full load, idle clocks and application clock settings are normal life; only the
    reasons in the list count, and only while active in most of the newest readings. Without
    reasons, an SM clock 10 % below the median of the job's other devices of the same kind counts,
    while the device has work: a device that waits lowers its clock. Of the same kind are devices
    with equal limits of power, clock and memory; where no limit is reported, a host whose devices
    all run alike is taken for another model.

    Parameters
    ----------
    seconds : the newest time range evaluated.
    least : how far below its peers a clock must run (0.1 = 10 %).

    Examples
    --------
    The device of rank 3 is throttled by heat from second 45 on; the newest readings are of
    second 60, and the twenty seconds before are evaluated.

    >>> from rankscope.detectors.sketch import START, readings, sketch
    >>> at = START + np.arange(0, 61, 5)
    >>> heat = np.zeros((4, 13))
    >>> heat[3, 9:] = 1
    >>> window = sketch(np.full((4, 60), 0.8), rank_readings={
    ...     "hw.gpu.throttle|thermal_hw": readings(at, heat)})
    >>> (held_down,) = DeviceFaults().evaluate(window)
    >>> str(held_down.entity), held_down.onset[0] - START, held_down.magnitude
    ('gpu GPU-3 on host-1', 40.0, 1.0)

    Fails where all devices of one kind in the job are held down alike, and where a whole host of
    the job's own model runs slowly without a reason or a limit that says so.

    Source: NVML clock event reasons (nvml.h), facts on node telemetry 4.3.
    """

    name = "device_faults"
    kinds = ("gpu.fault_event", "gpu.throttled")

    def __init__(self, *, seconds: float = 20.0, least: float = 0.1) -> None:
        self.seconds = seconds
        self.least = least

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return one finding a fault event and a held-down device."""
        return [*self._events(window), *self._throttled(window)]

    def _events(self, window: JobWindow) -> list[Finding]:
        findings = []
        for event in own_events(window):
            if event.name != "gpu.fault" or event.attributes.get("class") in _HARMLESS:
                continue
            rank = event.attributes.get("rank")
            row = window.row_of(rank) if isinstance(rank, int) else None
            entity = window.gpu_entity(row) if row is not None else None
            if entity is None:
                continue
            code = str(event.attributes.get("code", ""))
            findings.append(
                report(
                    window,
                    self.name,
                    "gpu.fault_event",
                    entity,
                    onset=event.at,
                    seen=(event.at, event.at),
                    signal="gpu.fault",
                    observed=code,
                    text=f"{entity} reported {code} {event.attributes.get('text', '')}".strip(),
                )
            )
        return findings

    def _throttled(self, window: JobWindow) -> list[Finding]:
        held = self._by_clock(window)
        for reason in reversed(_HARMFUL):
            found = window.rank_readings.get(f"hw.gpu.throttle|{reason}")
            if found is None or not np.isfinite(found.at).any():
                continue
            newest = float(np.nanmax(found.at))
            share = found.mean(newest - self.seconds, newest)
            for row in np.flatnonzero(np.nan_to_num(share) >= 0.5):
                held[int(row)] = _Held(reason, float(share[row]), 0.0, newest)
        return [
            finding
            for row, what in sorted(held.items())
            if (finding := self._finding(window, row, what)) is not None
        ]

    def _finding(self, window: JobWindow, row: int, held: _Held) -> Finding | None:
        entity = window.gpu_entity(row)
        if entity is None:
            return None
        by_clock = held.usual > 0
        return report(
            window,
            self.name,
            "gpu.throttled",
            entity,
            onset=(held.newest - self.seconds, held.newest),
            seen=(held.newest - self.seconds, held.newest),
            magnitude=held.seen,
            score=2.0,
            signal="hw.frequency" if by_clock else "hw.gpu.throttle",
            observed=held.seen,
            expected=held.usual,
            text=(
                f"{entity}: SM clock {held.seen / 1e6:.0f} MHz, peers {held.usual / 1e6:.0f} MHz"
                if by_clock
                else f"{entity}: clocks held down, {held.reason}, {held.seen:.0%} of the time"
            ),
        )

    def _by_clock(self, window: JobWindow) -> dict[int, _Held]:
        """Return the rows whose busy device runs below the others of its kind."""
        clock = window.rank_readings.get("hw.frequency|sm")
        if clock is None or not np.isfinite(clock.at).any():
            return {}
        newest = float(np.nanmax(clock.at))
        speed = clock.mean(newest - self.seconds, newest)
        waiting = self._waiting(window, newest)
        kinds, limited = _kinds(window)
        found: dict[int, _Held] = {}
        for kind in np.unique(kinds):
            rows = np.flatnonzero((kinds == kind) & np.isfinite(speed) & ~waiting)
            if len(rows) < 3:
                continue
            usual = float(np.median(speed[rows]))
            low = rows[speed[rows] < (1 - self.least) * usual]
            for row in low:
                if not limited and _host_runs_alike(window, rows, speed, int(row), self.least):
                    continue
                found[int(row)] = _Held("low clock", float(speed[row]), usual, newest)
        return found

    def _waiting(self, window: JobWindow, newest: float) -> Flags:
        """Return [ranks], whose device has too little work for its clock to say anything."""
        waiting = np.zeros(len(window.ranks), np.bool_)
        start = newest - self.seconds
        for metric, least in (
            ("hw.gpu.utilization", _BUSY),
            ("hw.gpu.throttle|idle", None),
        ):
            found = window.rank_readings.get(metric)
            if found is None:
                continue
            seen = found.mean(start, newest)
            with np.errstate(invalid="ignore"):
                waiting |= seen >= 0.3 if least is None else seen < least
        return waiting


def _kinds(window: JobWindow) -> tuple[Floats, bool]:
    """Return [ranks], a number for each set of equal limits, and whether any limit is known."""
    limits = []
    for metric in _LIMITS:
        found = window.rank_readings.get(metric)
        if found is not None:
            limits.append(np.nan_to_num(found.latest()[0], nan=-1.0, posinf=-1.0, neginf=-1.0))
    if not limits:
        return np.zeros(len(window.ranks)), False
    _, kinds = np.unique(np.stack(limits, axis=1), axis=0, return_inverse=True)
    return kinds.reshape(-1).astype(float), True


def _host_runs_alike(
    window: JobWindow, rows: np.ndarray, speed: Floats, row: int, least: float
) -> bool:
    """Tell whether all devices of a row's host, two at least, run at about its clock."""
    if window.host_of[row] < 0:
        return False
    beside = speed[rows[window.host_of[rows] == window.host_of[row]]]
    return len(beside) > 1 and bool(np.ptp(beside) < least / 2 * float(beside.max()))
