"""The list of failed processes that torchrun prints when it gives a job up."""

import re
from datetime import tzinfo

from ...vocabulary.samples import Event, Scalar
from . import times

BEGINS = "ChildFailedError"
_FIELD = re.compile(r"(time|host|rank|exitcode|error_file|traceback) *: (.*)")
_RANK = re.compile(r"(\d{1,7}) \(local_rank: \d{1,4}\)")
_EXIT = re.compile(r"(-?\d{1,9}) \(pid: (\d{1,9})\)(?: +\(\w{1,20}\))?")
_LONGEST = 100_000
"""Lines of a block: twelve a process, and a traceback of each; then it is something else."""


class Block:
    """Follows one block, line by line; `read` returns the exits that it lists, each once."""

    def __init__(self, zone: tzinfo | None = None) -> None:
        self._zone = zone
        self._left = 0
        self._fields: dict[str, str] = {}
        self._seen: set[tuple[int, int]] = set()

    @property
    def open(self) -> bool:
        """Return whether the lines that follow belong to a block."""
        return self._left > 0

    def begin(self) -> None:
        """Note that a block begins."""
        self._left, self._fields = _LONGEST, {}

    def read(self, text: str) -> tuple[Event, float | None] | None:
        """Take a line inside a block; return an exit, and when it was, once it is complete.

        The event's own time is left to the caller.
        """
        self._left -= 1
        found = _FIELD.fullmatch(text.strip())
        if found is None:
            if self._fields and text.startswith("====="):
                self._left = 0
            return None
        name, value = found[1], found[2]
        if name == "time":
            self._fields = {}
        self._fields[name] = value
        return self._exit() if name == "exitcode" else None

    def _exit(self) -> tuple[Event, float | None] | None:
        rank = _RANK.fullmatch(self._fields.get("rank", ""))
        ended = _EXIT.fullmatch(self._fields.get("exitcode", ""))
        if rank is None or ended is None:
            return None
        number, code, pid = int(rank[1]), int(ended[1]), int(ended[2])
        if (number, pid) in self._seen:
            return None
        self._seen.add((number, pid))
        at = times.read(self._fields.get("time", ""), self._zone)
        pairs: dict[str, Scalar] = {"rank": number, "pid": pid}
        if code < 0:
            pairs["signal"] = -code
        else:
            pairs["exit_code"] = code
        return Event("process.exit", 0.0, pairs), at
