"""Which processes failed, as torchrun prints it: the first at once, all when it gives a job up."""

import re
import signal
from collections.abc import Mapping
from datetime import tzinfo

from ...vocabulary.samples import Event, Scalar
from . import times

BEGINS = "ChildFailedError"
FAILED = "torchrun.worker_failed"
"""Name of the signature of the line about the first."""
_FAILED = re.compile(r"\(exitcode: (-?\d{1,9})\) local_rank: (\d{1,4}) \(pid: (\d{1,9})\)")
_FIELD = re.compile(r"(time|host|rank|exitcode|error_file|traceback) *: (.*)")
_RANK = re.compile(r"(\d{1,7}) \(local_rank: \d{1,4}\)")
_EXIT = re.compile(r"(-?\d{1,9}) \(pid: (\d{1,9})\)(?: +\(\w{1,20}\))?")
_LONGEST = 100_000
"""Lines of a block: twelve a process, and a traceback of each; then it is something else."""


def failed(text: str, local_ranks: Mapping[int, int], at: float) -> Event:
    """Return the exit that a line of the signature FAILED reports.

    Where nobody says which rank a local rank is, its process stands for it.
    """
    found = _FAILED.search(text)
    assert found is not None  # noqa: S101  the signature's pattern holds this one
    code, local, pid = int(found[1]), int(found[2]), int(found[3])
    rank = local_ranks.get(local)
    pairs: dict[str, Scalar] = {} if rank is None else {"rank": rank}
    return Event("process.exit", at, {**pairs, "pid": pid, **_how(code)})


class TorchrunBlock:
    """Follows one block, line by line; `read` returns the exits that it lists, each once.

    What torchrun told to end (SIGTERM) ended after what it had noticed. The block may say
    otherwise: the time of a process marked by `@record` is that of its exception, such as that a
    peer is gone, and that of one that was killed is when it was noticed, both in whole seconds.
    Over the turn of a second the block names the wrong one as the root cause. The one noticed
    stands first, unless it is the root cause. (PyTorch 2.13)
    """

    def __init__(self, zone: tzinfo | None = None) -> None:
        self._zone = zone
        self._left = 0
        self._fields: dict[str, str] = {}
        self._seen: set[tuple[int, int]] = set()
        self._noticed = 0.0

    @property
    def open(self) -> bool:
        """Return whether the lines that follow belong to a block."""
        return self._left > 0

    def begin(self) -> None:
        """Note that a block begins."""
        self._left, self._fields = _LONGEST, {}
        self._noticed = 0.0

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
        if at is not None and code == -signal.SIGTERM:
            at = max(at, self._noticed)
        elif at is not None:
            self._noticed = max(at, self._noticed)
        return Event("process.exit", 0.0, {"rank": number, "pid": pid, **_how(code)}), at


def _how(code: int) -> dict[str, Scalar]:
    return {"signal": -code} if code < 0 else {"exit_code": code}
