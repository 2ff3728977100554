"""Checkpoints that stop the training for longer than this job's checkpoints do."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from ...vocabulary.findings import Finding
from .. import compute_time, durations, medians
from ..contract import Detector
from ..findings import report
from ..tenants import own_events
from ..window import Floats, JobWindow

CHECKPOINT = "training.checkpoint.duration"

MOSTLY, FEWEST_STEPS = 0.7, 10
"""Share of the lost time that names what it was lost in; steps that say what is usual."""


FEWEST_EARLIER, FEWEST_LASTING = 3, 2
"""Checkpoints before and since that say that all since are longer; or the other way round: so many
in this order are as improbable by chance."""

LASTING_TIMES, SIGMAS, SPREAD = 1.4, 5.0, 0.1
"""How many times longer each of them is, and how far beyond their noise they stand together; what
no spread of their logarithms goes below."""


TENFOLD, FEWEST_TENFOLD = 10.0, 2
"""One earlier checkpoint says enough where each of so many since takes so many times as long: what
is written is the same each time."""

TOGETHER = 1.0
"""Marks of one rank so close together (s) may belong to one pause, whatever their order."""

WRITES = 0.5
"""A rank writes whose checkpoints take this share of the longest; the others hardly stop."""

LEAST_STOPPED, TIMES_STOPPED = 60.0, 10.0
"""Seconds that a checkpoint must have gone on for where the job stands in it, and how many times as
long as a step, and as any checkpoint before it."""

CLOCKS_APART = 5.0
"""Marks of ranks so close together (s) are of one checkpoint: their hosts' clocks may differ."""


class CheckpointsDetector(Detector):
    """Compare the newest checkpoints with this job's own earlier ones, and with the time.

    A checkpoint's length is the longest `training.checkpoint.duration` of a rank in a step, or the
    time between the events that a phase `checkpoint` began and that another one did, or between the
    lines of a log that say so. The newest is
    long at three times the median of the earlier ones, one that is not over yet too. Two and more
    in a row are long that are each 1.4 times as long, longer than any before, and by more than
    lengths vary, or, where hardly any is known, ten times as long as all before. Checkpoints that
    always took so long are a choice of the job, unless they take half of all time. Where a
    checkpoint began and neither its end nor a step followed for long, the job stands in it: what it
    is slower than is not known then, and only that is said.

    Parameters
    ----------
    times : how many times longer than the earlier checkpoints.
    least : smallest share of the newest `seconds` that must be lost beyond usual checkpoints.
    most : share of the time that checkpoints may take, however long they usually are.
    seconds : how much of the newest past is looked at.
    least_lasting : smallest share of the time that checkpoints of a new length must cost more.

    Examples
    --------
    The fourth checkpoint takes 80 s, those before it 5 s.

    >>> from rankscope.detectors.sketch import sketch
    >>> own, written = np.full((4, 200), 0.8), np.full((4, 200), np.nan)
    >>> written[:, [40, 90, 140]] = 5.0
    >>> written[:, 190] = 80.0
    >>> total = own + np.nan_to_num(written)
    >>> window = sketch(total, planes={CHECKPOINT: written, "training.compute.duration": own})
    >>> for finding in CheckpointsDetector().evaluate(window):
    ...     print(finding.kind, finding.entity, f"{finding.magnitude:.2f}")
    job.slow job example 1.34
    job.checkpoint_long job example 80.00
    job.checkpoint_lost job example 1.00

    Fails where nobody announces checkpoints, and cannot see why one is slow: the storage, the
    network to it, or one rank that writes for all.

    References: ByteCheckpoint (NSDI'25) for what usual checkpoints take.
    """

    name = "checkpoints"
    kinds = ("job.slow", "job.checkpoint_long", "job.checkpoint_lost")
    cadence_seconds = 5.0

    def __init__(
        self,
        *,
        times: float = 3.0,
        least: float = 0.05,
        most: float = 0.5,
        seconds: float = 600.0,
        least_lasting: float = 0.03,
    ) -> None:
        self.least_lasting = least_lasting
        self.times = times
        self.least = least
        self.most = most
        self.seconds = seconds

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return the slowness and the long checkpoint, both on the job."""
        found = _written(window)
        if not len(found):
            found = _announced(window)
        if not len(found):
            return []
        ends = window.features.step_ends
        ends = ends[np.isfinite(ends)]
        start = float(ends[0]) if len(ends) else window.now
        recent = found[:, 0] > window.now - self.seconds
        if not recent.any():
            return _standing(window, found)
        length = found[:, 1] - found[:, 0]
        seconds = min(self.seconds, max(window.now - start, 60.0))
        earlier = length[: len(length) - 1]
        usual = medians.middle(earlier) if len(earlier) >= 2 else float("nan")
        long = recent & (length > self.times * usual)
        lost = float(np.sum(length[long] - usual)) / seconds if long.any() else 0.0
        since = _lasting(length)
        if lost >= self.least:
            why = f"usual: {durations.seconds(usual)}"
        elif recent[-1] and _lost_since(found, tenfold := _tenfold(length)) >= self.least:
            usual, lost = medians.middle(length[:tenfold]), _lost_since(found, tenfold)
            long = np.arange(len(length)) >= tenfold
            why = f"{int(long.sum())} in a row; usual: {durations.seconds(usual)}"
        elif recent[-1] and (lasts := _lost_since(found, since)) >= self.least_lasting:
            usual, lost = medians.middle(length[:since]), lasts
            long = np.arange(len(length)) >= since
            why = f"{int(long.sum())} in a row; usual: {durations.seconds(usual)}"
        else:
            share = float(np.sum(length[recent])) / seconds
            if share < self.most or recent.sum() < 3:
                return _standing(window, found)
            long, lost, why = recent, share, f"{100 * share:.0f} % of the time"
        out = self._findings(window, found[long], min(lost, 0.95), usual, why)
        inside = _inside(window, found[recent], float(found[long][0, 0]), seconds)
        if inside >= MOSTLY:
            text = f"{100 * inside:.0f} % of the time that was lost lies inside checkpoints"
            out.append(replace(out[-1], kind="job.checkpoint_lost", magnitude=inside, text=text))
        return out

    def next_due(self, window: JobWindow) -> float:
        """Return the next look at a checkpoint that goes on; inf where none does."""
        ends = window.features.step_ends
        newest = float(np.max(ends, initial=-np.inf, where=np.isfinite(ends)))
        phases = [phase for at, _, phase in _phases(window) if at > newest]
        going_on = bool(phases) and phases[-1] == "checkpoint"
        return window.now + self.cadence_seconds if going_on else math.inf

    def _findings(
        self, window: JobWindow, long: Floats, lost: float, usual: float, why: str
    ) -> list[Finding]:
        begin, seconds = float(long[0, 0]), float((long[:, 1] - long[:, 0]).max())
        seen = (begin, max(window.now, begin))
        slow = report(
            window,
            self.name,
            "job.slow",
            window.entity,
            onset=begin,
            seen=seen,
            magnitude=1 / (1 - lost),
            score=max(lost / self.least, 1.0),
            signal=compute_time.STEP,
            observed=lost,
            expected=0.0,
            text=f"checkpoints cost {100 * lost:.0f} % of the time beyond what is usual",
        )
        return [slow, _evidence(window, begin, seconds, why, usual)]


def _evidence(window: JobWindow, begin: float, seconds: float, why: str, usual: float) -> Finding:
    return report(
        window,
        CheckpointsDetector.name,
        "job.checkpoint_long",
        window.entity,
        onset=begin,
        seen=(begin, max(window.now, begin)),
        magnitude=seconds,
        score=3.0,
        signal=CHECKPOINT,
        observed=seconds,
        expected=usual if np.isfinite(usual) else None,
        text=f"a checkpoint stops the training for {durations.seconds(seconds)} ({why})",
    )


def _standing(window: JobWindow, pairs: Floats) -> list[Finding]:
    """Return the evidence of a checkpoint that nothing has followed for long, if there is one."""
    begin, end = float(pairs[-1, 0]), float(pairs[-1, 1])
    took = window.features.job_duration
    took = took[np.isfinite(took)]
    step = medians.middle(took) if len(took) else window.features.pace[1]
    longest = float((pairs[:-1, 1] - pairs[:-1, 0]).max(initial=0.0))
    least = max(LEAST_STOPPED, TIMES_STOPPED * float(np.nan_to_num(step)), TIMES_STOPPED * longest)
    if end < window.now or end - begin < least:
        return []
    return [_evidence(window, begin, end - begin, "it goes on", math.nan)]


def _lasting(length: Floats) -> int:
    """Return since which checkpoint all are longer than those before, their number where none is.

    length: [checkpoints], seconds, in order.
    """
    with np.errstate(divide="ignore"):
        logs = np.log(length)
    for first in range(FEWEST_LASTING, len(length) - FEWEST_LASTING + 1):
        earlier, since = logs[:first], logs[first:]
        few = first < FEWEST_EARLIER
        if few and len(since) < FEWEST_EARLIER:
            continue
        middle = medians.middle(earlier)
        least = max(middle + math.log(LASTING_TIMES), float(earlier.max()))
        if not since.min() > least:
            continue
        spread = max(float(np.std(earlier)) * (1 + 2 / first), SPREAD)
        if few:  # two say little of how lengths vary
            spread = max(spread, float(np.std(since)))
        error = spread * math.sqrt(1 / first + 1 / len(since))
        if medians.middle(since) - middle >= SIGMAS * error:
            return first
    return len(length)


def _tenfold(length: Floats) -> int:
    """Return since which checkpoint all take ten times as long as any before, their number: none.

    length: [checkpoints], seconds, in order.
    """
    for first in range(1, len(length) - FEWEST_TENFOLD + 1):
        if length[first:].min() >= TENFOLD * length[:first].max():
            return first
    return len(length)


def _lost_since(pairs: Floats, first: int) -> float:
    """Return the share of the time since the one before it that checkpoints take beyond usual."""
    if first >= len(pairs):
        return 0.0
    length = pairs[:, 1] - pairs[:, 0]
    beyond = float(np.sum(length[first:] - np.median(length[:first])))
    return beyond / max(float(pairs[-1, 1] - pairs[first - 1, 1]), 1.0)


def _inside(window: JobWindow, pairs: Floats, first: float, seconds: float) -> float:
    """Return the share of the newest seconds beyond usual steps that lies inside checkpoints.

    first: when the first long one began. What was lost outside of them at the same rate before
    (evaluations, shards that end) is how this job runs, and not lost by what is new.
    """
    ends = window.features.step_ends
    ends = ends[np.isfinite(ends) & (ends > window.now - seconds)]
    if len(ends) < FEWEST_STEPS:
        return 0.0
    if float(pairs[-1, 1]) > float(ends[-1]) + 1.0:  # one goes on
        ends = np.append(ends, pairs[-1, 1])
    gaps = np.diff(ends)
    beyond = np.maximum(gaps - medians.middle(gaps), 0.0)
    lost = float(np.sum(beyond))
    written = float(np.sum(pairs[:, 1] - pairs[:, 0]))
    before = ends[1:] <= first
    if before.any() and not before.all():
        outside = beyond.copy()
        for begin, end in pairs:
            outside[(ends[1:] > begin) & (ends[:-1] < end + 1.0)] = 0.0
        rate = float(np.sum(outside[before])) / float(np.sum(gaps[before]))
        lost -= min(rate * float(np.sum(gaps)), float(np.sum(outside)))
    return written / lost if lost > 0 else 0.0


def _written(window: JobWindow) -> Floats:
    """Return [checkpoints, 2], begin and end of each that steps report, in order.

    How long one took is not known where only ranks reported it that never write.
    """
    steps = window.features.steps
    if not steps.has(CHECKPOINT):
        return np.zeros((0, 2))
    plane = steps.plane(CHECKPOINT)
    length = medians.highest(plane, axis=0)
    with np.errstate(invalid="ignore"):
        columns = np.flatnonzero((length > 0) & (length < compute_time.MOST))
        taken = plane[:, columns]
        usual = medians.median(taken, axis=1)
        writes = usual >= WRITES * np.max(usual, initial=0.0, where=np.isfinite(usual))
    columns = columns[np.isfinite(taken[writes]).any(axis=0)]
    end = window.features.step_ends[columns]
    pairs = np.stack([end - length[columns], end], axis=1)
    return pairs[np.isfinite(pairs).all(axis=1)]


def _ended(window: JobWindow, begin: float, ends: Floats) -> float:
    """Return when a checkpoint was over whose end nobody announced, or announced before its begin.

    The next step that ends says so. Between two of them, which may be many steps where few are
    reported, it took no more than what they are further apart than usual.
    """
    place = int(np.searchsorted(ends, begin, side="right"))
    if place == len(ends):
        return max(window.now, begin)
    if place == 0 or len(ends) < 3:
        return float(ends[place])
    apart = float(ends[place] - ends[place - 1])
    beyond = max(apart - medians.middle(np.diff(ends)), 0.0)
    return min(float(ends[place]), begin + beyond)


def _announced(window: JobWindow) -> Floats:
    """Return the same of those that a phase announces; the newest may not be over yet.

    Marks of one short pause may come in any order: an end without a begin is that of the checkpoint
    that begins at once.
    """
    pairs: list[tuple[float, float]] = []
    writing: dict[object, float] = {}
    phases: dict[object, object] = {}
    ended: dict[object, float] = {}
    for at, rank, phase in _phases(window):
        if phase == "checkpoint":
            if at - ended.pop(rank, -math.inf) > TOGETHER:
                writing.setdefault(rank, at)
            continue
        if (begin := writing.pop(rank, None)) is not None:
            pairs.append((begin, at))
        elif phases.get(rank) == phase:
            ended[rank] = at
        phases[rank] = phase
    ends = window.features.step_ends
    ends = ends[np.isfinite(ends)]
    pairs += [(begin, _ended(window, begin, ends)) for begin in writing.values()]
    merged: list[list[float]] = []
    for begin, end in sorted(pairs):
        if merged and begin <= merged[-1][1] + CLOCKS_APART:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([begin, end])
    return np.array(merged).reshape(-1, 2)


def _phases(window: JobWindow) -> Iterator[tuple[float, object, object]]:
    """Yield when which rank entered which phase, as it says itself, or its log."""
    for event in own_events(window):
        rank = event.attributes.get("rank")
        if event.name == "training.phase":
            yield event.at, rank, event.attributes.get("phase")
        elif event.name == "training.save":
            begins = event.attributes.get("state") == "begins"
            yield event.at, rank, "checkpoint" if begins else "train"
