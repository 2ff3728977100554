"""Who works while no step ends: devices that calculate, processes that run their own code.

A rank that waits in a collective may look busy (its kernel spins and so may its process), so
utilization says nothing. Arithmetic does: tensor and SM activity, and power, fall to a fraction
when everybody waits. A process counts as busy between the idle of a sleeping waiter and the full
CPU of a spinning one, and where it uses more than one CPU and its peers, who wait, do not: who is
stuck does not start to use a second one, who writes a checkpoint does. Where the CPU of processes
is not reported, the I/O pressure of their hosts tells who writes a checkpoint.
"""

from dataclasses import dataclass

import numpy as np

from . import medians
from .window import Floats, JobWindow, PeriodicReadings

CPU = "process.cpu.utilization"

_DEVICE = (
    ("hw.gpu.tensor.activity", 0.3, 0.02),
    ("hw.gpu.sm.activity", 0.5, 0.05),
    ("hw.power", 0.75, 1.0),
)
"""Metric, the share of its value in steps from which on a device works, the least usual value."""

_PAST_SECONDS = 180.0

BUSY = (0.15, 0.85)
"""CPU of a process that runs its own code: between a sleeping and a spinning waiter."""

IDLE = 0.05
"""CPU, and utilization of a device, below which nothing is done at all."""

IO_PRESSURE = "system.pressure|some|io"

WAITS_FOR_IO, ALWAYS, FACTOR = 0.02, 0.9, 4.0
"""Shares of time that tasks of a host wait for I/O: from the first on somebody reads or writes,
from the second on nothing is read or written any more. By what factor it is above the usual one of
the host and above that of the other hosts."""

SECOND_CPU, BUSIER = 1.15, 0.3
"""CPUs in use that no single thread can spin away; how many more than the median rank's."""


@dataclass(frozen=True, slots=True)
class RankActivity:
    """What the ranks do since the job's last step; all [ranks].

    device: 1 calculates, 0 does not, NaN unknown. cpu: CPUs in use, NaN unknown. pending: the
    rank's process is reported, but no reading lies wholly after the last step yet.
    """

    device: Floats
    cpu: Floats
    pending: np.ndarray

    @property
    def busy(self) -> np.ndarray:
        """Return [ranks], whose process runs its own code, neither sleeping nor spinning."""
        cpu = np.nan_to_num(self.cpu)
        known = cpu[np.isfinite(self.cpu)]
        usual = medians.middle(known) if len(known) > 1 else np.inf
        own = (cpu >= BUSY[0]) & (cpu <= BUSY[1])
        return own | ((cpu > SECOND_CPU) & (cpu > usual + BUSIER))

    @property
    def works(self) -> np.ndarray:
        """Return [ranks], whose device calculates."""
        return np.nan_to_num(self.device) > 0


def since(window: JobWindow, last: float) -> RankActivity:
    """Return what the ranks have done after `last`, the end of the job's last step."""
    device = np.full(len(window.ranks), np.nan)
    for metric, share, least in _DEVICE:
        found = window.rank_readings.get(metric)
        if found is None or not found.at.shape[1]:
            continue
        usual = found.mean(last - _PAST_SECONDS, last)
        now = found.mean(last + _period(found), np.inf)
        with np.errstate(invalid="ignore"):
            calculates = np.where(usual >= least, now >= share * usual, np.nan)
        calculates = np.where(np.isfinite(now), calculates, np.nan)
        device = np.where(np.isfinite(device), device, calculates)
    processes = window.rank_readings.get(CPU)
    if processes is None or not processes.at.shape[1]:
        return RankActivity(device, np.full(len(window.ranks), np.nan), np.zeros(len(device), bool))
    period = _period(processes)
    cpu = processes.mean(last + period, np.inf)
    reported = np.isfinite(processes.at).any(axis=1)
    late = window.now - last > 3 * period + 5.0
    return RankActivity(device, cpu, reported & ~np.isfinite(cpu) & (not late))


def storing(
    window: JobWindow, last: float, *, all_may: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Return [ranks], whose host reads or writes since `last`, and where that is yet unknown.

    Its tasks wait for I/O far more than before, and than those of half of the hosts (unless all of
    them may write), but not all of the time: what they ask for comes. It is unknown until a reading
    lies wholly after `last`.
    """
    nobody = np.zeros(len(window.ranks), bool)
    found = window.host_readings.get(IO_PRESSURE)
    if found is None or not found.at.size:
        return nobody, nobody
    period = _period(found)
    now = found.mean(last + period, np.inf)
    usual = np.nan_to_num(found.mean(last - _PAST_SECONDS, last))
    known = np.sort(now[np.isfinite(now)])
    most = known[(len(known) - 1) // 2] if len(known) > 1 and not all_may else 0.0
    above = now >= np.maximum(WAITS_FOR_IO, FACTOR * np.maximum(usual, most))
    above &= now < ALWAYS
    late = window.now - last > 3 * period + 5.0
    pending = np.isfinite(found.at).any(axis=1) & ~np.isfinite(now) & (not late)
    placed = window.host_of >= 0
    return placed & above[window.host_of], placed & pending[window.host_of]


def _period(found: PeriodicReadings) -> float:
    """Return how often readings come, in seconds; each covers the time since the one before."""
    rows = found.at[: min(len(found.at), 16)]
    gaps = np.diff(np.sort(rows, axis=1), axis=1)
    gaps = gaps[np.isfinite(gaps) & (gaps > 0)]
    return medians.middle(gaps) if len(gaps) else 5.0
