"""When the first report arrives that can show what a fault does: before it, no method can know.

A step is reported when it has ended, by a host that sends every few seconds; and the first steps of
an attempt, which compile and fill caches, show nothing of a rank that is slow from the start.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from .moments import SLOWER
from .placement import host_name
from .progress import SimulatedAttempt
from .recording import RecordingTruth, SimulatedRecording
from .shape import EPOCH

ONSET = "onset"
"""The name under which the report after the onset stands."""


def first_reports(made: SimulatedRecording, truth: RecordingTruth) -> Mapping[str, float]:
    """Return by effect, and for the onset, when the first report that can show it arrives.

    Epoch seconds; one that never arrives is absent. It is the first one from the host at fault (of
    any host, where the fault has none) with data from after the first step under the effect ended;
    of a rank that stands still, and of the onset, with data from after that moment.
    """
    hosts = [host_name(host) for host in range(made.scenario.cluster.hosts)]
    host = hosts.index(truth.entity.host) if truth.entity.host in hosts else None
    sent = [
        (delivery.at, float(delivery.push.points.at.max()))
        for delivery in made.deliveries()
        if delivery.push is not None and host in (None, delivery.host)
    ]
    ours = [attempt for attempt in made.attempts if attempt.job.name == truth.job]
    found = dict[str, float]()
    for name, at in {ONSET: truth.onset, **truth.effects}.items():
        moment = at - EPOCH
        if name not in (ONSET, "stopped"):
            moment = _ended(ours, moment, warm=name in SLOWER)
        arrivals = [arrival for arrival, newest in sent if newest >= moment]
        if arrivals:
            found[name] = EPOCH + min(arrivals)
    return found


def _ended(attempts: Sequence[SimulatedAttempt], at: float, *, warm: bool) -> float:
    """Return when the first step that begins at `at` or later has ended; ranks end it together.

    warm: steps of the warm-up do not count. `at` where no step ends after it.
    """
    ends = [
        float(end.min())
        for attempt in attempts
        for number, (start, end) in enumerate(
            zip(attempt.steps.start, attempt.steps.end, strict=True)
        )
        if float(start.max()) >= at - 1e-6
        and (not warm or number >= attempt.job.warm_up_steps)
        and np.isfinite(end).all()
    ]
    return min(ends, default=at)
