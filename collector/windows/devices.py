"""When a device was last seen working, whoever it runs for: by its node, else by jobs."""

from collections.abc import Iterator

import numpy as np

from ...detectors.hardware.lost_devices import FAILED, VITAL
from ...vocabulary.entities import Entity
from .nodes import Permits, everything, nothing
from .windows import TelemetryWindows

_WANTED = (*VITAL, FAILED)
_STATE_SECONDS = 30.0
"""A device that counted as failed so shortly before its newest reading still does."""


def last_seen(windows: TelemetryWindows, device: Entity, now: float) -> float | None:
    """Return when a device last gave a vital reading (s since the epoch).

    -inf while it counts as failed, None where no such reading of it is held.
    """
    newest, failed_at = -np.inf, -np.inf
    for name, at, value in _newest(windows, device.host or "", device.id, now):
        if not np.isfinite(at):
            continue
        if name in VITAL:
            newest = max(newest, at)
        elif value == 1:
            failed_at = max(failed_at, at)
    if newest == -np.inf:
        return None
    return -np.inf if failed_at >= newest - _STATE_SECONDS else newest


def _newest(
    windows: TelemetryWindows, host: str, hw_id: str, now: float
) -> Iterator[tuple[str, float, float]]:
    """Yield (plane's name, at, value) of the newest readings of a device.

    What its node reports of it is not for a job to mend: then that alone.
    """
    own = _of_node(windows, host, hw_id, nothing)
    yield from own
    if own:
        return
    yield from _of_node(windows, host, hw_id, everything)
    for attempt in windows.current():
        rank = windows.topology(attempt).rank_of_device(host, hw_id)
        if rank is None:
            continue
        window = windows.window(attempt, now, until=now)  # looks, and learns nothing
        here = np.flatnonzero(window.ranks == rank)
        for name in _WANTED:
            held = window.rank_readings.get(name)
            if held is not None and held.at.shape[1]:
                value, at = held.of(here).latest()
                yield from ((name, float(at[k]), float(value[k])) for k in range(len(here)))


def _of_node(
    windows: TelemetryWindows, host: str, hw_id: str, permits: Permits
) -> list[tuple[str, float, float]]:
    return [
        (plane.name, float(plane.last_at[row]), float(plane.last_value[row]))
        for plane, row, device in windows.of_node(host, permits)
        if device == hw_id and plane.name in _WANTED
    ]
