"""What `training.batch` events say of suspicious steps, checked, and in words."""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ...vocabulary.findings import Finding
from ...vocabulary.groups import PLACED_REPLICAS
from ...vocabulary.samples import Event
from ..findings import INFORMATION, report
from ..landmarks import StepLandmark
from ..window import JobWindow
from . import model_replicas

BATCH = "training.batch"

_FIGURES = {
    "mean": "mean of its elements",
    "rarity": "rarity of its tokens, in bits a token,",
    "repeated": "share of tokens that repeat the one before",
    "masked": "share of tokens that the loss leaves out",
    "size": "number of tokens",
}
_MOST_IDS = 200
_ALIKE = 8
_ABOUT = 0.5
_STEPS_AGAIN, _STEPS_SAME = 2, 3


def whole(event: Event, name: str) -> int | None:
    """Return a whole number that an event carries; None where it carries none."""
    value = event.attributes.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def number(event: Event, name: str) -> float:
    """Return a number that an event carries, NaN where it carries none; "nan" is one too."""
    value = event.attributes.get(name)
    if isinstance(value, str):
        return {"inf": math.inf, "-inf": -math.inf}.get(value, math.nan)
    return float(value) if isinstance(value, (int, float)) else math.nan


def text(event: Event, name: str) -> str:
    """Return a text that an event carries, cut to what evidence shows; empty without one."""
    value = event.attributes.get(name)
    return value[:_MOST_IDS] if isinstance(value, str) else ""


class StepBatch(NamedTuple):
    """What a rank said of a step; row: the rank's, in the window."""

    event: Event
    step: int
    row: int


def recent(window: JobWindow, keep: int) -> Iterator[StepBatch]:
    """Yield what was said of the newest `keep` steps."""
    newest = int(window.steps.index[-1]) if len(window.steps.index) else None
    for event in window.named(BATCH):
        step, row = whole(event, "step"), window.row_of_event(event)
        if step is None or row is None:
            continue
        if newest is None or newest - keep <= step <= newest + keep:
            yield StepBatch(event, step, row)


def landmarks(window: JobWindow, said: Iterable[StepBatch]) -> Iterator[StepLandmark]:
    """Yield the landmarks that events carry."""
    for event, step, row in said:
        yield StepLandmark(
            attempt=window.attempt,
            rank=int(window.ranks[row]),
            step=step,
            at=event.at,
            world_size=window.world_size,
            batch=text(event, "hash"),
            updates=-1 if (count := whole(event, "updates")) is None else count,
            random=text(event, "random"),
            rate=number(event, "learning_rate"),
            stream=text(event, "random_stream"),
            moments=number(event, "moments"),
        )


def unusual(window: JobWindow, detector: str, said: Iterable[StepBatch]) -> list[Finding]:
    """Return for the batch that is furthest from those before it that it is."""
    found: list[tuple[float, int, Event, int]] = []
    for event, step, row in said:
        if text(event, "unusual") in _FIGURES and event.attributes.get("reason") != "landmark":
            found.append((_outside(event), step, event, row))
    if not found:
        return []
    # Of those that are about as odd the first: what follows it may follow from it.
    most = max(outside for outside, *_ in found)
    _, step, event, row = min(
        (one for one in found if one[0] >= _ABOUT * most), key=lambda one: (one[1], one[3])
    )
    figure = str(event.attributes["unusual"])
    value, low, high = (number(event, name) for name in ("value", "low", "high"))
    size = "is not finite" if not math.isfinite(value) else f"is {value:.4g}"
    rank = int(window.ranks[row])
    return [
        _of_one(
            window,
            detector,
            "job.batch_unusual",
            event,
            score=3.0 if not math.isfinite(value) or _outside(event) > 5.0 else 2.0,
            observed=value if math.isfinite(value) else repr(value),
            expected=(low + high) / 2,
            text=f"in step {step} the batch of rank {rank} ({named(event)}) was unlike those "
            f"before it: the {_FIGURES[figure]} {size}, usually {low:.4g} to {high:.4g}",
            ranks=[rank],
        )
    ]


def repeated(window: JobWindow, detector: str, said: Sequence[StepBatch]) -> list[Finding]:
    """Return that samples of a suspicious step had been seen a few steps before it."""
    found = [
        (again, -step, event, row)
        for event, step, row in said
        if (again := whole(event, "repeats")) and event.attributes.get("reason") != "landmark"
    ]
    if not found:
        return _shared(window, detector, said)
    ranks = sorted({int(window.ranks[row]) for _, _, _, row in found})
    again, negative, event, row = max(found, key=lambda one: (one[0], one[1], -one[3]))
    return [
        _of_one(
            window,
            detector,
            "job.batch_repeated",
            event,
            observed=float(again),
            expected=0.0,
            text=f"in step {-negative} {again} of {whole(event, 'of') or again} samples of rank "
            f"{int(window.ranks[row])} ({named(event)}) were ones that it had in step "
            f"{whole(event, 'repeated_step')} already; before, its samples were new",
            ranks=ranks,
        )
    ]


def again(window: JobWindow, detector: str, said: Sequence[StepBatch]) -> list[Finding]:
    """Return that in several steps most samples were ones that the rank had had before.

    The job goes on, and its loss falls the faster for it: information, and nobody is paged.
    """
    found = [one for one in said if one.event.attributes.get("reason") == "repeat"]
    if len({one.step for one in found}) < _STEPS_AGAIN:
        return _same_share(window, detector, said)
    first = min(found, key=lambda one: (one.step, one.row))
    ranks = sorted({int(window.ranks[one.row]) for one in found})
    steps = sorted({one.step for one in found})
    return [
        _read_again(
            window,
            detector,
            seen=(first.event.at, max(one.event.at for one in found)),
            steps=len(steps),
            text=f"in {len(steps)} steps from step {steps[0]} on, rank "
            f"{int(window.ranks[first.row])} had samples that it had had before, from step "
            f"{whole(first.event, 'repeated_step')} on ({named(first.event)}); until then its "
            "samples were new",
            ranks=ranks,
        )
    ]


def _read_again(
    window: JobWindow,
    detector: str,
    *,
    seen: tuple[float, float],
    steps: int,
    text: str,
    ranks: Sequence[int],
) -> Finding:
    """Return that ranks had data anew in so many steps: information, for the job goes on."""
    return report(
        window,
        detector,
        "job.data_repeated",
        window.entity,
        onset=seen[0],
        seen=seen,
        score=INFORMATION,
        magnitude=float(steps),
        signal=BATCH,
        observed=float(steps),
        expected=0.0,
        text=text,
        ranks=ranks,
    )


def _same_share(window: JobWindow, detector: str, said: Sequence[StepBatch]) -> list[Finding]:
    """Return that replicas had the very same batches in several landmarks, as information.

    Replicas are those of one reduction of gradients, or of one beginning, and all of them have to
    be alike: parts of one sequence have the same batch rightly, and there are several sequences.
    """
    held: dict[tuple[int, str], dict[int, StepBatch]] = {}
    for one in said:
        whose = text(one.event, "replicas")
        if not whose and (began := text(one.event, "weights_first")):
            # Parts of one model that were seeded alike have other weights from the first update on.
            whose = f"{began} {one.event.attributes.get('weights')}"
        if whose.startswith(PLACED_REPLICAS):  # parts of one model read the same data rightly
            continue
        if whose and text(one.event, "hash"):
            held.setdefault((one.step, whose), {})[one.row] = one
    alike: dict[tuple[int, ...], list[StepBatch]] = {}
    for _, rows_of in sorted(held.items()):
        batches = {text(one.event, "hash") for one in rows_of.values()}
        if len(rows_of) > 1 and len(batches) == 1:
            alike.setdefault(tuple(sorted(rows_of)), []).append(rows_of[min(rows_of)])
    for rows, first in alike.items():
        if len(rows) > 1 and len(first) >= _STEPS_SAME:
            ranks = sorted(window.ranks[list(rows)].tolist())
            return [
                _read_again(
                    window,
                    detector,
                    seen=(first[0].event.at, first[-1].event.at),
                    steps=len(first),
                    text=f"ranks {', '.join(map(str, ranks[:_ALIKE]))} had the very same batches "
                    f"in {len(first)} steps from step {first[0].step} on "
                    f"({named(first[0].event)}), although they are different replicas: each "
                    "should read a share of its own",
                    ranks=ranks,
                )
            ]
    return []


def _shared(window: JobWindow, detector: str, said: Sequence[StepBatch]) -> list[Finding]:
    """Return that two replicas had the very same batch in a suspicious step."""
    replicas = model_replicas.replica_of(window)
    if replicas is None:
        return []
    held: dict[tuple[int, str], dict[int, tuple[Event, int]]] = {}
    for event, step, row in said:
        batch = text(event, "hash")
        if batch and event.attributes.get("reason") != "landmark":
            held.setdefault((step, batch), {}).setdefault(int(replicas[row]), (event, row))
    alike = [(step, rows) for (step, _), rows in sorted(held.items()) if len(rows) > 1]
    if not alike:
        return []
    step, rows = alike[0]
    ranks = sorted(int(window.ranks[row]) for _, row in rows.values())
    event = min((one for one, _ in rows.values()), key=lambda one: one.at)
    return [
        _of_one(
            window,
            detector,
            "job.batch_repeated",
            event,
            observed=float(len(rows)),
            expected=1.0,
            text=f"in step {step} ranks {', '.join(map(str, ranks[:_ALIKE]))} had the very same "
            f"batch ({named(event)}), although they are different replicas",
            ranks=ranks,
        )
    ]


def _of_one(
    window: JobWindow,
    detector: str,
    kind: str,
    event: Event,
    *,
    observed: float | str,
    expected: float,
    text: str,
    ranks: Sequence[int],
    score: float = 2.0,
) -> Finding:
    """Return evidence about the job that one event gives, at its time."""
    return report(
        window,
        detector,
        kind,
        window.entity,
        onset=event.at,
        seen=(event.at, event.at),
        score=score,
        signal=BATCH,
        observed=observed,
        expected=expected,
        text=text,
        ranks=ranks,
    )


def _outside(event: Event) -> float:
    """Return how many widths of what is usual a value lies outside of it."""
    value, low, high = (number(event, name) for name in ("value", "low", "high"))
    if not math.isfinite(value):
        return math.inf
    width = max(high - low, 1e-9 * max(abs(low), abs(high)), 1e-12)
    outside = max(low - value, value - high) / width
    return outside if math.isfinite(outside) else 0.0


def named(event: Event) -> str:
    """Return a batch by the ids of its samples and its hash, as far as they are known."""
    ids, batch, micro = text(event, "ids"), text(event, "hash"), whole(event, "micro")
    parts = [f"samples {ids}"] if ids else []
    if micro:
        parts.insert(0, f"micro-batch {micro}")
    return ", ".join([*parts, f"hash {batch}" if batch else "no hash"])
