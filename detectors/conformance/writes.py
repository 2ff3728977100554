"""What a detector has written into a window that it shares with all others."""

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace

import numpy as np

from ..readings import PeriodicReadings
from ..window import JobWindow

_CACHES = {"kept", "placed", "held_baselines"}
"""Fields of a window that fill up when they are asked for."""


def contents(value: object, path: str = "") -> Iterator[tuple[str, object]]:
    """Yield what a window holds, a path and a value that compares with itself, NaN included."""
    if isinstance(value, np.ndarray):
        yield path, (value.shape, value.tobytes())
    elif isinstance(value, PeriodicReadings):
        yield from contents({"at": value.at, "value": value.value}, path)
    elif isinstance(value, Mapping):
        for name, held in value.items():
            yield from contents(held, f"{path}[{name!r}]" if path else str(name))
    elif isinstance(value, tuple | list):
        for number, held in enumerate(value):
            yield from contents(held, f"{path}[{number}]")
    elif is_dataclass(value):
        for one in fields(value):
            if one.name not in _CACHES:
                held = getattr(value, one.name)
                yield from contents(held, f"{path}.{one.name}" if path else one.name)
    elif value is None or isinstance(value, str | int | float):
        yield path, repr(value)


def _features(window: JobWindow) -> dict[str, object]:
    """Return the features of a window's steps that somebody has asked for."""
    held = {} if "features" not in vars(window) else vars(window.features)
    return {name: value for name, value in held.items() if not name.startswith("_")}


def written(window: JobWindow, before: Mapping[str, object]) -> list[str]:
    """Return what somebody has written into, of a window and the features of its steps.

    before: its contents as they were.
    """
    after = dict(contents(window))
    changed = [name for name in before if after.get(name) != before[name]]
    changed += [name for name in after if name not in before]
    if changed:
        return changed
    held, anew = _features(window), replace(window).features
    return [
        f"features.{name}"
        for name, value in held.items()
        if dict(contents(value)) != dict(contents(getattr(anew, name)))
    ]
