"""What is wrong with a rule: names that do not exist, and values that a parameter cannot be.

All of it at once, each with the path of the key below the rule. A text that was given as a value is
never repeated, as nowhere in settings: it may be a secret that stands in the wrong line.
"""

import difflib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import catalogue
from .contract import Detector

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class RuleMistake:
    """One mistake: `path` is that of the key below its rule, such as ("disabled", 0)."""

    path: Path
    what: str
    fix: str

    def __str__(self) -> str:
        """Return it in one line, with the key below the rule."""
        return f"{'.'.join(map(str, self.path))}: {self.what}; {self.fix}"


def mistakes(
    detectors: Sequence[Detector],
    disabled: Sequence[str],
    parameters: Mapping[str, Mapping[str, Any]],
) -> Iterator[RuleMistake]:
    """Yield every mistake of a rule over these detectors, in the order of its keys."""
    held = {detector.name: detector for detector in detectors}
    for index, name in enumerate(disabled):
        if name not in held:
            yield _unknown(("disabled", index), name, held)
    for name, values in parameters.items():
        if name not in held:
            yield _unknown(("parameters", name), name, held)
        else:
            yield from _of_values(held[name], values)


def _unknown(path: Path, name: str, held: Mapping[str, Detector]) -> RuleMistake:
    fix = _nearest(name, held) or f"there are {', '.join(sorted(held))}"
    return RuleMistake(path, f"there is no detector {name!r}", fix)


def _of_values(detector: Detector, values: Mapping[str, Any]) -> Iterator[RuleMistake]:
    held = vars(detector)
    own = type(detector) in {type(one) for one in catalogue.detectors()}
    for name, value in values.items():
        path = ("parameters", detector.name, name)
        if name not in held:
            fix = _nearest(name, held) or f"it has {', '.join(held) or 'none'}"
            yield RuleMistake(path, f"detector {detector.name} has no parameter {name!r}", fix)
        elif (expected := _expected(held[name], value, own=own)) is not None:
            what = f"must be {expected}, not {_shown(value)}"
            default = "null" if held[name] is None else held[name]
            yield RuleMistake(path, what, f"the default is {default}")


def _expected(default: Any, value: Any, *, own: bool) -> str | None:
    """Return what a value must be that it is not, None where it may stand.

    Parameters of our own detectors are thresholds, counts and durations: none is below 0, those
    that are whole by default count something, and None stands for a number that is not known. What
    the parameters of somebody else's mean is not known here, so only their type is compared.
    """
    if default is None:
        fits = not own or value is None or _expected(0.0, value, own=True) is None
        return None if fits else "a number of at least 0, or null"
    if not _is_number(default):
        return type(default).__name__ if _is_number(value) else None
    if not _is_number(value) or not math.isfinite(value):
        return "a number"
    if own and value < 0:
        return "at least 0"
    if own and isinstance(default, int) and value != int(value):
        return "a whole number"
    return None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _shown(value: Any) -> str:
    """Return a number as it is, and of everything else only what it is."""
    if _is_number(value):
        return str(value)
    if value is None:
        return "null"
    kinds = {bool: "a boolean", str: "text", list: "a list", dict: "keys and values"}
    return kinds.get(type(value), type(value).__name__)


def _nearest(name: str, known: Mapping[str, Any]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    return f"did you mean {near[0]}?" if near else ""
