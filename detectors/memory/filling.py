"""Hosts whose memory or shared memory fills up."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from ...vocabulary.findings import Finding
from .. import drawn_on
from ..contract import Detector
from ..findings import report
from ..tenants import own_logs
from ..window import Floats, JobWindow, PeriodicReadings
from . import growth


@dataclass(frozen=True, slots=True)
class _FillingKind:
    """What fills up: the kind of finding, the metrics, and what a person calls it."""

    kind: str
    usage: str
    limit: str
    words: str


_KINDS = (
    _FillingKind("host.memory_low", "system.memory.usage", "system.memory.limit", "memory"),
    _FillingKind(
        "host.shm_full", "system.shm.usage", "system.shm.limit", "shared memory (/dev/shm)"
    ),
)

MOST = 8
"""So many hosts are named, the first to run out."""

_REACH_SECONDS, _LEAST_REACH = 60.0, 2.0
"""A host's memory is drawn on as many times as far as it was seen to grow as it grew minutes, at
least twice: what starts beside the job, a build or a reader of data, fills it for minutes and then
no more. Of a rank's own memory, whose peers' does not grow, see growth.REACH."""

_NEWEST_SECONDS, _NEWEST_PERIODS = 20.0, 2.5
"""The newest level is the mean of so many seconds; of what is read or sent more rarely it is the
newest reading, at most so many of its periods old."""


class FillingDetector(Detector):
    """Name the hosts whose memory or /dev/shm will be used up soon, or just has been.

    Used memory over its limit: it grows as growth.py calls it and ends within `horizon`, or it has
    risen to `full` within the last quarter of an hour. Page cache that can be dropped is not used
    memory. A level that has stood for longer is the job's own choice and only evidence for a crash
    (info). It may fill faster than it is read: where most ranks log that their peers are gone and
    nobody reports how processes ended, what it rose to until then counts, if it has fallen since.
    A symptom because the kernel kills a process, and a worker dies of a bus error, when
    it is full: within `urgent` seconds it is as severe as its fault, before that info.

    Parameters
    ----------
    full : share of the limit from which on it is full.
    urgent : seconds to exhaustion from which on it counts as about to happen.
    horizon : seconds to exhaustion beyond which nothing is said.
    used_up : share of the limit that counts as used up when the job ended, by its last readings
        carried on.
    moved : share of the limit by which it must have risen before that, and fallen since.
    past : seconds before the end that are looked at.

    Examples
    --------
    /dev/shm of the second host takes 1 GiB a minute and has 64.

    >>> from rankscope.detectors.sketch import START, readings, sketch
    >>> at = START + np.arange(0, 1001, 5.0)
    >>> used = np.stack([0 * at, np.maximum(at - START - 500, 0) / 60]) + 40
    >>> window = sketch(np.full((4, 1000), 0.8), now=START + 1000, host_readings={
    ...     "system.shm.usage": readings(at, used * 2**30),
    ...     "system.shm.limit": readings(at, np.full((2, 1), 64 * 2**30))})
    >>> (full,) = FillingDetector().evaluate(window)
    >>> full.text
    'shared memory (/dev/shm) of host-1: 76% used, all of it in 16 min (16 min to 16 min)'

    Fails where limits are not reported, or a container's limit is below the host's. Cannot see
    whose memory it is.

    References: Linux Documentation/filesystems/tmpfs and proc.
    """

    name = "filling"
    kinds = ("host.memory_low", "host.shm_full")
    cadence_seconds = 10.0

    def __init__(
        self,
        *,
        full: float = 0.97,
        urgent: float = 600.0,
        horizon: float = growth.HORIZON_SECONDS,
        used_up: float = 0.9,
        moved: float = 0.1,
        past: float = 300.0,
    ) -> None:
        self.full = full
        self.urgent = urgent
        self.horizon = horizon
        self.used_up = used_up
        self.moved = moved
        self.past = past

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return one finding a host and kind of memory."""
        findings: list[Finding] = []
        ended = _lost_peers(window)
        for kind in _KINDS:
            usage = window.of_hosts(kind.usage)
            if usage.newest_at() == -np.inf:
                continue
            limit = window.of_hosts(kind.limit).latest()[0]
            limit = np.where(limit > 0, limit, np.nan)
            full = self._full(window, kind, usage, limit)
            if window.now - ended <= growth.FINE_SECONDS and np.isfinite(ended):
                named = {finding.entity.id for finding in full}
                full += self._ran_out(window, kind, usage, limit, ended, named)
            done = {finding.entity.id for finding in full}
            grown = self._grows(window, kind, usage, limit)
            findings += [*full, *(f for f in grown if f.entity.id not in done)]
        return findings

    def _full(
        self, window: JobWindow, kind: _FillingKind, usage: PeriodicReadings, limit: Floats
    ) -> list[Finding]:
        """Return the hosts whose newest readings are at the limit."""
        with np.errstate(invalid="ignore"):
            seen = _level(window, usage) / limit
            hosts = np.flatnonzero(seen >= self.full)
            if not len(hosts):
                return []
            early = usage.mean(window.now - growth.FINE_SECONDS, window.now - 120.0) / limit
            risen = early < self.full - 0.05
        order = sorted(hosts.tolist(), key=lambda host: (not risen[host], window.hosts[host]))
        return [
            report(
                window,
                self.name,
                kind.kind,
                window.host_entity(host),
                onset=(window.now - 140.0 if risen[host] else window.now - growth.FINE_SECONDS,
                       window.now),
                magnitude=float(seen[host]),
                score=3.0 if risen[host] else growth.OBSERVED,
                signal=kind.usage,
                observed=float(seen[host]),
                expected=float(early[host]) if np.isfinite(early[host]) else None,
                text=f"{kind.words} of {window.hosts[host]}: {seen[host]:.0%} used",
            )
            for host in order[:MOST]
        ]  # fmt: skip

    def _ran_out(
        self,
        window: JobWindow,
        kind: _FillingKind,
        usage: PeriodicReadings,
        limit: Floats,
        at: float,
        named: Collection[str],
    ) -> list[Finding]:
        """Return the hosts where it rose to the limit until the job ended at `at`, and then fell.

        Only where nobody reports how processes ended: else their exits are the symptom.
        """
        findings: list[Finding] = []
        value, read = usage.latest()
        after = np.where(read > at, value / limit, np.nan)
        for host, name in enumerate(window.hosts):
            if name in named:
                continue
            used = drawn_on.shares(usage, limit, host, at, self.past)
            if used is None or used[-1] < self.used_up:
                continue
            # It rose until the end, and what ended held it.
            fell = bool(used[-2] - after[host] >= self.moved)
            if not fell or used[-1] - min(used) < self.moved:
                continue
            findings.append(
                report(
                    window,
                    self.name,
                    kind.kind,
                    window.host_entity(host),
                    onset=at,
                    seen=(at - self.past, at),
                    magnitude=used[-1],
                    score=3.0,
                    signal=kind.usage,
                    observed=used[-1],
                    expected=min(used),
                    text=f"{kind.words} of {name} rose from {min(used):.0%} to "
                    f"{min(used[-1], 1.0):.0%} until ranks lost their peers",
                )
            )
        return findings[:MOST]

    def _grows(
        self, window: JobWindow, kind: _FillingKind, usage: PeriodicReadings, limit: Floats
    ) -> list[Finding]:
        """Return the hosts on which it grows and ends within the horizon."""
        found = growth.growing(
            usage, now=window.now, least=0.005 * limit, limit=np.nan_to_num(limit, nan=np.inf)
        )
        if found is None:
            return []
        times = found.left(np.maximum(limit[found.rows] - found.level, 0.0))
        ahead = np.clip(found.seen / _REACH_SECONDS, _LEAST_REACH, growth.REACH)
        reaches = np.minimum(self.horizon, ahead * found.seen)
        found_now = np.flatnonzero(times[0] <= reaches)
        names = np.array([window.hosts[host] for host in found.rows[found_now]])
        findings = []
        for place in found_now[np.lexsort((names, times[0][found_now]))][:MOST]:
            host, seconds = int(found.rows[place]), float(times[0][place])
            used = float(found.level[place] / limit[host])
            span = growth.span(float(times[1][place]), seconds, float(times[2][place]))
            findings.append(
                report(
                    window,
                    self.name,
                    kind.kind,
                    window.host_entity(host),
                    onset=float(found.begun[place]),
                    magnitude=used,
                    score=2.0 + max(0.0, 1.0 - seconds / self.urgent)
                    if seconds <= self.urgent
                    else growth.LATER,
                    signal=kind.usage,
                    observed=used,
                    expected=self.full,
                    text=f"{kind.words} of {window.hosts[host]}: {used:.0%} used, "
                    f"all of it in {span}",
                )
            )
        return findings


def _lost_peers(window: JobWindow) -> float:
    """Return when the first of most ranks logged that a peer was gone; inf where they did not.

    Nor where exits are reported, steps went on, or somebody announced a phase since the last step:
    a job that is asked to end writes a checkpoint, which takes memory too.
    """
    last = window.features.pace[0]
    for event in window.events:
        if event.name == "process.exit" or (event.name == "training.phase" and event.at > last):
            return np.inf
    lost: dict[object, float] = {}
    for event in own_logs(window):
        rank = event.attributes.get("rank")
        if rank is not None and event.attributes.get("role") == "cascade":
            lost[rank] = min(event.at, lost.get(rank, np.inf))
    first = min(lost.values(), default=np.inf)
    return first if 2 * len(lost) > len(window.ranks) and last <= first + 1.0 else np.inf


def _level(window: JobWindow, usage: PeriodicReadings) -> Floats:
    """Return [hosts], how much is used now; NaN of a host that has not been read for long."""
    recent = usage.mean(window.now - _NEWEST_SECONDS, window.now)
    value, at = usage.latest()
    # A reading waits for the next push, and the next one comes a period later.
    sent = np.nan_to_num(window.host_interval) if len(window.host_interval) else 0.0
    age = _NEWEST_PERIODS * np.maximum(usage.period(), sent)
    with np.errstate(invalid="ignore"):
        rare = np.where(window.now - at <= age, value, np.nan)
    return np.where(np.isfinite(recent), recent, rare)
