"""Fault codes that devices report, and devices whose clocks are held down."""

from collections.abc import Sequence

import numpy as np

from ..vocabulary.findings import Finding
from .window import JobWindow

_HARMLESS = ("info", "warning", "application")
"""Classes of fault codes that accuse no device: an application's errors, news of no consequence.

A code without a class counts: the sender could not tell.
"""
_HARMFUL = ("thermal_hw", "thermal_sw", "power_brake", "slowdown_hw")


class DeviceFaults:
    """Report `gpu.fault` events of the job's devices, and clocks held down against the peers.

    Events that the agent classed as an application's or as harmless are left out.

    A power cap at full load, idle clocks and application clock settings are normal life; only the
    reasons in the list count, and only while active in most of the newest readings. Without
    reasons, an SM clock 10 % below the median of the job's other devices counts.

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

    Fails where all devices of the job are held down alike.

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
        for event in window.events:
            if event.name != "gpu.fault" or event.attributes.get("class") in _HARMLESS:
                continue
            rank = event.attributes.get("rank")
            row = window.row_of(rank) if isinstance(rank, int) else None
            entity = window.gpu_entity(row) if row is not None else None
            if entity is None:
                continue
            code = str(event.attributes.get("code", ""))
            findings.append(
                Finding(
                    kind="gpu.fault_event",
                    job=window.job,
                    attempt=window.attempt,
                    entity=entity,
                    onset=(event.at, event.at),
                    magnitude=1.0,
                    score=3.0,
                    detector=self.name,
                    signal="gpu.fault",
                    window=(event.at, event.at),
                    observed=code,
                    expected=None,
                    text=f"{entity} reported {code} {event.attributes.get('text', '')}".strip(),
                )
            )
        return findings

    def _throttled(self, window: JobWindow) -> list[Finding]:
        active: dict[int, tuple[str, float, float, float]] = {}
        for reason in _HARMFUL:
            readings = window.rank_readings.get(f"hw.gpu.throttle|{reason}")
            if readings is None or not np.isfinite(readings.at).any():
                continue
            newest = float(np.nanmax(readings.at))
            share = readings.mean(newest - self.seconds, newest)
            for place in np.flatnonzero(np.nan_to_num(share) >= 0.5):
                active.setdefault(int(place), (reason, float(share[place]), newest, 0.0))
        clock = window.rank_readings.get("hw.frequency|sm")
        if clock is not None and np.isfinite(clock.at).any():
            newest = float(np.nanmax(clock.at))
            speed = clock.mean(newest - self.seconds, newest)
            usual = float(np.nanmedian(speed)) if np.isfinite(speed).sum() > 2 else np.nan
            slow = np.nan_to_num(speed, nan=np.inf) < (1 - self.least) * usual
            for place in np.flatnonzero(slow):
                active.setdefault(int(place), ("low clock", float(speed[place]), newest, usual))
        findings = []
        for row, (reason, seen, newest, usual) in sorted(active.items()):
            entity = window.gpu_entity(row)
            if entity is None:
                continue
            findings.append(
                Finding(
                    kind="gpu.throttled",
                    job=window.job,
                    attempt=window.attempt,
                    entity=entity,
                    onset=(newest - self.seconds, newest),
                    magnitude=seen,
                    score=2.0,
                    detector=self.name,
                    signal="hw.frequency" if usual else "hw.gpu.throttle",
                    window=(newest - self.seconds, newest),
                    observed=seen,
                    expected=usual,
                    text=(
                        f"{entity}: SM clock {seen / 1e6:.0f} MHz, peers {usual / 1e6:.0f} MHz"
                        if usual
                        else f"{entity}: clocks held down, {reason}, {seen:.0%} of the time"
                    ),
                )
            )
        return findings
