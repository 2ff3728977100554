"""Hosts that fell silent while others of their job go on speaking."""

from collections.abc import Sequence

import numpy as np

from ..vocabulary.findings import Finding
from .window import JobWindow


class SilentHosts:
    """Report a host of the job that has said nothing for long while another host still speaks.

    Silence is measured by the clock that telemetry is received with, against the host's own habit
    of speaking. Everything silent together is the end of the data and no finding; neither is a host
    whose ranks all ended in order, nor one whose job goes on stepping.

    Parameters
    ----------
    least : seconds of silence that count at the earliest.
    periods : how many of the host's usual reporting periods must pass.

    Examples
    --------
    Both hosts speak every second; one was last received 15 s ago.

    >>> from rankscope.detectors.sketch import START, sketch
    >>> window = sketch(np.full((4, 60), 0.8), now=START + 80.0,
    ...                 host_last_received=START + np.array([79.5, 65.0]))
    >>> (silent,) = SilentHosts().evaluate(window)
    >>> str(silent.entity), silent.onset[0] - START, silent.magnitude
    ('host host-1', 65.0, 15.0)

    Fails to tell a dead host from a dead agent or network: the next check does.

    Reference: heartbeats of executors, MegaScale (NSDI'24).
    """

    name = "silent_hosts"
    kinds = ("host.silent",)

    def __init__(self, *, least: float = 10.0, periods: float = 3.0) -> None:
        self.least = least
        self.periods = periods

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return one finding a silent host."""
        if len(window.hosts) < 2:
            return []
        silence = window.now - window.host_last_received
        cadence = np.where(np.isfinite(window.host_interval), window.host_interval, 5.0)
        limit = np.maximum(self.least, self.periods * cadence)
        speaking = silence <= np.maximum(1.5 * cadence, 7.5)  # a stalled job speaks every 5 s only
        ended = _ended(window)
        findings = []
        for host in np.flatnonzero((silence > limit) & np.isfinite(silence)):
            others = np.delete(speaking, host)
            ranks = set(window.ranks[window.host_of == host].tolist())
            last_received = float(window.host_last_received[host])
            if not others.any() or ranks <= ended or self._steps_go_on(window, int(host)):
                continue
            entity = window.host_entity(int(host))
            findings.append(
                Finding(
                    kind="host.silent",
                    job=window.job,
                    attempt=window.attempt,
                    entity=entity,
                    onset=(last_received, last_received + float(cadence[host])),
                    magnitude=float(silence[host]),
                    score=float(silence[host] / limit[host]),
                    detector=self.name,
                    signal="training.progress.age",
                    window=(last_received, window.now),
                    observed=float(silence[host]),
                    expected=float(cadence[host]),
                    text=f"host {entity.id} has said nothing for {silence[host]:.0f} s",
                )
            )
        return findings

    def _steps_go_on(self, window: JobWindow, host: int) -> bool:
        """Tell whether other ranks ended steps that began after the host fell silent.

        A synchronous job cannot step without all its ranks: then the host lives, and its agent or
        its network does not.
        """
        steps = window.steps
        others = steps.at[window.host_of != host]
        mine = steps.at[window.host_of == host]
        if not others.size or not np.isfinite(mine).any() or not np.isfinite(others).any():
            return False
        valid = np.flatnonzero(np.isfinite(mine).any(axis=0))
        later = np.flatnonzero(np.isfinite(others).any(axis=0))
        # The step in flight and the one being reported may still end.
        return bool((later > valid[-1]).sum() > 2)


def _ended(window: JobWindow) -> set[int]:
    """Return the ranks that ended in order."""
    ended = set()
    for event in window.events:
        rank = event.attributes.get("rank")
        if not isinstance(rank, int):
            continue
        shutdown = event.name == "training.phase" and event.attributes.get("phase") == "shutdown"
        normal = event.name == "process.exit" and event.attributes.get("exit_code") in (0, "0")
        if shutdown or normal:
            ended.add(rank)
    return ended
