"""What stands before a line that a job wrote: the prefixes of prefixes.toml, and what they tell."""

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from ...vocabulary import tables
from ...vocabulary.patterns import DeferredPattern

_GROUPS = ("rank", "local", "task", "host", "stamp")
_LEAST_SHARE = 0.6
_FIRST_BYTES = 16 << 10
_MOST_LINES = 200
_COUNTS = 4
"""Lines whose numbers only rise that show a count."""


@dataclass(frozen=True, slots=True)
class LinePrefix:
    """One kind of prefix; `every`: it counts only where most lines of a log have it."""

    name: str
    pattern: DeferredPattern
    example: str
    every: bool = False


@dataclass(frozen=True, slots=True)
class PrefixReading:
    """What prefixes say: ranks as they name them, "" and None for what none does.

    start: where the line itself begins. A task is a rank only where nothing behind it is local.
    """

    start: int = 0
    rank: int | None = None
    local: int | None = None
    host: str = ""
    stamp: str = ""


_NEVER = "{'\""
"""No prefix begins so, and values often do."""
_NONE = PrefixReading()


@dataclass(slots=True)
class LinePrefixes:
    """Reads the prefixes of the lines of one log."""

    _own: re.Pattern[str] | None = None
    _learnt: bool = False

    def learn(self, data: bytes) -> None:
        """Take the first lines of the log, which show whether most begin alike."""
        if self._learnt:
            return
        text = data[:_FIRST_BYTES].decode("utf-8", "replace")
        lines = [line for line in text.splitlines()[:_MOST_LINES] if line.strip()]
        if not lines:
            return
        self._learnt = True
        found = tuple(one.name for one in catalogue("prefix") if one.every and _begins(one, lines))
        if found:
            self._own = _joined(found)

    def read(self, text: str) -> PrefixReading:
        """Return what stands before a line."""
        pattern = self._own or _joined(())
        found = pattern.match(text) if text[:1] not in _NEVER else None
        if found is None:
            return _NONE
        said: dict[str, str] = {}
        start = 0
        while found is not None:
            kind = found.lastgroup or ""
            for name in _GROUPS:
                part = f"{kind}_{name}"
                if part in found.re.groupindex and found[part] is not None:
                    said[name] = found[part]
            start = found.end()
            found = pattern.match(text, start)
        rank = said.get("rank")
        if rank is None and "local" not in said:
            rank = said.get("task")
        return PrefixReading(
            start,
            None if rank is None else int(rank),
            int(said["local"]) if "local" in said else None,
            said.get("host", ""),
            said.get("stamp", ""),
        )


def _begins(prefix: LinePrefix, lines: Sequence[str]) -> bool:
    """Tell whether most lines begin so, and what looks like a task is no count of steps."""
    matched = [one for line in lines if (one := prefix.pattern.match(line.lstrip()))]
    if len(matched) < _LEAST_SHARE * len(lines):
        return False
    tasks = [int(one["task"]) for one in matched if one.groupdict().get("task")]
    rise = all(after > before for before, after in itertools.pairwise(tasks))
    # Tasks of a job are numbered without gaps, and each writes more than a line.
    return not (len(tasks) >= _COUNTS and rise and tasks[-1] - tasks[0] >= 2 * len(tasks))


@cache
def catalogue(key: str) -> tuple[LinePrefix, ...]:
    """Return what stands before lines ("prefix") or behind them ("behind")."""
    other = "behind" if key == "prefix" else "prefix"
    beside = f"version source {other}"
    return tuple(
        tables.packaged(LinePrefix, __package__ or "", "prefixes.toml", key, beside=beside)
    )


@cache
def behind() -> re.Pattern[str]:
    """Return the pattern of what stands behind a line."""
    return re.compile(
        "(?:" + "|".join(one.pattern.pattern for one in catalogue("behind")) + r")\s*$"
    )


@cache
def _joined(named: Sequence[str]) -> re.Pattern[str]:
    """Return one pattern of the usual prefixes and of those that are named.

    The group of a kind is the last that closes, which tells what matched.
    """
    parts = [
        f"(?P<k{number}>{_renamed(one.pattern.pattern, f'k{number}')})"
        for number, one in enumerate(catalogue("prefix"))
        if not one.every or one.name in named
    ]
    return re.compile(r"\s*(?:" + "|".join(parts) + ")")


def _renamed(pattern: str, kind: str) -> str:
    return re.sub(r"\(\?P<(\w+)>", rf"(?P<{kind}_\1>", pattern)
