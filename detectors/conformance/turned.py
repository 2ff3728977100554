"""A job window with its ranks' rows in the opposite order: the same job."""

from dataclasses import fields, replace

import numpy as np

from ...vocabulary.topology import JobTopology, PlacementTable
from ..window import JobWindow, StepValues


def turned(window: JobWindow) -> JobWindow:
    """Return the same job with its ranks' rows in the opposite order."""
    order = np.arange(len(window.ranks))[::-1]
    steps, processes = window.steps, window.processes
    planes = {name: plane[order] for name, plane in steps.planes.items()}
    return replace(
        window,
        ranks=window.ranks[order],
        host_of=window.host_of[order],
        role_of=window.role_of[order],
        hw_ids=tuple(window.hw_ids[row] for row in order.tolist()),
        pids=window.pids[order],
        last_received=window.last_received[order],
        steps=StepValues(steps.index, steps.at[order], planes, steps.ends),
        rank_readings={name: held.of(order) for name, held in window.rank_readings.items()},
        groups=tuple(
            replace(group, rows=order[group.rows], absent=order[group.absent])
            for group in window.groups
        ),
        processes=replace(processes, row=np.where(processes.row < 0, -1, order[processes.row]))
        if len(processes.row)
        else processes,
        placed=None if window.placed is None else _opposite(window.placed),
    )


def _opposite(placed: JobTopology) -> JobTopology:
    """Return the same layout with its ranks' rows in the opposite order."""
    made = JobTopology(
        placed.job,
        attempt=placed.attempt,
        cluster=placed.cluster,
        version=placed.version,
        world_size=placed.world_size,
        hosts=placed.hosts,
        switches=placed.switches,
        nics=placed.nics,
        groups=placed.groups,
        mounts=placed.mounts,
    )
    return made.place(
        PlacementTable(
            **{column.name: getattr(placed, column.name)[::-1] for column in fields(PlacementTable)}
        )
    )
