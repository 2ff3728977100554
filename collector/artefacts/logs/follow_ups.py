"""Failures of services once a training is complete: an upload, a tracker, a push to a hub.

A log that says that the training is done, and then that somebody else's server refused what is left
to send, is that of a job that did what it was for.
"""

import re
from collections.abc import Sequence

from ....formats.training_logs import tracebacks
from ..job.startup import speaks_of_steps

_DONE = re.compile(
    rb"(?i)\b(?:training|train|fit(?:ting)?|optimi[sz]ation)\b.{0,24}"
    rb"\b(?:complete[ds]?|finished|done)\b|\bfinished training\b|\btrain_runtime\b"
)
"""What says that a training came to its end."""
_NOT_YET = re.compile(
    rb"(?i)\b(?:epoch|step|iter\w{0,6}|batch)\b.{0,40}\b(?:done|finished|completed?)\b"
)
"""Lines of the same words that say so of a part of it."""
_SERVICE = re.compile(
    rb"(?i)\b(?:wandb|mlflow|comet_ml|neptune|clearml|tensorboard|huggingface_hub|swanlab)\b|"
    rb"\b(?:up ?load|push_to_hub|send_?mail|notif|webhook|slack)\w{0,12}\b|"
    rb"\b(?:HTTPError|HfHubHTTPError|RestException|CommError|SMTP\w{0,30})\b|"
    rb"\b[45]\d\d (?:Server|Client) Error\b"
)
"""What a failure is of that comes after it."""
_BEGINS = tracebacks.BEGINS.encode()
_LONGEST = 1000
_TRACEBACK = 60
"""Lines of one traceback at most."""


def places(lines: Sequence[bytes]) -> set[int]:
    """Return the places of lines of such failures.

    Those are below the last line that says that the training is complete, where no step follows it.
    """
    done = _complete(lines)
    if done is None:
        return set()
    found: set[int] = set()
    place = done + 1
    while place < len(lines):
        end = _end(lines, place)
        if any(_SERVICE.search(line[:_LONGEST]) for line in lines[place:end]):
            found.update(range(place, end))
        place = end
    return found


def _complete(lines: Sequence[bytes]) -> int | None:
    """Return the place of the last line that says that the training is done; None: none does."""
    for place in range(len(lines) - 1, -1, -1):
        head = lines[place][:_LONGEST]
        if _DONE.search(head) and not _NOT_YET.search(head):
            return place
        if speaks_of_steps([head]):
            return None
    return None


def _end(lines: Sequence[bytes], place: int) -> int:
    """Return where a failure ends that begins at a place: a whole traceback, else the line."""
    if _BEGINS not in lines[place]:
        return place + 1
    for below in range(place + 1, min(len(lines), place + _TRACEBACK)):
        if lines[below].strip() and not lines[below].startswith(b" "):
            return below + 1
    return min(len(lines), place + _TRACEBACK)
