"""Counters that never go backwards: what the hardware counts, carried over resets and restarts.

A counter of a device starts anew when its driver is loaded again, when somebody clears it or when
it wraps. What leaves the agent goes on from where it was: each counter is kept as (last raw value,
offset), and the offset takes up what a reset lost.
"""

import json
import math
from pathlib import Path
from typing import Any, NamedTuple

from .state import rewrite

SAVE_SECONDS = 30.0
_MOST = 20_000


class CounterStep(NamedTuple):
    """One reading of a counter: the total to show, and what is new since the reading before.

    `known` is False for the first reading of a counter, and for the first one of a boot: what it
    counted until then is no news. `reset`: the hardware began anew.
    """

    total: int
    grown: int
    known: bool
    reset: bool = False


class CounterBaselines:
    """The counters of one reader, by a key of its choosing; for one thread.

    Without a path nothing outlives the agent. Saved at most every 30 s, after a reset at once, and
    by `close`.
    """

    def __init__(self, path: Path | None, *, boot: str = "") -> None:
        self._path = path
        self._boot = boot
        self._counters, self._stale = _load(path, boot)
        self._changed = False
        self._urgent = False
        self._saved_at = -math.inf

    def advance(self, key: str, raw: int) -> CounterStep:
        """Take a reading of a counter as the hardware gives it."""
        found = self._counters.get(key)
        if found is None:
            if len(self._counters) < _MOST:
                self._counters[key] = (raw, 0)
                self._changed = True
            return CounterStep(raw, 0, known=False)
        last, offset = found
        reset = raw < last
        if reset:
            offset += last
            self._urgent = True
        if raw != last:
            self._counters[key] = (raw, offset)
            self._changed = True
        known = key not in self._stale
        self._stale.discard(key)
        grown = raw if reset else raw - last
        return CounterStep(raw + offset, grown if known else 0, known, reset)

    def keep(self, now: float) -> None:
        """Save, if it is time to; to be called after each reading."""
        if self._urgent or not 0 <= now - self._saved_at < SAVE_SECONDS:
            self._urgent = False
            self._saved_at = now
            self.close()

    def close(self) -> None:
        """Save what is new; a full disk costs the memory over a restart, no more."""
        if self._path is None or not self._changed:
            return
        try:
            rewrite(self._path, json.dumps({"boot": self._boot, "counters": self._counters}))
        except OSError:
            return  # tried again with the next save
        self._changed = False


def _load(path: Path | None, boot: str) -> tuple[dict[str, tuple[int, int]], set[str]]:
    """Return the counters of the last run, and those of them that are of another boot."""
    if path is None:
        return {}, set()
    try:
        found: Any = json.loads(path.read_text(encoding="utf-8"))
        counters = {str(key): (int(raw), int(off)) for key, (raw, off) in found["counters"].items()}
        same = found["boot"] == boot
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return {}, set()  # absent, torn or of another version: they start from what they are
    return counters, set() if same else set(counters)
