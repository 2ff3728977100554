"""Answers of RAS as text, from NCCL 2.24 on: only what differs, and by name only the fewer ranks.

Lines are known by their words, not by where they begin, so that an answer is read behind the
prefixes of a log and between other lines too.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from ...vocabulary.patterns import DeferredPattern
from .. import names
from .communicators import MOST_RANKS, RankPlace, RasCommunicator, RasStatus

_BEGINS = ("Job summary", ") MISMATCH", ") INCOMPLETE", ") ERROR")
_TELLS = (
    "ank ", "ank:", "anks ", "anks:", "managing GPU", "Warnings", "DEAD", "INCOMPLETE", "TIMEOUT",
    "RUNNING", "NOCOMM", "INIT", "FINALIZE", "ABORT", "UNKNOWN",
)  # fmt: skip
"""Words of which every line inside an answer that tells something has one; rows of the job's
summary, which stand before those of communicators, have none."""

_BEGIN = DeferredPattern(r"Job summary\s*$")
_ROW = DeferredPattern(
    r"(?<!\S)(?P<group>\d{1,6})\s+(?P<count>\d{1,7})\s+\d{1,7}\s+[\d-]{1,15}\s+(?P<size>\d{1,7})\s+"
    r"\d{1,7}\s+(?:NOCOMM|UNKNOWN|INIT|RUNNING|FINALIZE|ABORT)\s+"
    r"(?P<status>(?:OK|MISMATCH|ERROR|INCOMPLETE)(?:,[A-Z]+)*)\s*$"
)
_TOTALS = DeferredPattern(
    r"(?<!\S)(?P<nodes>\d{1,7})\s+\d{1,7}\s+(?:\d{1,4}\s+\d{1,7}\s+)?(?P<devices>\d{1,7})\s*$"
)
"""Where nodes differ, rows of each kind of node come first; the last row is of the whole job."""
_OF_COMMUNICATOR = DeferredPattern(
    r"#(?P<group>\d{1,6})-\d{1,6} \((?P<hash>[0-9a-f]{1,32})\) (?P<what>MISMATCH|INCOMPLETE|ERROR)"
)
_OF_JOB = DeferredPattern(r"(?:^|\s)(INCOMPLETE|DEAD|TIMEOUT)\s*$")
_UNEQUAL = DeferredPattern(r"ranks have different (?P<kind>\w{1,32}) operation counts")
_STATUS = DeferredPattern(r"ranks have different status")
_PART = DeferredPattern(
    r"(?<!\S)(?P<count>\d{1,7}) ranks? (?:have|has) (?:launched up to operation (?P<n>\d{1,18})\b|"
    r"(?P<none>not launched any))"
)
_STATUS_PART = DeferredPattern(r"(?<!\S)\d{1,7} ranks? (?:have|has) status (?P<status>\w{1,16})")
_ERROR_PART = DeferredPattern(r"(?<!\S)\d{1,7} ranks? reported (?P<error>[A-Z][\w ]{2,40})")
_RANK = DeferredPattern(
    r"Rank (?P<rank>\d{1,7})(?P<said> [a-z][^-]{0,120}?)? -- (?:GPU (?P<gpu>\S+)"
    r"(?: \(NVML (?P<nvml>\d{1,4})\))? managed by process (?P<pid>\d{1,9}) on node "
    r"(?P<host>\S{1,255})|\[process information not found\])"
)
_RANK_STATUS = DeferredPattern(r"Rank (?P<rank>\d{1,7}) has status (?P<status>\w{1,16})\s*$")
_ALONE = DeferredPattern(
    r" has (?:launched up to operation (?P<n>\d{1,18})\b|(?P<none>not launched))"
)
_LIST = DeferredPattern(r"The (?P<what>missing|unknown) ranks?: (?P<ranks>[\d,\s]{1,4000})")
_PROCESS = DeferredPattern(
    r"Process (?P<pid>\d{1,9}) on node (?P<host>\S{1,255}) managing GPUs? (?P<gpu>[\d,]{1,200})"
    r"(?: \(NVML (?P<nvml>[\d,]{1,200})\))?"
)
_INDEX = DeferredPattern(r"[0-9]{1,4}")

_OUTSIDE = frozenset({"NOCOMM", "UNKNOWN"})
"""Of ranks that answered and did not speak of the communicator; NCCL 2.24 and 2.25 say UNKNOWN."""

_Mode = Literal["", "counts", "status", "errors", "missing"]


@dataclass(slots=True)
class _CountPart:
    """Ranks that launched equally many: how many they are, and those that are named."""

    count: int
    launched: int
    ranks: set[int] = field(default_factory=set)


@dataclass(slots=True)
class _OpenCommunicator:
    """A communicator while its lines are read: by kind of collective the parts that launched."""

    made: RasCommunicator
    group: int
    parts: dict[str, list[_CountPart]] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)
    """Which of its sections were read: another of the same is of another answer."""


class RasTextReader:
    """Takes lines in order; `answers` are those that were read, the last one maybe in part."""

    def __init__(self) -> None:
        self.answers: list[RasStatus] = []
        self._open: dict[str, _OpenCommunicator] = {}
        self._sizes: dict[int, int] = {}
        self._current: _OpenCommunicator | None = None
        self._mode: _Mode = ""
        self._kind = ""
        self._said = ""
        self._of_job = ""

    def feed(self, number: int, line: str) -> bool:
        """Take a line, of which `number` counts from 0; return whether an answer began with it."""
        begins = any(word in line for word in _BEGINS)
        if begins and _BEGIN.search(line):
            self._begin(number)
            return True
        if begins and (section := _OF_COMMUNICATOR.search(line)):
            began = self._unlike(section["hash"], section["what"])
            if began:
                self._begin(number)
            self._section(section)
            return began
        if self.answers and (not self.answers[-1].sizes or any(word in line for word in _TELLS)):
            self._inside(line)
        return False

    def end(self) -> list[RasStatus]:
        """Take the end; return every answer."""
        self._finish()
        return self.answers

    def _unlike(self, name: str, what: str) -> bool:
        """Tell whether a section is of another answer than the one being read."""
        known = self._open.get(name)
        return not self.answers or (known is not None and what in known.seen)

    def _begin(self, number: int) -> None:
        self._finish()
        self.answers.append(RasStatus(line=number))
        self._current, self._mode, self._of_job = None, "", ""

    def _finish(self) -> None:
        if self.answers:
            self.answers[-1].communicators = [_spread(one) for one in self._open.values()]
        self._open, self._sizes = {}, {}

    def _section(self, section: re.Match[str]) -> None:
        name, group = section["hash"], int(section["group"])
        known = self._open.get(name)
        if known is None:
            made = RasCommunicator(name, min(self._sizes.get(group, 0), MOST_RANKS))
            known = self._open[name] = _OpenCommunicator(made, group)
        known.seen.add(section["what"])
        self._current, self._kind, self._of_job = known, "", ""
        self._mode = "missing" if section["what"] == "INCOMPLETE" else ""

    def _inside(self, line: str) -> None:
        answer = self.answers[-1]
        if row := _ROW.search(line):
            self._sizes[int(row["group"])] = int(row["size"])
            answer.sizes += [(int(row["size"]), row["status"])] * min(int(row["count"]), 4096)
        elif not answer.sizes and (totals := _TOTALS.search(line)):
            answer.nodes, answer.devices = int(totals["nodes"]), int(totals["devices"])
        elif process := _PROCESS.search(line):
            place = _place(process["host"], process["pid"], process["gpu"], process["nvml"])
            (answer.dead if self._of_job == "DEAD" else answer.missing).append(place)
        elif "Warnings" in line:
            answer.whole = True
        elif section := _OF_JOB.search(line):
            self._current, self._of_job = None, section[1]
        elif self._current is not None:
            self._of_communicator(line, self._current)

    def _of_communicator(self, line: str, current: _OpenCommunicator) -> None:
        made = current.made
        if unequal := _UNEQUAL.search(line):
            self._mode, self._kind = "counts", names.kind(unequal["kind"])
            current.parts[self._kind] = []
        elif _STATUS.search(line):
            self._mode = "status"
        elif part := _PART.search(line):
            self._add(current, _CountPart(int(part["count"]), int(part["n"] or 0)))
        elif part := _STATUS_PART.search(line):
            self._mode, self._said = "status", part["status"]
        elif part := _ERROR_PART.search(line):
            self._mode, self._said = "errors", part["error"].lower().strip()
        elif listed := _LIST.search(line):
            ranks = {int(rank) for rank in re.findall(r"\d{1,7}", listed["ranks"])}
            (made.missing if listed["what"] == "missing" else made.left).update(ranks)
        elif alone := _RANK_STATUS.search(line):
            if alone["status"] in _OUTSIDE:
                made.left.add(int(alone["rank"]))
        elif rank := _RANK.search(line):
            self._of_rank(rank, current)

    def _of_rank(self, found: re.Match[str], current: _OpenCommunicator) -> None:
        made, rank, said = current.made, int(found["rank"]), found["said"] or ""
        if found["host"]:
            made.places[rank] = _place(found["host"], found["pid"], found["gpu"], found["nvml"])
        if alone := _ALONE.match(said):
            self._add(current, _CountPart(1, int(alone["n"] or 0), {rank}))
        elif said.startswith(" reported "):
            made.errors[rank] = said.removeprefix(" reported ").lower()
        elif said.startswith(" has status "):
            if said.rpartition(" ")[2] in _OUTSIDE:
                made.left.add(rank)
        elif self._mode == "missing":
            made.missing.add(rank)
        elif self._mode == "errors":
            made.errors[rank] = self._said
        elif self._mode == "status":
            if self._said in _OUTSIDE:
                made.left.add(rank)
        elif parts := current.parts.get(self._kind):
            parts[-1].ranks.add(rank)

    def _add(self, current: _OpenCommunicator, part: _CountPart) -> None:
        self._mode = "counts"
        current.parts.setdefault(self._kind, []).append(part)


def answers(lines: Iterable[str]) -> list[RasStatus]:
    """Return every answer that stands in lines, in their order."""
    reader = RasTextReader()
    for number, line in enumerate(lines):
        reader.feed(number, line)
    return reader.end()


def _spread(one: _OpenCommunicator) -> RasCommunicator:
    """Give every rank its counts: only ranks of the smaller parts are named."""
    made = one.made
    away = made.missing | made.left
    if not made.size:
        counted = max((sum(p.count for p in parts) for parts in one.parts.values()), default=0)
        made.size = min(counted + len(away), MOST_RANKS)
    of_kind = {
        kind: _of_kind(kind, parts, made, away) for kind, parts in one.parts.items() if parts
    }
    known = {rank for counts in of_kind.values() for rank in counts}
    for rank in known:
        kinds = {kind: counts[rank] for kind, counts in of_kind.items() if rank in counts}
        if len(kinds) == len(of_kind):
            made.launched[rank] = sum(kinds.values())
            made.kinds[rank] = {kind: count for kind, count in kinds.items() if kind}
    return made


def _of_kind(
    kind: str, parts: list[_CountPart], made: RasCommunicator, away: set[int]
) -> dict[int, int]:
    """Return how many of a kind each rank launched; of several unnamed parts at least the least."""
    counts = {rank: part.launched for part in parts for rank in part.ranks}
    unnamed = [part for part in parts if not part.ranks]
    if not unnamed:
        return counts
    others = [rank for rank in range(made.size) if rank not in counts and rank not in away]
    if sum(part.count for part in unnamed) == len(others):
        counts |= dict.fromkeys(others, min(part.launched for part in unnamed))
    if len(unnamed) > 1:
        what = kind or "collectives"
        told = ", ".join(f"{part.count} ranks {part.launched}" for part in unnamed)
        numbers = [part.launched for part in unnamed]
        made.spread = max(made.spread, max(numbers) - min(numbers))
        made.unnamed.append(f"{what} launched by ranks that are not named: {told}")
    return counts


def _place(host: str, pid: str, gpu: str, nvml: str | None) -> RankPlace:
    """Return the place that a line names; of several devices none."""
    cuda = int(gpu) if _INDEX.fullmatch(gpu) else None
    device = int(nvml) if nvml and _INDEX.fullmatch(nvml) else cuda
    return RankPlace(names.shown(host), int(pid), device, cuda)
