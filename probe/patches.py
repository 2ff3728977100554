"""Replacing a function of somebody else's library, and putting it back."""

import functools
from collections.abc import Callable
from typing import Any

Function = Callable[..., Any]


class UnsupportedLibraryError(Exception):
    """The library is not what this hook was written for; the other hooks are installed."""


class LibraryPatches:
    """Remembers what was replaced. A wrapper keeps the name, text and signature of its original."""

    def __init__(self) -> None:
        self._done: list[tuple[Any, str, Function, Function]] = []

    def replace(self, owner: Any, name: str, make: Callable[[Function], Function]) -> None:
        """Replace `owner.name` by `make(original)`; UnsupportedLibraryError where there is none."""
        original = getattr(owner, name, None)
        if not callable(original):
            raise UnsupportedLibraryError(
                f"{getattr(owner, '__name__', owner)!s}.{name} is not there"
            )
        wrapper = functools.update_wrapper(make(original), original)
        setattr(owner, name, wrapper)
        self._done.append((owner, name, original, wrapper))

    def undo(self) -> None:
        """Put every original back, except where somebody else has wrapped ours since.

        Those wrappers stay in the chain, so each must pass calls through once the probe is gone.
        """
        while self._done:
            owner, name, original, wrapper = self._done.pop()
            if getattr(owner, name, None) is wrapper:
                setattr(owner, name, original)
