"""Bus bandwidth of collectives, where a library reports statistics of them."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ....vocabulary.samples import attributes
from .. import fabric
from ..placement import SimulatedGroup
from ..site import SimulatedSite
from ..training import SimulatedAttempt
from . import SimulatedSeries
from .readings import life, ticks
from .resources import of_job

Array = NDArray[np.float64]
BANDWIDTH = 180e9
"""Median bus bandwidth of a healthy group between hosts, in bytes a second; within one, twice."""


def series(attempts: Sequence[SimulatedAttempt], site: SimulatedSite) -> list[SimulatedSeries]:
    """Return the bus bandwidth that every rank reports for each of its data-parallel groups.

    All members of a ring report about the same: it is as fast as its slowest link.
    """
    metric = "collective.bus_bandwidth"
    if not site.reporting.collective_statistics or not site.reporting.shows(metric):
        return []
    found: list[SimulatedSeries] = []
    for attempt in attempts:
        if not attempt.steps.index:
            continue
        for group in attempt.seats.groups:
            if group.kind == "dp":
                found += _group(attempt, site, group, metric)
    return found


def _group(
    attempt: SimulatedAttempt, site: SimulatedSite, group: SimulatedGroup, metric: str
) -> list[SimulatedSeries]:
    seats, every = attempt.seats, site.reporting.rank
    between = len(np.unique(seats.host[group.members])) > 1
    random = np.random.default_rng([site.seed, 27, attempt.number, int(group.members[0])])
    found: list[SimulatedSeries] = []
    known: dict[int, Array] = {}
    for rank in group.members.tolist():
        host = int(seats.host[rank])
        begin, end = life(attempt, rank, site.seconds)
        at = ticks(begin + 2.0, end, every, float(site.phases[host]))
        ends = np.array([row[rank] for row in attempt.steps.end])
        done = np.searchsorted(ends, at)
        at = at[np.diff(done, prepend=0) > 0]
        if not len(at):
            continue
        history = site.history(host, every)
        if host not in known:
            known[host] = np.array(
                [fabric.slowdown(state, seats, group.members) for state in history.states]
            )
        slow = np.interp(at, history.at, known[host])
        value = BANDWIDTH * (1 if between else 2) / slow * random.lognormal(0, 0.03, len(at))
        who = attributes({"rank": rank, "group": group.name, "op": "all_reduce"})
        resource = of_job(attempt, host, site.cluster.name)
        found.append(SimulatedSeries(host, resource, metric, who, at, value))
    return found
