"""What stacks show that people took of processes standing still: who waits, and who is elsewhere.

Peers of a process that does not come to a collective all stand in it: the odd one out is what they
wait for. A dump says nothing of time; where steps follow it in its file, nothing stood still.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from ....formats.stacks import places
from ....formats.stacks.places import StandingPlace
from ....formats.stacks.records import ProcessStacks
from ....formats.training_logs import cleaning, crashes
from ....vocabulary.log_lines import STACK
from ....vocabulary.samples import Event, Scalar
from ..found import ArtefactContents, LogQuote
from ..job.nccl_ranks import NcclProcesses
from ..job.size import MOST_RANKS
from . import differing

_MOST_BYTES = 8 << 20
"""Of a file; a dump of a thousand threads has a tenth of it."""

_KIND = re.compile(
    r"(?i)all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|broadcast|bcast|barrier|gather|"
    r"scatter|send|recv|reduce"
)

_WORDS = {
    "setup": "in the set-up of the process group",
    "lock": "at a lock that another process holds, or left behind",
    "save": "in a save of a checkpoint",
    "collective": "in a collective",
    "backward": "in a backward pass",
    "device": "waiting for its device",
    "data": "waiting for data",
    "end": "at its end",
    "": "in code of its own",
}
StepTest = Callable[[bytes], bool]
"""Tells whether a line is one of steps."""

_REFUSED = ("setup", "lock")
"""Places before the first step, for which nothing else is to blame."""


@dataclass(frozen=True, slots=True)
class StoodProcess:
    """A process of which somebody took the stacks: whose it is, and where it stands."""

    file: str
    process: ProcessStacks
    rank: int | None
    place: StandingPlace

    @property
    def text(self) -> str:
        """Return where it stands, in words."""
        pid = "" if self.process.pid is None else f"process {self.process.pid} "
        name = pid if self.rank is None else f"rank {self.rank} "
        said = f"{name or 'the process '}stands {_WORDS[self.place.name]}"
        return f"{said}: {cleaning.shown(self.place.call)}"

    @property
    def signature(self) -> str:
        return f"{STACK}{self.place.name or 'elsewhere'}"

    @property
    def role(self) -> str:
        return "cascade" if self.place.waits else "root"

    @property
    def quote(self) -> LogQuote:
        """Return the first line of its stacks with what they say."""
        line = self.process.line
        return LogQuote(self.file, line, None, self.rank, self.signature, self.role, self.text)

    @property
    def event(self) -> Event:
        """Return the line of a log that it is as good as."""
        pairs: dict[str, Scalar] = {
            "signature": self.signature, "role": self.role, "text": self.text,
        }  # fmt: skip
        if self.place.name in _REFUSED:
            pairs["ended"] = "setup"
        return Event("log.fault", 0.0, pairs)


@dataclass(frozen=True, slots=True)
class StackFindings:
    """What the stacks of a job say: events by rank, and who waits for whom."""

    events: list[tuple[int | None, Event]]
    waiting: frozenset[int] = frozenset()
    late: frozenset[int] = frozenset()
    apart: frozenset[int] = frozenset()


def read(
    files: Mapping[str, Path],
    logs: Mapping[str, Path],
    whose: Mapping[str, int | None],
    found: ArtefactContents,
    *,
    went_on: StepTest,
) -> StackFindings:
    """Return what the dumps in files say, and quote them.

    `logs`: all of the job, which may say whose a process is. `whose`: the rank that wrote each
    file, None where it is nobody's alone. `went_on` tells lines of steps.
    """
    stood = list(_stood(files, whose, went_on))
    if any(one.rank is None and one.process.pid is not None for one in stood):
        stood = _by_process(stood, logs)
    stood = _newest(stood)
    if not stood:
        return StackFindings([])
    for one in stood:
        found.quotes.append(one.quote)
        found.understood(one.file, "stacks")
    return together(stood)


def _stood(
    files: Mapping[str, Path],
    whose: Mapping[str, int | None],
    went_on: StepTest,
) -> Iterator[StoodProcess]:
    """Yield the processes of all dumps after which nothing went on."""
    if not files:
        return
    from ....formats.stacks import reading  # noqa: PLC0415  it compiles many patterns

    for name, path in files.items():
        lines = _lines(path)
        processes = reading.processes(lines)
        last = max((one.end for one in processes), default=0)
        if any(went_on(line) for line in lines[last:]):
            continue
        for process in processes:
            rank = process.rank if process.rank is not None else whose.get(name)
            place = places.of(process)
            if place is not None and (rank is None or rank < MOST_RANKS):
                yield StoodProcess(name, process, rank, place)


def _lines(path: Path) -> list[bytes]:
    """Return the lines of a file, none of one that is too large for a dump."""
    try:
        return [] if path.stat().st_size > _MOST_BYTES else path.read_bytes().split(b"\n")
    except OSError:
        return []  # said where it was read


def _by_process(stood: list[StoodProcess], logs: Mapping[str, Path]) -> list[StoodProcess]:
    """Return them with the ranks of their processes, as NCCL's lines in the logs say these."""
    processes = NcclProcesses()
    with suppress(OSError):  # said where it was read
        processes.read(logs.values())
    ranks: dict[str, set[int]] = defaultdict(set)
    for (_, pid), (rank, _) in processes.ranks.items():
        ranks[pid].add(rank)
    return [
        replace(one, rank=min(of)) if one.rank is None and len(of) == 1 else one
        for one in stood
        for of in [ranks.get(str(one.process.pid), set[int]())]
    ]


def _newest(stood: list[StoodProcess]) -> list[StoodProcess]:
    """Return the last of each process: one that was looked at twice may have gone on."""
    last: dict[object, StoodProcess] = {}
    for place, one in enumerate(stood):
        key = one.rank if one.rank is not None else (one.file, one.process.pid or -place)
        last.pop(key, None)
        last[key] = one
    return list(last.values())


def together(stood: list[StoodProcess]) -> StackFindings:
    """Return what the processes say beside one another."""
    inside = [one for one in stood if one.place.waits]
    outside = [one for one in stood if not one.place.waits]
    ranked = [one for one in stood if one.rank is not None]
    waiting = {one.rank: one for one in inside if one.rank is not None}
    late = {one.rank for one in outside if one.rank is not None}
    if len(ranked) < len(stood) or not waiting or 2 * len(late) > len(stood):
        return StackFindings([(one.rank, one.event) for one in stood])
    events: list[tuple[int | None, Event]] = []
    for one in ranked:
        calls = [call for call in one.place.thread.calls if " (" in call]
        text = cleaning.shown_lines(crashes.joined(calls or one.place.thread.calls))
        events.append((one.rank, Event("process.stack", 0.0, {"text": text})))
    kinds = {
        rank: kind[0].lower()
        for rank, one in waiting.items()
        if one.place.name == "collective" and (kind := _KIND.search(one.place.call))
    }
    apart = frozenset[int]() if late else frozenset(differing.smaller_sides(kinds))
    if not late and not apart:
        events += [(one.rank, one.event) for one in inside]
        return StackFindings(events)
    return StackFindings(events, frozenset(waiting), frozenset(late), apart)
