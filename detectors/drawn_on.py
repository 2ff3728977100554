"""How much of something a host had used at a moment, its last readings carried on until then."""

import numpy as np

from .window import Floats, PeriodicReadings


def shares(
    usage: PeriodicReadings, limit: Floats, host: int, at: float, past: float
) -> tuple[float, ...] | None:
    """Return the shares used in the `past` seconds before `at`, then that at `at`; None: unknown.

    The last reading is carried on at the rate of the last three, for as long as these took.
    """
    if host < 0:
        return None
    mine = usage.of(np.array([host]))  # one row: at thousands of hosts the whole is large
    moments, used = mine.at[0], mine.value[0]
    inside = (moments > at - past) & (moments <= at) & np.isfinite(used)
    moments, used = moments[inside], used[inside]
    most = float(limit[host])
    if not most > 0 or len(moments) < 3:
        return None
    order = np.argsort(moments, kind="stable")
    moments, used = moments[order], used[order] / most
    took = max(float(moments[-1] - moments[-3]), 1e-3)
    rate = max(float(used[-1] - used[-3]) / took, 0.0)
    return (*used.tolist(), float(used[-1]) + rate * min(at - float(moments[-1]), took))
