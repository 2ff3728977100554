"""Time that a training loses in saves and in waits for data, by what its lines say of both.

A live collector compares with what is usual. Of a log there is often no more than the part that
somebody found too slow: what counts is how much of its time it shows to be lost.
"""

import itertools
import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence

from ....formats.training_logs import cleaning, part_times
from ....vocabulary.log_lines import DATA_WAITS, SAVES_LONG
from ....vocabulary.samples import Event, Sample, Scalar, TelemetryResource
from ..found import ArtefactContents
from . import pasted
from .pasted import PastedLine, PastedLog

SHARE = 0.2
"""Share of all time that must be lost."""

LONG_SECONDS, LONG_STEPS, ALONE_SECONDS = 60.0, 10.0, 300.0
"""How long a save takes at least, in seconds and in steps; where a log shows one only."""

FEWEST, FEWEST_LONG = 8, 3
"""Steps of a log that say what is usual, and times that one waited long after one that did not: a
loader that begins, or is held up twice, does not do so again."""

WAITS, TIMES = 0.5, 10.0
"""Share of a step that waits for its batch, and how many times as long as the step in the middle
it waits: what happens now and then, beside steps that hardly wait."""

_MOST_SAMPLES = 200_000
"""Of a log that somebody cut out; of a longer one earlier saves and waits say what is usual."""
_STEP, _DATA = "training.step.duration", "training.data.duration"


def add(resource: TelemetryResource, found: ArtefactContents) -> None:
    """Let an event say that saves, or waits for data, take much of the time of a training."""
    ended = any(event.name in ("process.exit", "scheduler.event") for event in found.events)
    if ended or len(found.samples) > _MOST_SAMPLES:
        return
    taken = _by_rank(found.samples, _STEP)
    saves = sorted((e for e in found.events if e.name == "training.save"), key=lambda e: e.at)
    whole = [sample.at for _, sample in found.samples if sample.metric == "training.step"]
    text = saving(saves, [took for rank in taken.values() for _, took in rank], whole)
    if text:
        _tell(SAVES_LONG, text, saves[-1].at, resource, found)
    for rank, waits in _by_rank(found.samples, _DATA).items():
        if text := waiting(waits, taken.get(rank, [])):
            _tell(DATA_WAITS, text, waits[-1][0], resource, found)
            return


def saving(saves: Sequence[Event], steps: Sequence[float], ends: Sequence[float]) -> str:
    """Return in words how much of its time a training saves, "" where that is not much.

    saves: events of lines by which saves begin and end, in order. steps: seconds that steps took;
    ends: when some of them ended.
    """
    pairs: list[tuple[float, float]] = []
    begun: float | None = None
    for event in saves:
        if event.attributes.get("state") == "begins":
            begun = event.at if begun is None else begun
        elif begun is not None:
            pairs.append((begun, event.at))
            begun = None
    if not pairs or not steps or not ends:
        return ""
    long = max(end - begin for begin, end in pairs)
    if long < max(LONG_SECONDS, LONG_STEPS * statistics.median(steps)):
        return ""
    if len(pairs) == 1 and long < ALONE_SECONDS:
        return ""
    # Between two saves all time is known to lie; of one, what the log shows.
    first = pairs[0][1] if len(pairs) > 1 else min(ends)
    last = max(pairs[-1][1], max(ends) if len(pairs) == 1 else 0.0)
    lost = sum(end - begin for begin, end in pairs[1 if len(pairs) > 1 else 0 :])
    share = lost / (last - first) if last > first else 0.0
    if not SHARE <= share <= 1.0:
        return ""
    usual = statistics.median(steps)
    return f"saves take up to {long:.0f} s, and {share:.0%} of the time; a step takes {usual:.3g} s"


def read(lines: Sequence[str]) -> PastedLine | None:
    """Return the longest wait for data of a log, by columns that add up; None where it is little.

    Those that wait at each step count as well as those that do so now and then.
    """
    for rows in part_times.read(lines):
        text = waiting(
            [(float(row.line), row.waited) for row in rows],
            [(float(row.line), row.took) for row in rows],
        )
        rows = rows[1:]  # the first step waits for workers that only begin
        share = sum(row.waited for row in rows) / max(sum(row.took for row in rows), 1e-9)
        often = sum(2 * row.waited >= row.took for row in rows)
        if not text and share >= WAITS and 2 * often >= len(rows) >= FEWEST:
            text = f"{share:.0%} of the time of {len(rows)} lines is a wait for data"
        if text:
            longest = max(rows, key=lambda row: row.waited)
            return PastedLine(longest.line, DATA_WAITS, f"{text}: {cleaning.shown(longest.text)}")
    return None


def add_read(
    said: Iterable[tuple[PastedLog, PastedLine]],
    resource: TelemetryResource,
    found: ArtefactContents,
) -> None:
    """Quote the longest waits of logs, where no line is a fault's and no known form said them."""
    if found.telling or any(sample.metric == _DATA for _, sample in found.samples):
        return
    pasted.tell_each(said, resource, found, by="its times")


def waiting(waits: Sequence[tuple[float, float]], steps: Sequence[tuple[float, float]]) -> str:
    """Return in words that some steps wait long for their batch, "" where they do not.

    waits, steps: (time of a line, seconds) of the waits and of whole steps.
    """
    took = dict(steps)
    both = [(wait, took[at]) for at, wait in waits if took.get(at, 0.0) >= wait]
    if len(both) < FEWEST:
        return ""
    both = both[1:]  # the first step waits for workers that only begin
    usual = statistics.median(step for _, step in both)
    waited = [wait >= max(WAITS * step, TIMES * usual) for wait, step in both]
    again = sum(after and not before for before, after in itertools.pairwise(waited))
    long = [wait for (wait, _), held_up in zip(both, waited, strict=True) if held_up]
    # A step in the middle that waits for its batch waits always: that shows by itself.
    if again < FEWEST_LONG or 2 * statistics.median(wait for wait, _ in both) > usual:
        return ""
    share = sum(long) / sum(step for _, step in both)
    if share < SHARE:
        return ""
    return (
        f"{len(long)} of {len(both)} lines show waits of up to {max(long):.1f} s for data, where a "
        f"step takes {usual:.3g} s: {share:.0%} of the time"
    )


def _by_rank(
    samples: Sequence[tuple[TelemetryResource, Sample]], metric: str
) -> dict[Scalar | None, list[tuple[float, float]]]:
    found: dict[Scalar | None, list[tuple[float, float]]] = defaultdict(list)
    for _, sample in samples:
        if sample.metric == metric:
            found[dict(sample.attributes).get("rank")].append((sample.at, sample.value))
    return found


def _tell(
    signature: str, text: str, at: float, resource: TelemetryResource, found: ArtefactContents
) -> None:
    pairs: dict[str, Scalar] = {"signature": signature, "role": "confirmation", "text": text}
    found.events.append(Event("log.fault", at, pairs, resource))
