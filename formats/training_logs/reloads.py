"""Checkpoints that a log says were saved, and loaded again: training goes on from there.

A line that loads a checkpoint may load weights to begin with. One of a path that the same log has
saved to does not: it takes up what was trained before, whatever the software says of it.
"""

import re

from ...vocabulary.samples import Event
from . import resumes, told_lines

NEEDLES = ("oading checkpoint", "oading model", "oading weights", " checkpoint from ")
"""Texts of which a line that loads one has one, in the words that lack a form of their own."""

_PARTS = ("aving", "aved", "aves", "oading", "oaded", "estoring", "estored")
"""A line that saves or loads has one: most lines are searched for no more."""

_SAVES = re.compile(r"(?i)\bsav(?:ing|ed|es?)\b")
_LOADS = re.compile(r"(?i)\b(?:re-?)?(?:load(?:ing|ed)|restor(?:ing|ed))\b")
_OTHER = re.compile(
    r"(?i)\b(?:best|eval\w*|test\w*|valid\w*|infer\w*|predict\w*|export\w*|score)\b"
)
"""What a line says that loads one to look at it, and not to train it on."""
_PATH = re.compile(
    r"['\"](?P<quoted>[^'\"]{4,400})['\"]"
    r"|(?P<bare>(?:[A-Za-z]:)?[^\s'\",;()\[\]]{0,300}[/\\][^\s'\",;()\[\]]{1,300})"
)
_MOST = 256
"""Paths that are remembered, the newest ones."""


def may_tell(text: str) -> bool:
    """Return whether a line may be about a checkpoint that is saved or loaded: it names a path."""
    return any(map(text.__contains__, _PARTS)) and _PATH.search(text) is not None


class SavedCheckpoints:
    """Follows one log."""

    def __init__(self) -> None:
        self._saved: dict[str, None] = {}

    def read(self, text: str, at: float, rank: int | None) -> list[Event]:
        """Return the event of a line that loads what an earlier one saved, none of another."""
        if not any(part in text for part in _PARTS):
            return []
        paths = [found["quoted"] or found["bare"].rstrip(".:") for found in _PATH.finditer(text)]
        if not paths:
            return []
        if _SAVES.search(text):
            for path in paths:
                self._saved.pop(path, None)
                self._saved[path] = None
            while len(self._saved) > _MOST:
                self._saved.pop(next(iter(self._saved)))
            return []
        own = any(path in self._saved for path in paths)
        if not own or not _LOADS.search(text) or _OTHER.search(_PATH.sub("", text)):
            return []
        return [told_lines.event(resumes.EVENT, text, at, rank)]
