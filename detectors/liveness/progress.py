"""What the newest reports of ranks say about progress: how new they are, and what they rule out."""

import numpy as np

from .. import activity
from ..window import Floats, JobWindow
from .collective_signs import waits
from .stall_signs import OF_RAS

AGE = "training.progress.age"
SETTLED_SECONDS, SETTLED_STEPS = 5.0, 1.5
"""So long after a step, the longer counts, each rank has reported what it does in the next one:
counters of collectives come every 5 s."""

_REPORTED_SECONDS = 5.0
"""How often counters of collectives are reported: those of a job at work have moved each time."""


def newest_report(window: JobWindow) -> float:
    """Return the newest event time of the job's own sources that live beside its steps."""
    return window.features.once(newest_report, lambda: _newest_report(window))


def _newest_report(window: JobWindow) -> float:
    newest = -np.inf
    for metric in (AGE, "training.rank.info", activity.CPU, "process.cpu.wait",
                   "process.memory.usage"):  # fmt: skip
        found = window.rank_readings.get(metric)
        if found is not None:
            newest = max(newest, found.newest_at())
    for group in window.groups:
        newest = max(newest, float(np.max(group.at, initial=-np.inf)))
    if newest == -np.inf:
        for metric in ("system.cpu.utilization", "system.memory.usage"):
            found = window.host_readings.get(metric)
            if found is not None:
                newest = max(newest, found.newest_at())
    return newest


def all_stand(window: JobWindow, last: float, usual: float) -> bool:
    """Tell whether each rank has reported since `last` (s) that it ended no step after it.

    A report of a step's age tells steps that have not arrived yet from steps that have not ended,
    however rarely a host reports. usual: seconds a step. False where any rank reports no age: what
    one host holds back makes its ranks look as if they were behind.
    """
    found = window.rank_readings.get(AGE)
    if found is None:
        return False
    age, at = found.latest()
    settled = at >= last + max(SETTLED_SECONDS, SETTLED_STEPS * usual)
    # Clocks of hosts differ, and a rank ends its step when the slowest has arrived.
    return bool(len(at)) and bool((settled & (at - age <= last + max(1.0, usual / 2))).all())


def moved(window: JobWindow) -> Floats:
    """Return when collectives last moved and the report before, where no source would show steps.

    Nothing where one would, for its first step may take long, nor where nobody waits in a
    collective: such a job may be at work, or over. NCCL says
    of some ranks itself that they are waited for.
    """
    if AGE in window.rank_readings or window.named("training.phase"):
        return np.zeros(0)
    told = [e.at for e in window.events if e.attributes.get("signature") in OF_RAS]
    if not told and not any(waits(group) for group in window.groups):
        return np.zeros(0)
    last = max((float(np.max(group.changed_at, initial=-np.inf)) for group in window.groups),
               default=-np.inf)  # fmt: skip
    if told:
        last = max(last, min(told))
    return np.array([last - _REPORTED_SECONDS, last]) if np.isfinite(last) else np.zeros(0)


def collectives_moved(window: JobWindow, last: float, interval: float, *, sparse: bool) -> float:
    """Return when collectives were last seen to complete after the last step; -inf if never.

    The step's own collectives are seen up to two reporting periods late. With `sparse` steps they
    are those of steps that nobody reports.
    """
    moved = max((float(np.max(g.changed_at, initial=-np.inf)) for g in window.groups),
                default=-np.inf)  # fmt: skip
    late = 0.0 if sparse else seen_late(interval)
    return moved if moved > last + late else -np.inf


def seen_late(interval: float) -> float:
    """Return by how many seconds a collective may be seen late: two reporting periods."""
    return max(12.0, 2.2 * interval)
