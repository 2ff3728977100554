"""trainer_state.json of Hugging Face: the log history, with the steps that its lines lack."""

import json
import math
from collections.abc import Iterator
from typing import Any, cast

from ...vocabulary.samples import Sample, attributes
from .logged import Logged

_LARGEST = 64 << 20
_KEYS = {
    "step": ("training.step", None),
    "loss": ("training.loss", "global"),
    "grad_norm": ("training.grad_norm", "global"),
    "learning_rate": ("training.learning_rate", None),
}
"""Metric and scope by key."""


def read(data: bytes, *, rank: int = 0) -> Iterator[Logged]:
    """Yield the entries of a log history that have a loss; raises ValueError where it is none.

    An entry has no time. `line` is its place in the history, from 1.
    """
    if len(data) > _LARGEST:
        raise ValueError(f"more than {_LARGEST} bytes")
    try:
        state = json.loads(data)
    except RecursionError as error:
        raise ValueError("nested too deep") from error
    history: object = cast("dict[str, Any]", state).get("log_history") if _is(state) else None
    if not isinstance(history, list):
        raise ValueError("there is no log_history")  # noqa: TRY004  the file is wrong, no type
    for place, entry in enumerate(cast("list[object]", history), 1):
        if not _is(entry) or "loss" not in cast("dict[str, Any]", entry):
            continue
        samples = list(_samples(cast("dict[str, Any]", entry), rank))
        yield Logged(place, None, f"log_history[{place - 1}]", tuple(samples))


def _samples(entry: dict[str, Any], rank: int) -> Iterator[Sample]:
    for key, (metric, scope) in _KEYS.items():
        value = entry.get(key)
        if isinstance(value, int | float) and not isinstance(value, bool):
            pairs = attributes({"rank": rank, "source": "log", "scope": scope})
            try:
                yield Sample(metric, float(value), 0.0, pairs)
            except OverflowError:
                yield Sample(metric, math.inf, 0.0, pairs)


def _is(value: object) -> bool:
    return isinstance(value, dict)
