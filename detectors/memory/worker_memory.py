"""Dataloader workers that eat memory: a leak, or pages that were shared and become private."""

from collections.abc import Callable, Sequence

import numpy as np

from ...vocabulary.findings import Finding
from .. import onsets
from ..contract import Detector
from ..findings import report
from ..window import Flags, Floats, JobWindow, PeriodicReadings
from . import growth, host_processes
from .gpu_leak import warm_up_end

_ROLE = "|dataloader"

SELDOM = 3.0
"""Private memory that comes so many times more seldom than the resident size shows growth late."""

FEWEST_PRIVATE = 3
"""So many of its readings tell whose the growth is."""


class WorkerMemoryDetector(Detector):
    """Name the dataloader workers whose private memory grows, and those that copy what they share.

    A forked worker shares its pages with the trainer until it writes to them; a reference count
    is a write, so that reading Python objects copies them. Then private memory grows by what shared
    memory loses, and the resident size stays. Every worker touches a part of what it inherited and
    stops there; copy-on-read is a worker that has lost `half` of it, and is a warning when copying
    the rest needs more than the host has. In a leak shared memory stays, and growth is what
    growth.py calls so. Private memory is dear to read, and comes more seldom than the resident
    size: then that shows the growth, and the few private readings that it is of the worker's own.
    Where only the resident size is reported, its growth is a leak if the memory of the host in use
    grows with it: copies leave it alone, and mapped files are page cache. A symptom because the
    host runs out of memory: within `horizon` it is a warning.

    Parameters
    ----------
    horizon : seconds to exhaustion up to which somebody must act now.
    copied : share of a worker's private growth that must be missing from its shared memory.
    half : share of what was inherited from which on it is copied.

    Examples
    --------
    Worker 501 copies what it shares; worker 502 leaks.

    >>> from rankscope.detectors.sketch import START, readings, sketch
    >>> from rankscope.detectors.window import ProcessReadings
    >>> at = START + np.arange(0.0, 401, 5)
    >>> grown = np.maximum(at - START - 100, 0) * 2.0**22
    >>> zero, rank = np.array([0, 0]), np.array([1, 1])
    >>> workers = ProcessReadings(zero, np.array([501, 502]), rank, (None,) * 2, {
    ...     "process.memory.private|dataloader": readings(at, 2.0**30 + np.stack([grown, grown])),
    ...     "process.memory.shared|dataloader": readings(at, 2.0**31 - np.stack([grown, 0 * at]))})
    >>> window = sketch(np.full((2, 400), 0.8), hosts=1, now=START + 400, processes=workers)
    >>> for finding in WorkerMemoryDetector().evaluate(window):
    ...     print(finding.kind, finding.entity)
    process.shared_memory_copied process host-0:501
    process.worker_memory_grows process host-0:502

    Fails where workers are not reported by themselves, or live for less than three minutes.

    References: PyTorch issue 13246; of a worker that copies on read,
    in MiB: private 0 to 93, shared 146 to 54, resident 148 throughout.
    """

    name = "worker_memory"
    kinds = ("process.worker_memory_grows", "process.shared_memory_copied")
    cadence_seconds = 15.0

    def __init__(
        self,
        *,
        horizon: float = growth.HORIZON_SECONDS,
        copied: float = 0.6,
        half: float = 0.5,
    ) -> None:
        self.horizon = horizon
        self.copied = copied
        self.half = half

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return one finding a worker that grows or copies."""
        private = window.processes.of(host_processes.PRIVATE + _ROLE)
        resident = window.processes.of(host_processes.RESIDENT + _ROLE)
        known = np.isfinite(private.latest()[0])
        if resident.at.shape[1] and private.period() >= SELDOM * resident.period():
            known &= ~np.isfinite(resident.latest()[0])
        findings: list[Finding] = []
        if private.at.shape[1]:
            findings += self._copies(window, private, resident)
            findings += self._leaks(window, private, known)
        if resident.at.shape[1] and not known.all():
            findings += self._leaks(window, resident, ~known)
        return findings

    def _copies(
        self, window: JobWindow, private: PeriodicReadings, resident: PeriodicReadings
    ) -> list[Finding]:
        workers = window.processes
        shared = workers.of(host_processes.SHARED + _ROLE)
        if not shared.at.shape[1] and np.array_equal(resident.at, private.at, equal_nan=True):
            shared = PeriodicReadings(private.at, resident.value - private.value)
        if not shared.at.shape[1]:
            return []
        newest = shared.latest()[0]
        highest = _extreme(shared, np.max)
        lost = highest - newest
        gained = private.latest()[0] - _extreme(private, np.min)
        with np.errstate(invalid="ignore"):
            copies = (
                (lost >= self.half * highest)
                & (lost >= host_processes.LEAST_BYTES)
                & (gained >= self.copied * lost)
                # What was copied long ago has had its effect.
                & (shared.newest(growth.FINE_SECONDS).highest() - newest >= 0.1 * highest)
            )
        rows = np.flatnonzero(copies)
        room = host_processes.room(window)
        host = workers.host[rows]
        needed = np.bincount(
            workers.host, weights=np.nan_to_num(newest), minlength=len(window.hosts)
        )
        names = np.array([window.hosts[index] for index in host.tolist()])
        findings = []
        for place in np.lexsort((workers.pid[rows], names, -lost[rows]))[: host_processes.MOST]:
            row, share = int(rows[place]), float(lost[rows[place]] / highest[rows[place]])
            findings.append(
                report(
                    window,
                    self.name,
                    "process.shared_memory_copied",
                    host_processes.entity(
                        window, int(host[place]), int(workers.pid[row]), int(workers.row[row])
                    ),
                    onset=_fall(shared, row),
                    magnitude=share,
                    score=2.0 if needed[host[place]] >= room[host[place]] else growth.OBSERVED,
                    signal=host_processes.SHARED,
                    observed=float(newest[row]),
                    expected=float(highest[row]),
                    text=f"dataloader worker {int(workers.pid[row])} has copied {share:.0%} of "
                    f"{highest[row] / 2**30:.3g} GiB that it shared into private pages",
                )
            )
        return findings

    def _leaks(self, window: JobWindow, held: PeriodicReadings, rows: Flags) -> list[Finding]:
        """Return the workers, of these rows, that hold more and more of their own."""
        workers = window.processes
        newest = held.latest()[0]
        found = growth.growing(
            held,
            now=window.now,
            least=np.where(rows, host_processes.least(newest), np.inf),
            limit=newest + np.nan_to_num(host_processes.room(window)[workers.host], nan=np.inf),
            since=warm_up_end(window),
        )
        if found is None:
            return []
        if held is workers.of(host_processes.RESIDENT + _ROLE):
            grown = _own_growth(window, found)
            found = found.of(
                np.where(np.isfinite(grown), grown >= self.copied, _host_grows(window, found))
            )
        else:
            found = found.of(self._lost(window, found) < self.copied)
        pid = workers.pid[found.rows]
        return host_processes.reports(
            window,
            self,
            "process.worker_memory_grows",
            found,
            host=workers.host[found.rows],
            pid=pid,
            row=workers.row[found.rows],
            horizon=self.horizon,
            name=lambda place: f"dataloader worker {int(pid[place])}",
        )

    def _lost(self, window: JobWindow, found: growth.RowGrowth) -> Floats:
        """Return [found], the share of private growth that shared memory lost meanwhile.

        Where it is not reported: the share by which the resident size did not grow. 0: unknown.
        """
        shared = _change(window, host_processes.SHARED, found)
        resident = _change(window, host_processes.RESIDENT, found)
        private = np.maximum(_change(window, host_processes.PRIVATE, found), 1.0)
        lost = np.where(np.isfinite(shared), -shared / private, 1.0 - resident / private)
        return np.nan_to_num(lost)


def _fall(shared: PeriodicReadings, row: int) -> tuple[float, float]:
    """Return when the newest fall of what a worker shares began.

    Each worker copies a part in its first minutes, ever more slowly: that is not where it began.
    """
    at, value = _in_order(shared, row)
    # What follows the end of the fall says nothing about its begin.
    last = int(np.argmax(value <= value[-1] + 0.05 * (value.max() - value[-1])))
    rate = -np.diff(value[: last + 1]) / np.maximum(np.diff(at[: last + 1]), 1e-3)
    if not len(rate):
        return float(at[0]), float(at[0])
    first = onsets.newest_run(rate >= rate.max() / 4)
    return float(at[first]), float(at[first + 1])


def _change(window: JobWindow, metric: str, found: growth.RowGrowth) -> Floats:
    """Return [found], by how much a metric of the workers changed over their growth."""
    readings = window.processes.of(metric + _ROLE).of(found.rows)
    changes = np.full(len(found.rows), np.nan)
    for begun in np.unique(found.begun):
        change = _between(readings, float(begun), found.end)
        changes = np.where(found.begun == begun, change, changes)
    return changes


def _own_growth(window: JobWindow, found: growth.RowGrowth) -> Floats:
    """Return [found], the share of the resident growth that few private readings show as well.

    NaN where there are fewer than three since it began.
    """
    private = window.processes.of(host_processes.PRIVATE + _ROLE)
    resident = window.processes.of(host_processes.RESIDENT + _ROLE)
    shares = np.full(len(found.rows), np.nan)
    if not private.at.shape[1]:
        return shares
    for place, (row, begun) in enumerate(zip(found.rows.tolist(), found.begun, strict=True)):
        at, own = _in_order(private, row)
        at, own = at[at >= begun], own[at >= begun]
        if len(at) < FEWEST_PRIVATE:
            continue
        whole = np.interp(at, *_in_order(resident, row))
        if whole[-1] > whole[0]:
            shares[place] = (own[-1] - own[0]) / (whole[-1] - whole[0])
    return shares


def _in_order(readings: PeriodicReadings, row: int) -> tuple[Floats, Floats]:
    """Return the times and values of a row, the oldest first."""
    valid = np.flatnonzero(np.isfinite(readings.at[row]) & np.isfinite(readings.value[row]))
    valid = valid[np.argsort(readings.at[row, valid], kind="stable")]
    return readings.at[row, valid], readings.value[row, valid]


def _host_grows(window: JobWindow, found: growth.RowGrowth) -> Flags:
    """Return [found], whether the host's memory in use grows by half of what its workers do."""
    host = window.processes.host[found.rows]
    grown = np.bincount(host, weights=found.slope, minlength=len(window.hosts))[host]
    used = window.of_hosts(host_processes.USAGE)
    grows = np.zeros(len(found.rows), np.bool_)
    for begun in np.unique(found.begun):
        # Between the middles of the first and the last eighth.
        change = _between(used, float(begun), found.end)[host]
        with np.errstate(invalid="ignore"):
            enough = change >= 0.5 * grown * (found.end - begun) * 7 / 8
        grows |= (found.begun == begun) & enough
    return grows


def _between(readings: PeriodicReadings, begun: float, end: float) -> Floats:
    """Return [rows], the change from the first to the last eighth of a time range."""
    eighth = (end - begun) / 8
    return readings.mean(end - eighth, end) - readings.mean(begun, begun + eighth)


def _extreme(readings: PeriodicReadings, of: Callable[..., Floats]) -> Floats:
    """Return [rows], the largest or smallest of all readings, the thinned past included."""
    value = np.concatenate([readings.value, readings.history().value], axis=1)
    known = np.isfinite(value)
    start = -np.inf if of is np.max else np.inf
    return np.where(known.any(axis=1), of(value, axis=1, initial=start, where=known), np.nan)
