"""A job that never started: who was there, who gave up, and who never came.

Its logs hold no step and no collective, only why ranks gave up. A live collector would have seen
the processes begin and end; here both follow from the logs.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from ....formats.training_logs.signatures import starting
from ....vocabulary.log_lines import START_WAITS
from ....vocabulary.samples import Event, Sample
from ..walk import blocks

_NCCL = re.compile(
    rb"(?:^|\s)(?P<host>[A-Za-z0-9][\w.-]{0,127}):(?P<pid>\d{1,9}):\d{1,9} \[\d{1,3}\] "
    rb"(?:\S{1,200} )?NCCL (?:INFO|WARN|VERSION)"
)
"""What NCCL writes before each line: host, process, thread and device."""

_JOINED = re.compile(
    r"(?P<came>\d{1,7})/(?P<size>\d{1,7}) clients joined"
    r"|world_size=(?P<all>\d{1,7}), (?:worker_count|num_workers_joined)=(?P<here>\d{1,7})"
)
_AGENTS = frozenset({"rendezvous.timeout", "rendezvous.unreachable", "rendezvous.closed"})
"""Signatures of a launcher that did not get as far as to start its ranks, or was left by others."""
_WAITED_FOR = re.compile(r"retrieving ncclUniqueId from \[(\d{1,7})\]")
_STEPPED = ("training.step", "training.loss", "training.grad_norm", "collective.")
"""How metrics begin of which a start that failed has none."""

_STEP = re.compile(rb"(?i)\b(?:step|iter(?:ation)?)s?\b[\s'\":=#\[(/]{1,8}[1-9]\d{0,9}\b")
_VALUE = re.compile(rb"(?i)loss|grad|\blr\b|learning.rate|tokens|perplexity|\bppl\b|elapsed")
"""What a loop of one's own prints of its steps, in whatever form."""
_COUNTS = (b"step", b"iter")
"""In small letters: a line that counts them has one."""

_LONGEST = 1000
"""Bytes of a line that are looked at."""

_FIRST_LINES = 5000
_NCCL_MARK = b" NCCL "
START_SECONDS = 60.0
"""A start is placed so long before the first line that says anything, where no line is older."""


@dataclass(slots=True)
class StartUp:
    """What logs report of a start, gathered file by file."""

    gave_up: dict[int, float] = field(default_factory=dict[int, float])
    """By rank, when it logged why it gave up; 0: its lines have no time."""
    unnamed: float | None = None
    """The same of lines that name no rank."""
    left: float | None = None
    """The same of launchers that did not meet."""
    ran: bool = False
    """Whether a launcher tells of ranks that it had started."""
    joined: tuple[int, int] | None = None
    """How many of how many clients came to the store."""
    waited_for: set[int] = field(default_factory=set[int])
    """Ranks whose part of the start others waited for."""
    others: set[int | None] = field(default_factory=set[int | None])
    """Ranks, None for unnamed ones, that logged another error before anything of the start."""

    def learn(self, event: Event, rank: int | None) -> None:
        """Take a line that points at a fault."""
        if event.name != "log.fault":
            return
        role, name = event.attributes.get("role"), str(event.attributes.get("signature", ""))
        began = self.unnamed is not None if rank is None else rank in self.gave_up
        if name not in starting() and name != START_WAITS:
            if role == "root" and not began:
                self.others.add(rank)
            return
        if rank is not None:
            self.gave_up.setdefault(rank, event.at)
        elif name in _AGENTS:
            self.left = event.at if self.left is None else self.left
        elif role != "confirmation" and self.unnamed is None:
            self.unnamed = event.at
        text = str(event.attributes.get("text", ""))
        if counted := _JOINED.search(text):
            came, size = counted["came"] or counted["here"], counted["size"] or counted["all"]
            self.joined = (int(came), int(size))
        self.waited_for |= {int(one) for one in _WAITED_FOR.findall(text)}

    def failed(self, samples: Iterable[Sample]) -> bool:
        """Tell whether the job ended before its first step, by its lines and what they report."""
        left = self.left is not None and not self.ran
        if self.others or not (self.gave_up or self.unnamed is not None or left):
            return False
        return not stepped(samples)

    def named(self, ranks: Iterable[int]) -> None:
        """Give lines that name no rank, where no others say more, to the highest that is known."""
        at = self.left if self.unnamed is None else self.unnamed
        if at is not None and not self.gave_up:
            self.gave_up[max(ranks, default=0)] = at

    def events(self, ranks: Iterable[int], began: float, newest: float) -> list[tuple[int, Event]]:
        """Return the begin of every rank and the end of those that gave up, by rank."""
        found = [
            (rank, Event("training.phase", began, {"rank": rank, "phase": "init"}))
            for rank in sorted({*ranks, *self.gave_up})
        ]
        found += [
            (rank, Event("process.exit", at or newest, {"rank": rank, "exit_code": 1}))
            for rank, at in sorted(self.gave_up.items())
        ]
        return found

    def missing(self, ranks: Iterable[int]) -> list[str]:
        """Return who never came, as far as logs and the store's count say."""
        late = sorted(self.waited_for - self.gave_up.keys())
        if late and self.joined is None:
            names = ", ".join(map(str, late[:16]))
            waited = ", ".join(map(str, sorted(self.gave_up)[:16]))
            text = f"what rank {names} did so long: rank {waited} waited for it at the start until "
            return [f"{text}the time-out; see whether it still loads or prepares data, or ended"]
        if self.joined is None:
            return []
        came, size = self.joined
        if came > size:
            text = f"{came} workers came to the store of {size} ranks: keys of an earlier start are"
            return [f"{text} left in it, or another job uses the same port"]
        known = set(ranks)
        absent = [rank for rank in range(min(size, 1 << 20)) if rank not in known]
        text = f"{size - came} of {size} ranks never came to the store of rank 0"
        if absent and len(absent) <= size - came:
            text += f": no log of rank {', '.join(map(str, absent[:16]))}"
        return [text]


def stepped(samples: Iterable[Sample]) -> bool:
    """Tell whether values show that the job went beyond its start."""
    return any(one.metric.startswith(_STEPPED) for one in samples)


def any_stepped(paths: Iterable[Path]) -> bool:
    """Return whether any log has lines of steps, whose form need not be known."""
    for path in paths:
        try:
            with path.open("rb") as opened:
                if any(map(speaks_of_steps, _counting(opened))):
                    return True
        except OSError:
            continue  # said where it was read
    return False


def _counting(opened: BinaryIO) -> Iterator[list[bytes]]:
    """Yield the lines of each part of a log that may count steps; of long ones the beginning."""
    inside = False
    for data in blocks.pieces(opened):
        lowered = data.lower()
        places = sorted(place for mark in _COUNTS for place in blocks.marked(lowered, mark))
        begin = data.find(b"\n") + 1 or len(data) if inside else 0
        lines: list[bytes] = []
        for place in places:
            if place >= begin:
                start = data.rfind(b"\n", begin, place) + 1 or begin
                begin = data.find(b"\n", place) + 1 or len(data)
                lines.append(data[start : min(begin, start + _LONGEST)])
        yield lines
        inside = not data.endswith(b"\n")


def speaks_of_steps(lines: Iterable[bytes]) -> bool:
    """Return whether a log has lines that look like those of a training loop, of any form."""
    heads = (line[:_LONGEST] for line in lines)
    return any(_STEP.search(head) and _VALUE.search(head) for head in heads)


def process_of(data: bytes) -> tuple[str, int] | None:
    """Return host and pid of the process that wrote some lines, by the first of NCCL's in them."""
    return next(_processes_of(data), None)


def _processes_of(data: bytes) -> Iterator[tuple[str, int]]:
    """Yield host and pid of who wrote each line of NCCL's."""
    here = data.find(_NCCL_MARK)
    while here >= 0:
        start = data.rfind(b"\n", 0, here) + 1
        end = data.find(b"\n", here)
        end = len(data) if end < 0 else end
        if found := _NCCL.search(data[start : min(end, start + _LONGEST)]):
            yield found["host"].decode("ascii"), int(found["pid"])
        here = data.find(_NCCL_MARK, end)


@dataclass(slots=True)
class ProcessPlace:
    """Learns from the first lines of a log where its process runs, block by block.

    hosts: of all processes that wrote them.
    """

    found: tuple[str, int] | None = None
    hosts: set[str] = field(default_factory=set[str])
    _left: int = _FIRST_LINES

    def learn(self, data: bytes) -> bool:
        """Take whole lines; return whether they are the first that say it."""
        if self._left <= 0:
            return False
        lines = data.count(b"\n")
        if lines > self._left:
            data = b"\n".join(data.split(b"\n", self._left)[:-1])
        self._left -= lines
        known = self.found
        for process in _processes_of(data):
            self.found = self.found or process
            self.hosts.add(process[0])
        return known is None and self.found is not None
