"""Logs of a training that say neither how it went wrong nor that it is done: where they end.

Somebody asks why a job is dead, or stands, and no line speaks of a fault. The last line is all that
there is to say then: what the job had begun, and how much of it was left.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from ....formats.training_logs import cleaning
from ....vocabulary.log_lines import OF_COLUMNS, OPEN_END
from ....vocabulary.samples import Event
from ..found import ArtefactContents, LogQuote
from . import survival
from .tails import LogTail

_TRAINS = re.compile(
    rb"(?i)(?<![a-z])(?:train(?:ing|er|_|\b)|epoch|iteration|loss|rank\b|ranks\b|world.?size|cuda|"
    rb"gpus?\b|nccl|torch|tensorflow|keras|jax|deepspeed|horovod|dataload|batch|checkpoint|model)"
    rb"|^\s*File \"[^\"]{1,500}\", line \d"
)
"""What a log speaks of that is one of a training."""
_DONE = re.compile(
    rb"(?i)\b(?:training|train|fit(?:ting)?|job|run|all|everything|experiment|optimization)\b.{0,24}"
    rb"\b(?:complete[ds]?|finished|done|succe\w+|ended|over)\b|\btrain_runtime\b|"
    rb"\bfinished training\b|"
    rb"\b(?:done|finished|completed|success\w*)\W{0,3}$|\bexit(?:ed)?(?: with)?(?: code)?:? 0\b|"
    rb"\bsav(?:ed|ing) (?:the )?(?:final|best|last)\b|\btotal (?:training )?time\b|"
    rb"\bearly.?stopp\w*|\boptimization finished\b|\bwandb: (?:run summary|synced)|"
    rb"^(?:\d{1,5}: ?)?ending timing run at\b|\bret(?:urn)?_?code[=:] ?0\b"
)
"""What one of the last lines says where the training came to its end."""
_COUNTED = re.compile(rb"(?i)(?<![\d.:/-])(?P<at>\d{1,9})(?: ?/ ?| of )(?P<of>\d{1,9})(?![\d.:/-])")
_ITEMS = re.compile(rb"(?i)\b(?:transferred|loaded|restored|matched|items|tensors|layers|keys)\b")
"""What a line says whose count is no progress of a training."""
_EPOCHS = re.compile(
    rb"(?i)\bepochs?\W{0,6}(?P<at>\d{1,7})(?:\W{0,3}(?:/|of)\W{0,3}(?P<of>\d{1,7}))?"
)
_NEWEST = 3
"""So many lines at the end say in which epoch it is."""
_LAST = 12
"""So many lines at the end may say that it is done."""
_LONGEST = 1000


def add(
    files: Mapping[str, Path],
    whose: Mapping[str, int | None],
    found: ArtefactContents,
) -> None:
    """Note where the first log, by name, of a training ends, where nothing speaks of a fault.

    `whose`: the rank that wrote each log, None where it is nobody's alone.
    """
    if found.telling or any(map(_told, found.events)):
        return
    ends: list[tuple[str, LogTail, int]] = []
    for name, path in files.items():
        try:
            tail = LogTail.read(path)
        except OSError:
            continue  # said where it was read
        if _done(tail.lines):
            if _last(tail) is not None:
                found.understood(name, "log that says at its end that it is done")
            return
        if (line := _last(tail)) is not None:
            ends.append((name, tail, line))
    for name, tail, line in ends:
        try:
            number = tail.first() + line
        except OSError:
            continue  # it went away meanwhile
        text = _text(tail.lines[line])
        found.open_end = LogQuote(
            name, number, None, whose.get(name), OPEN_END, "confirmation", text
        )
        found.understood(name, "log whose end is quoted")
        return


_TOLD = ("process.exit", "training.numeric", "gpu.fault", "host.oom_kill", "scheduler.event")
"""Events after which there is more to say than where a log ends."""


def _told(event: Event) -> bool:
    """Tell whether an event says more; a line that only bears out others does not."""
    if event.name != "log.fault":
        return event.name in _TOLD
    pairs = event.attributes
    return pairs.get("role") != "confirmation" or pairs.get("signature") in OF_COLUMNS


def _last(tail: LogTail) -> int | None:
    """Return the place of the last line of a log, None where it is none of a training."""
    if not any(_TRAINS.search(line[:_LONGEST]) for line in tail.lines):
        return None
    return max((place for place, line in enumerate(tail.lines) if line.strip()), default=None)


def _text(line: bytes) -> str:
    return cleaning.shown(cleaning.clean(line.rstrip().rpartition(b"\r")[2]).text)


def _done(lines: Sequence[bytes]) -> bool:
    """Tell whether one of the last lines says that the training is done."""
    if survival.completed(lines) is not None:
        return True
    last = [line[-_LONGEST:] for line in lines if line.strip()][-_LAST:]
    return any(_DONE.search(line.strip()) for line in last) or _complete(last)


def _complete(last: Sequence[bytes]) -> bool:
    """Tell whether the last count has reached what it counts to; that of epochs, where one is."""
    epochs = [one for line in last[-_NEWEST:] for one in _EPOCHS.finditer(line)]
    if epochs:
        return epochs[-1]["of"] is not None and int(epochs[-1]["at"]) >= int(epochs[-1]["of"])
    counts = [one for line in last if not _ITEMS.search(line) for one in _COUNTED.finditer(line)]
    return bool(counts) and counts[-1]["at"] == counts[-1]["of"]
