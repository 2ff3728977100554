"""What an executor is asked, and what it promises.

An order may come again: after a crash nobody knows how far it was carried out. So whoever carries
out looks first (`look`, which changes nothing), what was found is kept before anything is done, and
every step compares with it: a node that is drained already stays so, a job that was restarted
since is not restarted again. `undo` takes back what this order did, and nothing else.

ExecutorError
├── RefusedOrderError      it will not be done, however often it is asked
└── UnansweredOrderError   whether it was done is not known; to be asked again
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from ....vocabulary.remedies import RemedyKind

Allowed = Callable[[], None]
"""To be called before every step that changes something: it raises where somebody else does it."""


class ExecutorError(Exception):
    """Anything that keeps an order from being carried out; the text says what."""


class RefusedOrderError(ExecutorError):
    """It will not be done, however often it is asked."""


class UnansweredOrderError(ExecutorError):
    """Whether it was done is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RemedyOrder:
    """What is to be done, `id` being the same at every attempt.

    `at` is when it was decided, in seconds since the epoch; `document` what was, ready for JSON.
    """

    id: str
    action: RemedyKind
    job: str
    host: str | None
    reason: str
    at: float
    document: Mapping[str, Any]


class RemedyExecutor(Protocol):
    """Somebody who can restart jobs or take nodes out. One call takes seconds at most."""

    kinds: frozenset[RemedyKind]
    """What it can do."""
    asks_only_what_is_left: bool
    """Whether it looks before each step, and calls `allowed` only where that is not done yet."""

    def look(self, order: RemedyOrder) -> Mapping[str, Any]:
        """Return how things are before anything is done, ready for JSON. Raises ExecutorError."""
        ...

    def carry_out(self, order: RemedyOrder, seen: Mapping[str, Any], allowed: Allowed) -> str:
        """Do what is not done yet; return what was done, in words. Raises ExecutorError."""
        ...

    def undo(self, order: RemedyOrder, seen: Mapping[str, Any], allowed: Allowed) -> str:
        """Take back what was done of it; return what, in words. Raises ExecutorError."""
        ...
