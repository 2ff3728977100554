"""The hosts' clocks: how far each is ahead, and those that run away."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .site import SimulatedSite

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class HostClocks:
    """`offsets` (s) by host; `moving` has (times, seconds ahead beyond that) of those that move."""

    offsets: Array
    moving: Mapping[int, tuple[Array, Array]]

    def ahead(self, host: int, at: Array) -> Array:
        """Return by how many seconds a host's clock is ahead at these true times."""
        constant = np.full(len(at), self.offsets[host])
        if host not in self.moving:
            return constant
        times, ahead = self.moving[host]
        moved: Array = constant + np.interp(at, times, ahead)
        return moved


def watched(site: SimulatedSite, *, steady: bool) -> HostClocks:
    """Return the clocks of a site; `steady`: nothing moves them."""
    if steady:
        return HostClocks(site.offsets, {})
    times = np.arange(0.0, site.seconds + 1.0, 1.0)
    drift = np.array([site.conditions(float(at)).nodes.clock for at in times])
    moving = {host: (times, drift[:, host]) for host in np.flatnonzero(drift.any(axis=0)).tolist()}
    return HostClocks(site.offsets, moving)
