"""Where the threads of a process stand, by the calls of their stacks."""

from dataclasses import dataclass
from functools import cache
from typing import Literal

from ...vocabulary import tables
from ...vocabulary.patterns import DeferredPattern
from .records import ProcessStacks, ThreadStack

PlaceName = Literal[
    "aside", "setup", "lock", "save", "collective", "backward", "device", "data", "end"
]

_WAITS = ("collective", "backward", "device")
"""Places of a thread that waits for its peers, or for its device, which does."""

_NOISE = (
    "wait (threading.py", "sleep", "poll (", "select (", "accept (", "__wait", "_wait_for",
    "Condition.wait", "Event.wait", "Thread.", "acquire",
)  # fmt: skip
"""Calls that say that something is waited for and not what."""


@dataclass(frozen=True, slots=True)
class PlaceRow:
    """Calls that say where a thread stands."""

    name: PlaceName
    pattern: DeferredPattern


@dataclass(frozen=True, slots=True)
class StandingPlace:
    """Where a process stands: what the place is ("" for any other), and the call that says it."""

    name: PlaceName | Literal[""]
    call: str
    thread: ThreadStack

    @property
    def waits(self) -> bool:
        """Return whether it waits for its peers, or for a device that may."""
        return self.name in _WAITS


@cache
def rows() -> tuple[PlaceRow, ...]:
    """Return all rows of places.toml, in their order."""
    return tuple(
        tables.packaged(
            PlaceRow, __package__ or "", "places.toml", "place", beside="version source",
            unique=False,
        )
    )  # fmt: skip


def of(process: ProcessStacks) -> StandingPlace | None:
    """Return where a process stands, None where none of its threads works for the job.

    The thread counts that the process began with. While that runs a backward pass, or is not in the
    dump, another may stand in the collective.
    """
    places = [place for thread in process.threads if (place := _of(thread)) is not None]
    if not places:
        return None
    first = max(places, key=lambda place: _weight(place.thread))
    others = [place for place in places if place.name == "collective"]
    native = not any("(" in call for call in first.thread.calls)
    if others and (first.name in ("backward", "device") or (native and not first.name)):
        return others[0]
    return first


def _weight(thread: ThreadStack) -> tuple[bool, bool]:
    outermost = thread.calls[-1] if thread.calls else ""
    return thread.main or thread.name == "MainThread", outermost.startswith("<module>")


def _of(thread: ThreadStack) -> StandingPlace | None:
    """Return where a thread stands, None for one of a library's own and one without a call."""
    aside, *others = rows()
    if not thread.calls or any(aside.pattern.search(call) for call in thread.calls):
        return None
    name, call = _known(others, thread.calls)
    if name == "collective" and _known(others[:1], thread.calls)[0]:
        name = "setup"  # a barrier at the end of it
    return StandingPlace(name, call or _innermost(thread.calls), thread)


def _known(known: list[PlaceRow], calls: list[str]) -> tuple[PlaceName | Literal[""], str]:
    """Return the first place that a row knows, from the innermost call outwards, and its call."""
    for call in calls:
        for row in known:
            if row.pattern.search(call):
                return row.name, call
    return "", ""


def _innermost(calls: list[str]) -> str:
    """Return the innermost call that says what is done there."""
    return next((call for call in calls if not any(one in call for one in _NOISE)), calls[0])
