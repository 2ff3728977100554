"""Jobs that stand still, by their devices alone: nearly all spin in a collective, one is idle."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...vocabulary.findings import Finding
from .. import medians
from ..contract import Detector
from ..findings import report
from ..hardware import devices
from ..hardware.behind_peers import blind
from ..readings import variants
from ..window import Flags, Floats, JobWindow, PeriodicReadings
from .stall_limits import INCIDENT

UTILIZATION = "hw.gpu.utilization"
POWER = "hw.power"
LIMIT = "hw.power.limit"
MEMORY = "hw.gpu.memory.usage"
_WORK = ("hw.gpu.tensor.activity", "hw.gpu.memory.activity", "hw.gpu.nvlink.throughput")
_MOVED = ("hw.gpu.nvlink.io",)
_BUS, _BUS_MOVED = ("hw.gpu.pcie.throughput",), ("hw.gpu.pcie.io",)
"""Looked at only where nothing above is reported: a kernel that waits may poll over the bus."""

SPINS = 0.95
"""A kernel that waits occupies its device: no reading of its utilization is below."""

IDLE = 0.05
WORKS = 0.05
"""Activity of tensor cores of a device that calculates."""

PAST_SECONDS = 3600.0
SETTLED_SECONDS = 60.0
"""So long before the evaluated range ends what counts as the past: the fall lies between."""

SHOWN_POWER, SHOWN_MEMORY = 0.4, 0.1
"""Of what a table shows of one moment: the share of its power limit below which a device does not
calculate, and of its peers' memory that one of the job's holds."""

RESTING_POWER = 2.0
"""The same where no limit is shown, in units of what a device without work draws beside it: one
that calculates draws four to ten times as much."""

FEWEST_READINGS = 4
TOGETHER_SECONDS = 60.0
"""Who waits in one collective began to within a step or two, as scraped."""


@dataclass(frozen=True, slots=True)
class _StandingDevices:
    """spins, idle: [ranks], what each does now. began: seconds since the epoch, when it began."""

    spins: Flags
    idle: Flags
    began: float


class StandingDevicesDetector(Detector):
    """Report a job whose devices wait in a collective and do not calculate any more.

    Only where nothing but devices is reported: no step, collective or process. A kernel that waits
    for its peers keeps its device at full utilization at little power, moves nothing over links and
    uses no tensor cores. Where all devices of a job but one do that for `seconds`, having worked
    before and having begun together, the job stands still; the one without work is the one they
    wait for, or it has left. It is an incident (score 1.5), and no warning until it has lasted as
    long as a collective may, as somebody may save or evaluate for the others; where no device is
    without work it is a first word (score 1) until then.

    Parameters
    ----------
    seconds : how long it lasts before anything is said.
    power : share of its usual power below which a busy device does not calculate.
    traffic : share of its usual traffic and activity that counts as none.
    shown : when the last of the tables that people pasted shows the devices, in seconds since the
        epoch; None: readings are periodic. A table shows one moment, without a past. Devices wait
        then that are fully utilized below 40 % of their power limit, or twice what the one without
        work draws, where no limit is shown; and that one has
        to hold memory as they do, or it is just free. All tables of a minute have to show the same.
        The score is 2: nobody would have looked otherwise.

    Examples
    --------
    From minute 20 on the peers of rank 3 spin; its device is idle.

    >>> from rankscope.detectors.sketch import START, readings, sketch
    >>> at = START + np.arange(0.0, 1620, 15)
    >>> busy, drawn, tensor = (np.full((4, len(at)), x) for x in (0.99, 620.0, 0.5))
    >>> busy[3, 80:], drawn[:, 80:], tensor[:, 80:] = 0.0, 140.0, 0.0
    >>> window = sketch(np.zeros((4, 0)), now=START + 1620, rank_readings={
    ...     "hw.gpu.utilization": readings(at, busy), "hw.power": readings(at, drawn),
    ...     "hw.gpu.tensor.activity": readings(at, tensor)})
    >>> for finding in StandingDevicesDetector().evaluate(window):
    ...     print(finding.kind, finding.entity, finding.score, finding.onset[1] - START)
    job.stalled job example 1.5 1200.0
    rank.idle_process rank 3 on host-1 1.0 1200.0

    Fails where the job stood still before anybody looked, where neither activity nor traffic is
    reported, and with devices that do not show a waiting kernel as work (Ascend). Cannot see why.

    Reference: reports of hangs with 100 % utilization and low power (NCCL's kernels poll).
    """

    name = "standing_devices"
    kinds = ("job.stalled", "rank.idle_process", "rank.behind_enqueued")
    cadence_seconds = 10.0

    def __init__(
        self,
        *,
        seconds: float = 300.0,
        power: float = 0.65,
        traffic: float = 0.1,
        shown: float | None = None,
    ) -> None:
        self.seconds = seconds
        self.power = power
        self.traffic = traffic
        self.shown = shown

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return the symptom on the job, and the rank whose device has no work."""
        if not {UTILIZATION, POWER} <= window.rank_readings.keys():
            return []
        if self.shown is not None:
            standing = _shown(window) if window.now >= self.shown else None
            return [] if standing is None else self._of_tables(window, standing)
        if not blind(window) or _at_work(window):
            return []
        standing = self._standing(window)
        if standing is None:
            return []
        lasts = window.now - standing.began
        score = 2.0 if lasts >= window.collective_timeout_seconds else 1.0
        at = f"{self.power:.0%} of their power or less, and move no data, for {lasts:.0f} s; no "
        at += "steps are reported"
        return self._findings(window, standing, at, lasts, score)

    def next_due(self, window: JobWindow) -> float:
        """Return when the last table shows the devices."""
        return math.inf if self.shown is None or self.shown <= window.now else self.shown

    def _of_tables(self, window: JobWindow, standing: _StandingDevices) -> list[Finding]:
        at = "little power, as is shown of one moment"
        found = self._findings(window, standing, at, 0.0, 2.0)
        # A kernel that runs shows; the one that its peers wait in was never launched here.
        behind = [
            replace(
                one,
                kind="rank.behind_enqueued",
                text=f"{one.entity} runs no kernel, and its peers wait in a collective",
            )
            for one in found[1:]
        ]
        return found + behind

    def _findings(
        self, window: JobWindow, standing: _StandingDevices, at: str, lasts: float, score: float
    ) -> list[Finding]:
        """Return the job's finding, then one for each device without work; at: which power."""
        began, period = standing.began, window.rank_readings[POWER].period()
        rows = np.flatnonzero(standing.idle).tolist()
        findings = [
            report(
                window,
                self.name,
                "job.stalled",
                window.entity,
                onset=(began - period, began),
                magnitude=lasts,
                score=max(score, INCIDENT) if rows else score,
                signal=POWER,
                observed=lasts,
                text=f"{int(standing.spins.sum())} devices wait at full utilization and {at}",
                ranks=window.ranks[rows].tolist(),
            )
        ]
        for row in rows:
            device = window.gpu_entity(row)
            said = "its device" if device is None else str(device)
            findings.append(
                report(
                    window,
                    self.name,
                    "rank.idle_process",
                    window.rank_entity(row),
                    onset=(began - period, began),
                    score=score,
                    signal=UTILIZATION,
                    observed=0.0,
                    expected=1.0,
                    text=f"{said} has no work while its peers wait at full utilization",
                )
            )
        return findings

    def _standing(self, window: JobWindow) -> _StandingDevices | None:
        busy, drawn = window.rank_readings[UTILIZATION], window.rank_readings[POWER]
        end = busy.newest_at()
        start = end - self.seconds
        if window.now - end > max(self.seconds / 2, 3 * busy.period()):
            return None  # nobody reports any more
        past = (end - PAST_SECONDS, start - SETTLED_SECONDS)
        lowest, highest, count = _extremes(busy, start, end)
        if (count < FEWEST_READINGS).any():
            return None  # a device reports nothing: what that means is for others to say
        usual = _usual(drawn, *past)
        _, most, _ = _extremes(drawn, start, end)
        with np.errstate(invalid="ignore"):
            worked = busy.mean(*past) >= devices.BUSY
            low = most <= self.power * usual
        spins = (lowest >= SPINS) & low & worked & self._quiet(window, start, end, past)
        idle = (highest <= IDLE) & worked & ~spins
        apart = int((~spins).sum())
        if spins.sum() < devices.FEWEST_PEERS or apart > 1 or apart != int(idle.sum()):
            return None
        first = [
            devices.since(drawn, row, self.power * float(usual[row]), below=True)
            for row in np.flatnonzero(spins).tolist()
        ]
        if max(first) - min(first) > TOGETHER_SECONDS + 2 * drawn.period():
            return None
        return _StandingDevices(spins, idle, medians.middle(np.array(first)))

    def _quiet(
        self, window: JobWindow, start: float, end: float, past: tuple[float, float]
    ) -> Flags:
        """Return [ranks], whose device moves and calculates nothing that it did before.

        False where nothing of it is reported: full utilization at low power alone is also what
        light work looks like.
        """
        for levels, moved in ((_WORK, _MOVED), (_BUS, _BUS_MOVED)):
            known = np.zeros(len(window.ranks), np.bool_)
            quiet = np.ones(len(window.ranks), np.bool_)
            for now, before in self._flows(window, levels, moved, (start, end), past):
                with np.errstate(invalid="ignore"):
                    seen = np.isfinite(now) & (before > 0)
                    quiet &= ~seen | (now <= self.traffic * before)
                known |= seen
            if known.any():
                return known & quiet
        return np.zeros(len(window.ranks), np.bool_)

    def _flows(
        self,
        window: JobWindow,
        levels: Sequence[str],
        moved: Sequence[str],
        range_: tuple[float, float],
        past: tuple[float, float],
    ) -> Iterator[tuple[Floats, Floats]]:
        """Yield (now, before), each [ranks], of each metric that is reported."""
        for metric in levels:
            for name in variants(window.rank_readings, metric):
                held = window.rank_readings[name]
                yield held.mean(*range_), held.mean(*past)
        for metric in moved:
            for name in variants(window.rank_readings, metric):
                held = window.rank_readings[name]
                yield held.rate(*range_), held.rate(*past)


def _shown(window: JobWindow) -> _StandingDevices | None:
    """Return what devices do by the tables that show them, None where steps may still end.

    Several tables have to show the same.
    """
    held = window.rank_readings
    end = held[UTILIZATION].newest_at()
    start = end - SETTLED_SECONDS
    if end == -np.inf or (window.steps.at > start).any():
        return None
    lowest, highest, _ = _extremes(held[UTILIZATION], start, window.now)
    _, drawn, _ = _extremes(held[POWER], start, window.now)
    limit, memory = devices.latest(window, LIMIT), devices.latest(window, MEMORY)
    with np.errstate(invalid="ignore"):
        rests = (highest <= IDLE) & (highest >= 0)
        resting = np.min(drawn, initial=np.inf, where=rests & (drawn > 0))
        least = np.where(limit > 0, SHOWN_POWER * limit, RESTING_POWER * resting)
        spins = (lowest >= SPINS) & (highest <= 1) & (drawn <= least) & np.isfinite(least)
        idle = rests & ~spins
        usual = np.median(memory[spins]) if spins.any() else np.nan
        ours = ~np.isfinite(memory) | (memory >= SHOWN_MEMORY * usual)
    if spins.sum() < devices.FEWEST_PEERS or int((~spins).sum()) != 1 or not (idle & ours).any():
        return None
    return _StandingDevices(spins, idle, end)


def _at_work(window: JobWindow) -> bool:
    """Tell by the newest readings alone that devices work or rest, which costs little."""
    if int((devices.latest(window, UTILIZATION) < SPINS).sum()) > 1:
        return True
    tensor = devices.latest(window, _WORK[0])
    return bool((tensor > WORKS).sum() > 1)


def _extremes(held: PeriodicReadings, start: float, end: float) -> tuple[Floats, Floats, Floats]:
    """Return (lowest, highest, how many), each [rows], of the readings in (start, end]."""
    found = held.between(start, end)
    inside = (found.at > start) & (found.at <= end) & np.isfinite(found.value)
    lowest = np.where(inside, found.value, np.inf).min(axis=1, initial=np.inf)
    highest = np.where(inside, found.value, -np.inf).max(axis=1, initial=-np.inf)
    return lowest, highest, inside.sum(axis=1).astype(np.float64)


def _usual(held: PeriodicReadings, start: float, end: float) -> Floats:
    """Return [rows], the upper quartile of a range, NaN where it has too few readings."""
    found = held.between(start, end)
    inside = (found.at > start) & (found.at <= end) & np.isfinite(found.value)
    enough = inside.sum(axis=1) >= FEWEST_READINGS
    usual = np.full(len(found.at), np.nan)
    if enough.any():
        value = np.where(inside, found.value, np.nan)[enough]
        usual[enough] = np.nanpercentile(value, 75, axis=1)
    return usual
