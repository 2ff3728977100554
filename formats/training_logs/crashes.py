"""The stacks that Python's faulthandler writes when native code ends a process.

`python -X faulthandler`, or PYTHONFAULTHANDLER=1, as most launchers of training set it.
"""

import re
from pathlib import PurePath

BEGINS = "Fatal Python error"
_THREAD = re.compile(r"(Current thread|Thread) 0x[0-9a-f]{1,16}.{0,80} \(most recent call first\):")
_CALL = re.compile(r'\s*File "(?P<file>.*)", line (?P<line>\d+|\?\?\?) in (?P<name>.*)')
_LONGEST = 10_000
"""Lines of a block: a hundred calls of each of a hundred threads; then it is something else."""
MOST_CALLS = 40


class CrashStack:
    """Follows one block, line by line, to the stack of the thread that ended the process."""

    def __init__(self) -> None:
        self._left = 0
        self._current = False
        self._calls: list[str] = []

    @property
    def open(self) -> bool:
        """Return whether the lines that follow belong to a block."""
        return self._left > 0

    def begin(self) -> None:
        """Note that a block begins."""
        self._left, self._current, self._calls = _LONGEST, False, []

    def read(self, text: str) -> str:
        """Take a line inside a block; return the stack, innermost call last, once it is complete.

        That is with the line behind it: "" before, and where there is none.
        """
        self._left -= 1
        called = call(text)
        thread = None if called else _THREAD.match(text)
        if called and self._current:
            self._calls.append(called)
        ours = called or (thread and not self._calls)
        if ours or not text or text.startswith("Python runtime state"):
            self._current = self._current or bool(thread and thread[1] == "Current thread")
            return ""
        return self.end()

    def end(self) -> str:
        """Take the end of the log; return the stack as far as it goes."""
        self._left = 0
        return joined(self._calls)


def call(line: str) -> str:
    """Return a line of a stack as probes send it, `name (file:line)`; "" for any other."""
    found = _CALL.fullmatch(line)
    if found is None:
        return ""
    return f"{found['name']} ({PurePath(found['file']).name}:{found['line']})"


def joined(calls: list[str]) -> str:
    """Return a stack as probes send it, of calls with the innermost first."""
    return "\n".join(reversed(calls[:MOST_CALLS]))
