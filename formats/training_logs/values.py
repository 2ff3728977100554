"""The values of one line as samples: of which step, and what a missing value means."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from ...vocabulary.samples import Event, Sample, Scalar, attributes
from . import named, numbers
from . import parts as of_parts
from .line_formats import LineForm, LineValue

_STEP, _LOSS, _GRAD = "training.step", "training.loss", "training.grad_norm"
_NONFINITE, _DURATION = "training.nonfinite", "training.step.duration"
_TIMES = frozenset({_DURATION, "training.data.duration"})
_COUNTED = re.compile(r"(0|[1-9]\d{0,11})/[1-9]\d{0,11}")
_BATCH = re.compile(
    r"(?i)(?<![a-z])(?:mini[ _-]?)?batch[\s:=\[(#]{1,4}(\d{1,9})\s?/\s?\d{1,9}(?![\d.])"
)
_LARGEST_STEP = 10**12
_APART_SECONDS = 1e-5
_TOGETHER_SECONDS = 10.0
"""Lines that were read together, or stamped in whole seconds, are told apart by microseconds."""

_DRAWN_ONCE = 3
"""Steps at the beginning that are not drawn again: older versions, and pastes, have each once."""

_ESSENTIAL = frozenset({_STEP, _LOSS, _GRAD})
"""What a line is read for: where one of these is no number, it is another line."""

WHAT = {_LOSS: "loss", _GRAD: "grad_reduced"}
"""What the event about a value that is not finite calls it, as the probe does."""

Parts = dict[tuple[str, tuple[tuple[str, Scalar], ...]], float]
"""Values in the metric's unit by metric and attributes."""


@dataclass(slots=True)
class RankProgress:
    """What one rank's lines reported last."""

    step: float | None = None
    epoch: int | None = None
    last: float = 0.0
    before: float = 0.0
    """The step as the last line has it; steps of the epochs before, where it counts in one."""
    drawn: float | None = None
    drawn_once: int = 0
    """Steps that were not drawn again, before any that was, where the format draws each twice."""
    stamped_at: float | None = None
    sent_at: float = -math.inf
    totals: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LineReading:
    """The values of one line, the rank and the epoch that it names."""

    parts: Parts
    rank: int | None = None
    epoch: int | None = None
    names: tuple[str, ...] = ()
    """Those that it was read by, in their order, and what stands before them."""
    once: bool = False
    """The step is the epoch, since nothing else counts: another line of it has no step."""
    beside: tuple[tuple[str, str], ...] = ()
    """Losses and norms of parts that are not finite, by their names."""
    alone: Parts = field(default_factory=Parts)
    """Times of the step itself, of which `parts` has the mean of those before it too."""


def read(line: LineForm, text: str) -> LineReading | None:
    """Return what a text says, None where it is another line.

    A line is read whole or not at all: one part that is no number of its kind, and one that is left
    over, make it another line.
    """
    found = line.pattern.search(text) if line.names else line.pattern.fullmatch(text)
    if found is None:
        return None
    groups = found.groupdict()
    rank = groups.pop("rank", None)
    pairs = groups.pop("pairs", None)
    parts: Parts = {}
    alone: Parts = {}
    names: tuple[str, ...] = ()
    if line.names is not None:
        said = named.read(line.names, text if pairs is None else pairs)
        count = None if said is None else _named(line, said, parts, alone)
        if said is None or count is None or count + bool(groups.get("epoch")) < line.least:
            return None
        names = tuple(said)
        rank = rank or named.rank(text)
    elif pairs is not None and not _pairs(line, pairs, parts):
        return None
    for name, written in groups.items():
        value = line.values.get(name)
        if value is not None and written is not None and not _put(value, written, parts):
            return None
    if groups.get("batch") == "0":
        return LineReading({})  # a bar before its first batch shows what the last one left
    if _STEP not in {metric for metric, _ in parts} and groups.get("batch"):
        parts[_STEP, ()] = float(
            int(groups.get("epoch") or 0) * int(groups.get("batches") or 0) + int(groups["batch"])
        )
    epoch = int(groups["epoch"]) if groups.get("epoch") else None
    if line.names and epoch is not None and _STEP not in {metric for metric, _ in parts}:
        batch = _batch(text)
        # A loop that names no batch may report once an epoch.
        parts[_STEP, ()] = float(epoch) if batch is None else batch
        once = batch is None
    else:
        once = False
    own = int(rank) if rank else None
    beside = tuple(of_parts.nonfinite(text if pairs is None else pairs).items())
    return _checked(
        line, LineReading(parts, own, epoch if line.names else None, names, once, beside, alone)
    )


def _batch(text: str) -> float | None:
    """Return the batch of an epoch's batches that a line names: a size has no end beside it."""
    found = _BATCH.search(text)
    return None if found is None else float(found[1])


def _checked(line: LineForm, found: LineReading) -> LineReading | None:
    """Return what a line says where it has what such lines must have."""
    metrics = {metric for metric, _ in found.parts}
    step = found.parts.get((_STEP, ()), 0.0)
    if not metrics or not line.needs <= metrics or not step.is_integer():
        return None
    return found if 0 <= step < _LARGEST_STEP else None


def _named(line: LineForm, written: Mapping[str, str], parts: Parts, alone: Parts) -> int | None:
    """Read what stands behind names; return how many metrics it is, None where it is no line.

    `alone` gets what stands before the means that `parts` gets.
    """
    metrics: set[str] = set()
    for name, value in line.by_name:
        text = written.get(name)
        if text is None or value.metric in metrics:
            continue
        mean = written.get(name + named.MEAN)
        if value.metric in _TIMES and mean is not None:
            # Of one step in ten, that which waits for its batch may be each time the same.
            _put(value, text, alone)
            text = mean
        if text and not _put(value, text, parts):
            if value.metric in _ESSENTIAL:
                return None
            continue
        metrics.add(value.metric)
    return len(metrics)


def _pairs(line: LineForm, text: str, parts: Parts) -> bool:
    """Read names and values that fill a text; return whether they do."""
    start = 0
    names: set[str] = set()
    pattern = line.pair
    while pattern is not None and start < len(text):
        found = pattern.match(text, start)
        if found is None or found.end() == start:
            return False
        name = found["name"]
        if name in names:
            return False  # two lines in one
        names.add(name)
        value = line.values.get(name)
        start = found.end()
        if value is None or (line.open_end and start == len(text)):
            continue
        if not _put(value, found["value"].strip("'\""), parts):
            return False
    return True


def _put(value: LineValue, written: str, parts: Parts) -> bool:
    if value.metric == _STEP and (counted := _COUNTED.fullmatch(written)):
        written = counted[1]
    number = numbers.number(written)
    if number is None:
        own = numbers.quantity(written, value.unit, value.factor)
        if own is None or value.inverse:
            return False
        parts[value.metric, value.attributes] = own
        return True
    if value.inverse:
        if not number > 0:
            return True  # a bar that has no rate yet
        number = 1 / number
    parts[value.metric, value.attributes] = number * value.factor
    return True


def samples(
    line: LineForm,
    found: LineReading,
    *,
    rank: int | None,
    at: float,
    stamped_at: float | None,
    progress: RankProgress,
    newest: RankProgress,
) -> tuple[list[Sample], list[Event]]:
    """Return what a line reports; nothing for a step that was reported before.

    `progress` is that of this form of line, `newest` that of all lines of the format. Points of one
    step share one time, and no two steps of a rank have the same.
    """
    parts = found.parts
    if line.follows:
        return _of_step(found, rank, newest.sent_at, newest.step)
    step = _counted_on(found, newest)
    if step is not None and step == progress.step:
        return [], []
    if line.redrawn and step != progress.drawn:
        progress.drawn_once += progress.drawn is not None and progress.step is None
        progress.drawn = step
        if progress.drawn_once < _DRAWN_ONCE:
            return [], []
    if step is not None and progress.step == step - 1 and not found.once:
        parts.update(found.alone)  # every step is reported
    _complete(line, parts, stamped_at, progress)
    if step is not None and step == newest.step:
        at = newest.sent_at
    elif newest.sent_at >= at > newest.sent_at - _TOGETHER_SECONDS:
        at = newest.sent_at + _APART_SECONDS
    progress.step, progress.stamped_at = step, stamped_at
    newest.step, newest.sent_at = step, at
    return _of_step(found, rank, at, step)


def _counted_on(found: LineReading, newest: RankProgress) -> float | None:
    """Return the step of a line; where each epoch counts from its start, that of the whole job."""
    parts, epoch = found.parts, found.epoch
    step = parts.get((_STEP, ()))
    if step is None or epoch is None:
        return step
    if found.once and newest.epoch == epoch:
        del parts[_STEP, ()]
        return None
    if newest.epoch is not None and epoch != newest.epoch and not found.once:
        begins = epoch > newest.epoch and step <= newest.last
        newest.before = newest.before + newest.last if begins else 0.0
    newest.epoch, newest.last = epoch, step
    parts[_STEP, ()] = step + newest.before
    return parts[_STEP, ()]


def _of_step(
    found: LineReading, rank: int | None, at: float, step: float | None
) -> tuple[list[Sample], list[Event]]:
    """Return samples and events of the values of one step."""
    samples_of_step = [
        Sample(metric, value, at, _attributes(rank, more))
        for (metric, more), value in found.parts.items()
    ]
    bad = [
        (WHAT[metric], repr(value))
        for (metric, _), value in found.parts.items()
        if metric in WHAT and not math.isfinite(value)
    ]
    known: dict[str, Scalar] = {} if rank is None else {"rank": rank}
    if step is not None:
        known["step"] = int(step)
    return samples_of_step, [
        Event("training.numeric", at, {"what": what, "value": value, **known})
        for what, value in bad or found.beside
    ]


def _complete(
    line: LineForm, parts: Parts, stamped_at: float | None, progress: RankProgress
) -> None:
    """Add what follows from the values: a hidden NaN, differences of totals, the step's time."""
    if line.hides_nan and any(
        metric == _GRAD and not math.isfinite(value) for (metric, _), value in parts.items()
    ):
        zeros = [key for key, value in parts.items() if key[0] == _LOSS and value == 0]
        parts.update(dict.fromkeys(zeros, math.nan))
    hidden = any(metric == _NONFINITE and value > 0 for (metric, _), value in parts.items())
    if hidden and all(metric != _LOSS for metric, _ in parts):
        # Megatron prints a mean only if it is above 0: what is left out beside a NaN is a NaN.
        losses = (one for one in line.values.values() if one is not None and one.metric == _LOSS)
        scope = next((one.attributes for one in losses), ())
        parts[_LOSS, scope] = math.nan
    for metric in line.cumulative:
        total = parts.pop((metric, ()), None)
        if total is not None:
            before = progress.totals.get(metric, 0.0)
            progress.totals[metric] = total
            parts[metric, ()] = total - before if total >= before else total
    step = parts.get((_STEP, ()))
    if not line.interval or step is None or progress.step is None or (_DURATION, ()) in parts:
        return
    if stamped_at is None or progress.stamped_at is None or step <= progress.step:
        return
    took = (stamped_at - progress.stamped_at) / (step - progress.step)
    if took > 0:
        parts[_DURATION, (("quality", "estimated"),)] = took


@lru_cache(maxsize=4096)
def _attributes(
    rank: int | None, more: tuple[tuple[str, Scalar], ...]
) -> tuple[tuple[str, Scalar], ...]:
    pairs: dict[str, Scalar | None] = {"rank": rank, "source": "log", **dict(more)}
    return attributes(pairs)
