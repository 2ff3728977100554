"""Where a process stood when somebody interrupted it: tracebacks that end in KeyboardInterrupt.

Python raises it in the main thread wherever that is at the moment, so its calls are as good as a
dump of them. In: lines of a log. Out: a process for each such traceback, as IPython writes it too.
"""

import re
from collections.abc import Iterable
from pathlib import PurePath

from ..training_logs import cleaning, tracebacks
from ..training_logs.tracebacks import LineWriter
from .records import ProcessStacks, ThreadStack

_MOST_CALLS = 200
_CALL = re.compile(
    r'File (?:"(?P<file>[^"]{1,1000})", line |(?P<cell>[^"\s:]{1,1000}):)(?P<line>\d{1,7}),? in '
    r"(?P<name>[\w.<>]{1,200})"
    r"|(?P<old>[~/][^\s:]{0,1000}\.py) in (?P<called>[\w.<>]{1,200})\("
    r"|\u2502 (?P<boxed>[~/]\S{1,1000}\.py):(?P<at>\d{1,7}) in(?: (?P<inside>[\w.<>]{1,200}))?(?= )"
)
"""A call of a traceback, as Python writes it, as newer and older IPython do, and in rich boxes,
which breaks lines before a long name.
"""
_GIVEN_UP = re.compile(r"KeyboardInterrupt(?::.{0,200})?")


def processes(lines: Iterable[bytes]) -> list[ProcessStacks]:
    """Return the process of every traceback of an interrupt, in the order of their ends."""
    found: list[ProcessStacks] = []
    calls: dict[LineWriter, list[str]] = {}
    for number, line in enumerate(lines, 1):
        cleaned = cleaning.clean(line.rstrip())
        key, text = (cleaned.rank, cleaned.local), cleaned.text.strip()
        if _GIVEN_UP.fullmatch(text):
            if own := calls.pop(key, None):
                thread = ThreadStack(main=True, calls=own[: -_MOST_CALLS - 1 : -1])
                found.append(ProcessStacks(number, number, rank=cleaned.rank, threads=[thread]))
        elif called := _CALL.match(text):
            calls.setdefault(key, []).append(_call(called))
        elif tracebacks.BEGINS in text or tracebacks.raised(text):
            calls.pop(key, None)
    return found


def _call(found: re.Match[str]) -> str:
    """Return a call as stacks have it."""
    name = (found["name"] or found["called"] or found["inside"] or "?").rpartition(".")[2]
    file = PurePath(found["file"] or found["cell"] or found["old"] or found["boxed"]).name
    line = found["line"] or found["at"]
    return f"{name} ({file}:{line})" if line else f"{name} ({file})"
