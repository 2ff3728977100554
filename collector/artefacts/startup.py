"""A job that never started: who was there, who gave up, and who never came.

Its logs hold no step and no collective, only why ranks gave up. A live collector would have seen
the processes begin and end; here both follow from the logs.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from ...vocabulary.samples import Event

_NCCL = re.compile(
    rb"(?:^|\s)(?P<host>[A-Za-z0-9][\w.-]{0,127}):(?P<pid>\d{1,9}):\d{1,9} \[\d{1,3}\] "
    rb"(?:\S{1,200} )?NCCL (?:INFO|WARN|VERSION)"
)
"""What NCCL writes before each line: host, process, thread and device."""

_STARTING = re.compile(
    r"^(?:nccl\.(?:bootstrap_\w+|version_mismatch|duplicate_gpu)|tcpstore\.(?:timeout|clients_missing|"
    r"key_missing)|rendezvous\.timeout|hccl\.(?:connect_timeout|rank_table))$"
)
"""Signatures of ranks that give up before their first collective."""

_JOINED = re.compile(r"(\d{1,7})/(\d{1,7}) clients joined")

_STEP = re.compile(rb"(?i)\b(?:step|iter(?:ation)?)s?\b[\s'\":=#\[(/]{1,8}[1-9]\d{0,9}\b")
_VALUE = re.compile(rb"(?i)loss|grad|\blr\b|learning.rate|tokens|perplexity|\bppl\b|elapsed")
"""What a loop of one's own prints of its steps, in whatever form."""

_LONGEST = 1000
"""Bytes of a line that are looked at."""

_FIRST_LINES = 5000
START_SECONDS = 60.0
"""A start is placed so long before the first line that says anything, where no line is older."""


@dataclass(slots=True)
class StartUp:
    """What logs report of a start, gathered file by file."""

    gave_up: dict[int, float] = field(default_factory=dict)
    """By rank, when it logged why it gave up; 0: its lines have no time."""
    joined: tuple[int, int] | None = None
    """How many of how many clients came to the store."""

    def learn(self, event: Event, rank: int | None) -> None:
        """Take a line that points at a fault."""
        signature = str(event.attributes.get("signature", ""))
        if event.name != "log.fault" or not _STARTING.match(signature):
            return
        if rank is not None:
            self.gave_up.setdefault(rank, event.at)
        if counted := _JOINED.search(str(event.attributes.get("text", ""))):
            self.joined = (int(counted[1]), int(counted[2]))

    def events(self, ranks: Iterable[int], began: float, newest: float) -> list[tuple[int, Event]]:
        """Return the begin of every rank and the end of those that gave up, by rank."""
        found = [
            (rank, Event("training.phase", began, {"rank": rank, "phase": "init"}))
            for rank in sorted(ranks)
        ]
        found += [
            (rank, Event("process.exit", at or newest, {"rank": rank, "exit_code": 1}))
            for rank, at in sorted(self.gave_up.items())
        ]
        return found

    def missing(self, ranks: Iterable[int]) -> list[str]:
        """Return who never came, as far as logs and the store's count say."""
        if self.joined is None:
            return []
        came, size = self.joined
        known = set(ranks)
        absent = [rank for rank in range(min(size, 1 << 20)) if rank not in known]
        text = f"{size - came} of {size} ranks never came to the store of rank 0"
        if absent and len(absent) <= size - came:
            text += f": no log of rank {', '.join(map(str, absent[:16]))}"
        return [text]


def speaks_of_steps(lines: Iterable[bytes]) -> bool:
    """Return whether a log has lines that look like those of a training loop, of any form."""
    heads = (line[:_LONGEST] for line in lines)
    return any(_STEP.search(head) and _VALUE.search(head) for head in heads)


def process_of(lines: Iterable[bytes]) -> tuple[str, int] | None:
    """Return host and pid of the process that wrote a log, by NCCL's lines in it."""
    for number, line in enumerate(lines):
        if number >= _FIRST_LINES:
            return None
        if b" NCCL " in line and (found := _NCCL.search(line[:_LONGEST])):
            return found["host"].decode("ascii"), int(found["pid"])
    return None
