"""Ranks of hosts that hold all ranks of their roles: no peer elsewhere shows that a host is slow.

Where tensor, expert or context parallelism fills a host, and a pipeline stage with it, all ranks of
a role are slow together where their host is. What they do have is a past: each rank's own work over
what it took early in the attempt is compared with that of all other ranks. What grows for all of
the job (longer sequences) grows for both.
"""

import numpy as np

from .. import compute_time, medians, parts
from ..window import Floats, JobWindow, StepValues

NEWEST = 10
"""So many of the newest steps tell whether hosts differ enough for a closer look."""

LEAST = 1.03
"""By how much the own work of a host's ranks must have grown beyond that of another host's."""


def by_own_past(window: JobWindow, steps: StepValues, own: Floats) -> Floats | None:
    """Return [ranks, steps], own seconds as if all ranks had taken equally long early on.

    None where some role has ranks on several hosts, where the past is too short, and where no
    host's ranks have become slower than another's. own: [ranks, steps], seconds.
    """
    if not _confined(window) or own.shape[1] < parts.WARM_UP + 2 * NEWEST:
        return None
    own = compute_time.per_token(own, steps)
    early = own[:, parts.WARM_UP : -NEWEST][:, : parts.HABIT]
    habit = medians.median(early[:, : max(early.shape[1] // 2, NEWEST)], axis=1)
    if not (habit > 0).all():
        return None
    grown = medians.median(own[:, -NEWEST:], axis=1) / habit
    of_hosts = [medians.known(grown[window.host_of == host]) for host in np.unique(window.host_of)]
    if not max(of_hosts) >= LEAST * min(of_hosts):
        return None
    return own * (medians.middle(habit) / habit)[:, None]


def _confined(window: JobWindow) -> bool:
    """Tell whether every role has all of its ranks on one host, and there are several hosts."""
    hosts = window.host_of
    if len(window.hosts) < 2 or not len(hosts) or int(hosts.min()) < 0:
        return False
    _, role = np.unique(window.role_of, return_inverse=True)
    low = np.full(int(role.max()) + 1, len(window.hosts))
    high = np.full(len(low), -1)
    np.minimum.at(low, role, hosts)
    np.maximum.at(high, role, hosts)
    return bool((low == high).all()) and int(high.max()) > int(low.min())
