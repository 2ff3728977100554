"""Hosts that fell silent while others of their job go on reporting."""

from collections.abc import Callable, Sequence

import numpy as np

from ...vocabulary.findings import Finding
from .. import activity, silence
from ..contract import Detector
from ..findings import report
from ..window import Flags, Floats, JobWindow
from . import pauses, stops
from .stall_signs import AGE

STOPPED_SECONDS = 10.0
"""A host that reports on for so long after the last step is not why there was no other."""

LATE_SECONDS = 2.0
"""A report may come so much later than its interval says; later steps show that the host lives."""


FIRST = 2.0
"""So many times as long the host of the job's first rank is waited for where others wait for its
ranks: that rank may evaluate or save for all of them, while requests are late."""

OUTLAST = 0.8
"""Share of the silence that counts by which others must have been received later: where the data
or the job ends, the last reports of hosts lie an interval or two apart."""


class SilentHostsDetector(Detector):
    """Report a host of the job that has sent nothing for long while another host still reports.

    Silence is measured by the clock that telemetry is received with, against the host's own
    reporting interval, and against twice that of its rarer source, the node's own or the job's,
    unless the others stand in collectives and wait for its ranks alone; as long as the interval is
    not known, against `unknown`. Everything silent together
    is the end of the data and no finding. Neither is a host whose ranks all ended, in order or
    not, nor one whose agent announced its shutdown: what its ranks do then is for others to say. A
    synchronous job cannot step without all its ranks, so as long as steps end, or the next one is
    not overdue by `overdue` usual steps, the host lives (or the job was resized without it) and its
    agent or its network does not. So it does while ranks elsewhere calculate between steps: they
    evaluate or save. Hosts that all fell silent together, as in a restart, come back one by one: a
    host is silent only where another went on reporting meanwhile. Ranks beyond the newest world
    size are of the job before it was resized: their hosts left it.

    A lost host is what stops the job. One that still reported after a rank elsewhere had ended
    abnormally, or long after the last step, fell silent because the job was over: agents report no
    job that has ended. Where no exit is seen, the ranks of the others must live on and wait.

    Parameters
    ----------
    least : seconds of silence that count at the earliest.
    periods : how many of the host's usual reporting intervals must pass.
    unknown : seconds of silence that count where the interval is not known, or where nothing from
        elsewhere says that the job waits for this host: no step has ended yet, only this host
        reports steps, the job may evaluate or save as long as it has done before, a step elsewhere
        began after this host's next report was due, or a device or rank elsewhere failed, or
        another host fell silent, while this host still reported. Agents restart, and are back by
        then.
    overdue : how many usual steps may pass since the last step ended before the job stands still.

    Examples
    --------
    Both hosts report every second; one was last received 15 s ago.

    >>> from rankscope.detectors.sketch import START, sketch
    >>> window = sketch(np.full((4, 60), 0.8), now=START + 80.0,
    ...                 host_last_received=START + np.array([79.5, 65.0]))
    >>> (silent,) = SilentHostsDetector().evaluate(window)
    >>> str(silent.entity), silent.onset[0] - START, silent.magnitude
    ('host host-1', 65.0, 15.0)

    Fails to tell a dead host from a dead agent or network where no steps are reported: the next
    check does. Cannot see that a host died after its agent announced a shutdown.

    Reference: heartbeats of executors, MegaScale (NSDI'24).
    """

    name = "silent_hosts"
    kinds = ("host.silent",)

    def __init__(
        self,
        *,
        least: float = 10.0,
        periods: float = 3.0,
        unknown: float = 60.0,
        overdue: float = 2.0,
    ) -> None:
        self.least = least
        self.periods = periods
        self.unknown = unknown
        self.overdue = overdue

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        if len(window.hosts) < 2:
            return []
        silent_for = window.now - window.host_last_received
        limit, quicker = self._limit(window), self._limit(window, silence.of_quicker)
        if ((silent_for > quicker) & (silent_for <= limit)).any():
            # Others stand and wait for it: a source that is read rarely is no evidence either way.
            first = np.arange(len(limit)) == window.host_of[int(np.argmin(window.ranks))]
            awaited = np.minimum(limit, np.where(first, FIRST, 1.0) * quicker)
            limit = np.where(silence.awaited(window), awaited, limit)
        late = (silent_for > limit) & np.isfinite(silent_for) & ~_announced(window)
        if not late.any():
            return []
        interval = np.where(np.isfinite(window.host_interval), window.host_interval, 5.0)
        # A stalled job is reported every 5 s only.
        reporting = silent_for <= np.maximum(1.5 * interval, 7.5)
        ended = _ended(window)
        findings = []
        for host in np.flatnonzero(late):
            ranks = set(window.ranks[window.host_of == host].tolist())
            others = np.delete(window.host_last_received, host)
            longer = float(others.max(initial=-np.inf)) - window.host_last_received[host]
            if longer < OUTLAST * limit[host] or not np.delete(reporting, host).any():
                continue
            if ranks <= ended:
                continue
            if min(ranks, default=0) >= window.newest_world_size > 0:
                continue
            if self._steps_go_on(window, int(host)) or _others_work(window, int(host)):
                continue
            if window.now < _pause_ends(window) or _job_was_over(window, int(host), quicker):
                continue
            if not self._missed_by_others(window, int(host), limit):
                continue
            if silent_for[host] < self.unknown and (
                not _waited_for(window, int(host))
                or _failed_elsewhere(window, int(host))
                or _silent_before(window, int(host), late, interval)
                or _outlived(window, int(host)) > 0
            ):
                continue
            entity = window.host_entity(int(host))
            last_received = float(window.host_last_received[host])
            findings.append(
                report(
                    window,
                    self.name,
                    "host.silent",
                    entity,
                    onset=(last_received, last_received + float(interval[host])),
                    seen=(last_received, window.now),
                    magnitude=float(silent_for[host]),
                    score=float(silent_for[host] / limit[host]),
                    signal="training.progress.age",
                    observed=float(silent_for[host]),
                    expected=float(interval[host]),
                    text=f"host {entity.id} has sent nothing for {silent_for[host]:.0f} s",
                )
            )
        return findings

    def next_due(self, window: JobWindow) -> float:
        """Return when the next host would count as silent, or the job's next step as overdue."""
        if len(window.hosts) < 2:
            return np.inf
        due = window.host_last_received + self._limit(window)
        later = due[np.isfinite(due) & (due > window.now) & ~_announced(window)]
        last, usual = window.features.pace
        if (due <= window.now).any() and np.isfinite(last):
            overdue = last + self.overdue * usual
            later = np.append(later, overdue if overdue > window.now else np.inf)
            more = np.append(window.host_last_received + self.unknown, _pause_ends(window))
            later = np.append(later, more[np.isfinite(more) & (more > window.now)])
        return float(later.min(initial=np.inf))

    def _limit(self, window: JobWindow, limits: Callable[..., Floats] = silence.limits) -> Floats:
        """Return [hosts], how long each may be silent."""
        least = self.least if np.isfinite(window.features.pace[0]) else self.unknown
        return limits(window, least=least, periods=self.periods, unknown=self.unknown)

    def _missed_by_others(self, window: JobWindow, host: int, limit: Floats) -> bool:
        """Return whether another host reported all the time, or is back for as long."""
        if len(window.host_returned) != len(window.hosts):
            return True
        back = np.delete(window.host_returned, host)
        received = np.delete(window.host_last_received, host)
        since = window.host_last_received[host]
        all_the_time = (back <= since) & (received - since > OUTLAST * limit[host])
        again = (back > since) & (window.now - back > limit[host])
        return bool((all_the_time | again).any())

    def _steps_go_on(self, window: JobWindow, host: int) -> bool:
        """Tell whether other ranks ended steps that began after the host was last received.

        Also as long as the next step was not overdue in their newest reports: nothing says yet that
        the job stands still.
        """
        last, usual = window.features.pace
        newest = float(np.delete(window.host_last_received, host).max(initial=-np.inf))
        if np.isfinite(last) and newest - last < self.overdue * usual:
            return True
        others = np.isfinite(window.steps.at[window.host_of != host])
        mine = np.isfinite(window.steps.at[window.host_of == host])
        if not others.any():
            return False
        # The step in flight and the one being reported may still end. Of a host that never reported
        # a step (its agent has no probe, or the job was resized without it) only time is compared.
        until = np.flatnonzero(mine.any(axis=0))[-1] if mine.any() else -1
        later = np.flatnonzero(others.any(axis=0)) > until
        slack = min(usual, LATE_SECONDS)
        return bool(later.sum() > 2) and _outlived(window, host) > slack


def _outlived(window: JobWindow, host: int) -> float:
    """Return how long after the host's next report was due the newest step elsewhere began.

    In seconds; above 0 the host missed a report that it lived to send, as it took part in the step.
    """
    _, usual = window.features.pace
    ends = window.steps.at[window.host_of != host]
    newest = float(np.max(ends, initial=-np.inf, where=np.isfinite(ends)))
    due = float(window.host_last_received[host] + np.nan_to_num(window.host_interval[host]))
    return newest - usual - due


def _others_work(window: JobWindow, host: int) -> bool:
    """Tell whether ranks elsewhere evaluate or save since the last step: they wait for nobody."""
    last, _ = window.features.pace
    if not np.isfinite(last):
        return False
    done = activity.since(window, last)
    elsewhere = window.host_of != host
    return bool(((done.works | done.busy) & elsewhere).any())


def _waited_for(window: JobWindow, host: int) -> bool:
    """Tell whether others show that the job stands still; else its agent alone may be away.

    Silence of the only host that reports steps is silence about steps. And as long as a pause may
    last that the job has survived before, others that wait may wait for a rank that evaluates or
    saves for all of them.
    """
    elsewhere = window.host_of != host
    last, _ = window.features.pace
    steps = np.isfinite(window.steps.at[elsewhere]).any()
    ages = np.isfinite(window.of_ranks(AGE).latest()[0][elsewhere]).any()
    pausing = window.now - last < 1.5 * pauses.longest(window)
    return bool((steps or ages) and not pausing)


def _failed_elsewhere(window: JobWindow, host: int) -> bool:
    """Tell whether a device or a rank of another host failed in the last step, before the silence.

    That is why the job waits, until this host has been away for longer than agents are.
    """
    last, usual = window.features.pace
    here = window.hosts[host]
    until = float(window.host_last_received[host])
    return any(
        event.resource.host not in (None, here) and last - usual <= event.at <= until
        for event in stops.roots(window)
    )


def _silent_before(window: JobWindow, host: int, late: Flags, interval: Floats) -> bool:
    """Tell whether another host fell silent clearly before this one, as steps ended no more.

    That is why the job waits. late, interval: [hosts], who is silent; reporting intervals (s).
    """
    last, usual = window.features.pace
    received = window.host_last_received
    stopped = received > last - usual - 2 * interval
    first = received + np.maximum(1.5 * interval, 5.0) < received[host]
    return bool((late & stopped & first).any())


def _pause_ends(window: JobWindow) -> float:
    """Return until when a pause that was announced just now may last; -inf where none was.

    An agent that is away meanwhile cannot be told from a host that is. How long the job pauses is
    known once it has paused often: that it takes far longer than ever at the very moment at which
    an agent falls silent is no chance.
    """
    last, usual = window.features.pace
    if not np.isfinite(last) or not (kinds := pauses.just_announced(window, last, usual)):
        return float("-inf")
    surely = 0.0 if pauses.shown(window, kinds, last, usual) else pauses.SURELY_SECONDS
    return last + max(surely, 1.5 * pauses.longest(window))


def _job_was_over(window: JobWindow, host: int, limit: Floats) -> bool:
    """Tell whether the job had stopped before this host fell silent: it is not what stopped it."""
    silent_since = float(window.host_last_received[host])
    crashes = _crashes_elsewhere(window, host)
    if crashes and min(crashes) < silent_since:
        return True
    last, usual = window.features.pace
    interval = float(np.nan_to_num(window.host_interval).max(initial=0.0))
    if np.isfinite(last):
        # A pause is no stop: as long as one may last, the host may be lost in it.
        last = max([last, *(e.at for e in window.named("training.phase"))])
        pause = max(pauses.longest(window), 2 * usual, STOPPED_SECONDS)
        if silent_since > last + pause + 2 * interval:
            return True
    if crashes:
        return False
    elsewhere = window.last_received[(window.host_of != host) & (window.host_of >= 0)]
    elsewhere = elsewhere[np.isfinite(elsewhere)]
    if not len(elsewhere):
        return False
    return float(elsewhere.max()) < silent_since + OUTLAST * float(limit[host])


def _crashes_elsewhere(window: JobWindow, host: int) -> list[float]:
    """Return when ranks of other hosts ended abnormally."""
    here = set(window.ranks[window.host_of == host].tolist())
    return [
        event.at
        for event in stops.exits_of(window)
        if stops.code_of(event) != 0 and stops.rank_of(event) not in here
    ]


def _announced(window: JobWindow) -> Flags:
    """Return [hosts], whose agent announced its shutdown and was not received since."""
    if len(window.host_announced) == len(window.hosts):
        return window.host_announced
    return np.zeros(len(window.hosts), np.bool_)


def _ended(window: JobWindow) -> set[int]:
    """Return the ranks that ended: a host that reported an exit lived to report it."""
    ended = stops.ended(window)
    for event in window.events:
        rank = event.attributes.get("rank")
        if not isinstance(rank, int):
            continue
        shutdown = event.name == "training.phase" and event.attributes.get("phase") == "shutdown"
        if shutdown:
            ended.add(rank)
    return ended
