"""What the alerts need of a window beside findings: how the job is, and what is reported of it."""

import numpy as np

from ...alerts.lifecycle import JobHealth
from ...detectors import medians
from ...detectors.liveness import parted
from ...detectors.readings import NamedReadings
from ...detectors.window import JobWindow
from ..windows.attempt import JobAttempt


def job_health(window: JobWindow, attempt: JobAttempt) -> JobHealth:
    """Return what incidents need of a job beside its findings."""
    return JobHealth(
        ranks=window.world_size,
        nodes=max(len(window.hosts), 1),
        cluster=window.cluster,
        attempt=attempt.number,
        last_step_at=parted.last_step(window),
        silent_seconds=window.now - attempt.last_received,
        first_at=attempt.first_at if attempt.first_at < window.now else -np.inf,
        step_seconds=step_seconds(window),
    )


def step_seconds(window: JobWindow) -> float:
    """Return how long a step usually takes, 0 where nobody can tell; one in several may be held."""
    apart, strides = window.features.pace[1], np.diff(window.steps.index[-64:])
    if not apart > 0 or not len(strides):
        return 0.0
    return apart / max(medians.middle(strides), 1.0)


def report_interval(window: JobWindow) -> float:
    """Return the seconds between two reports of the job's hosts, as a power of two; 0: unknown."""
    known = window.host_interval[window.host_interval > 0]
    if not len(known):
        return 0.0
    return float(2.0 ** np.round(np.log2(medians.middle(known))))


def observed(window: JobWindow) -> frozenset[str]:
    """Return the names of the metrics and events that some source of the job reports."""
    names = {name.partition("|")[0] for name in window.steps.planes}
    for readings in (window.rank_readings, window.host_readings):
        if isinstance(readings, NamedReadings):
            names |= readings.metrics
        else:
            names |= {name.partition("|")[0] for name in readings}
    if window.steps.at.size:
        names.add("training.step")
    if any(np.isfinite(group.enqueued).any() for group in window.groups):
        names.add("collective.enqueued")
    if any(np.isfinite(group.completed).any() for group in window.groups):
        names.add("collective.completed")
    return frozenset(names | {event.name for event in window.events})


def stacks_since(window: JobWindow, since: float) -> dict[int, str]:
    """Return the newest stack of each rank that was taken after a time, by rank."""
    found: dict[int, str] = {}
    for event in window.named("process.stack"):
        rank = event.attributes.get("rank")
        if event.at > since and isinstance(rank, int):
            found[rank] = str(event.attributes.get("text", ""))
    return found
