"""Where the agent keeps what outlives it: one folder a purpose."""

import os
from collections.abc import Mapping
from pathlib import Path

from ..formats import segments

_SYSTEM = Path("/var/lib/rankscope")


class StateError(Exception):
    """A folder cannot be used; the text says why and what to do."""


def folder(purpose: str, environ: Mapping[str, str]) -> Path:
    """Return /var/lib/rankscope/PURPOSE where that may be written, else a folder of the user."""
    system = _SYSTEM / purpose
    try:
        system.mkdir(parents=True, exist_ok=True, mode=0o700)
        if os.access(system, os.W_OK | os.X_OK):
            return system
    except OSError:
        pass  # not ours: the user's own place it is
    home = Path(environ.get("HOME", "~")).expanduser()
    return Path(environ.get("XDG_STATE_HOME") or home / ".local/state") / "rankscope" / purpose


def opened(chosen: Path | None, environ: Mapping[str, str]) -> Path:
    """Return the folder for state, made if need be.

    Raises StateError where it cannot be had.
    """
    place = chosen or folder("state", environ)
    try:
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise StateError(f"the state {place}: {error.strerror or error}; set node.state") from error
    if not os.access(place, os.W_OK | os.X_OK):
        raise StateError(f"the state {place}: it may not be written; set node.state")
    return place


def rewrite(path: Path, text: str) -> None:
    """Write a small file whole or not at all, whoever else is writing it. Raises OSError."""
    segments.rewrite(path, [text.encode()])
