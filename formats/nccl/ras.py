"""Answers of NCCL's RAS service: which ranks of a communicator launched how much, who is missing.

RAS counts launches of five kinds of collectives, and neither completions nor sends: it sees a
process that does not come, not a device that does not finish. Counts of a job at work differ for a
moment; only those that stay unequal say anything. JSON from NCCL 2.28.7 on, text from 2.24 on.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .. import names

_COMMUNICATOR = re.compile(r"^#\d+-\d+ \((?P<hash>[0-9a-f]{1,32})\)")
_LAUNCHED = re.compile(
    r"^\s+(?P<count>\d{1,7}) ranks? (?:have|has) launched up to operation (?P<n>\d{1,18})\b"
)
_RANK = re.compile(
    r"^\s+Rank (?P<rank>\d{1,7}) -- GPU (?P<gpu>\S+) managed by process (?P<pid>\d{1,9}) on node "
    r"(?P<host>\S{1,255})"
)
_INDEX = re.compile(r"[0-9]{1,4}")
_MISSING = re.compile(r"missing ranks?: (?P<ranks>[\d,\s-]+)")
_MOST_RANKS = 1_000_000


class RasError(ValueError):
    """What is no answer of RAS; its text says why."""


@dataclass(frozen=True, slots=True)
class RankPlace:
    """Where a rank runs, as NCCL knows it: an address or a name, a process, a device's index."""

    host: str
    pid: int
    device: int | None


@dataclass(slots=True)
class RasCommunicator:
    """One communicator. Ranks are those in the communicator, not in the job.

    launched: how many collectives each rank launched; kinds: the same by kind where it is reported.
    missing: ranks that did not answer; dead: those among them that NCCL gave up.
    """

    name: str
    size: int
    launched: dict[int, int] = field(default_factory=dict)
    kinds: dict[int, dict[str, int]] = field(default_factory=dict)
    places: dict[int, RankPlace] = field(default_factory=dict)
    missing: set[int] = field(default_factory=set)
    dead: set[int] = field(default_factory=set)


def is_answer(head: bytes) -> bool:
    """Tell whether a file that begins so may be an answer of RAS."""
    if head.lstrip()[:1] == b"{":
        return b'"communicators_count"' in head or b'"communicators"' in head
    return b"NCCL version" in head and b"Job summary" in head


def torn(text: str) -> bool:
    """Tell whether a text answer ends within a line or before its communicators."""
    return not text.endswith("\n") or "Communicators" not in text


def read(text: str) -> list[RasCommunicator]:
    """Return the communicators of an answer in either form. Raises RasError."""
    found = _of_json(text) if text.lstrip().startswith("{") else _of_text(text)
    if not found:
        raise RasError("no communicator is in it")
    return found


def _of_json(text: str) -> list[RasCommunicator]:
    try:
        answer = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise RasError(f"no JSON: {error}") from error
    fields: dict[str, Any] = answer if isinstance(answer, dict) else {}
    return [_communicator(row) for row in _rows(fields.get("communicators"))]


def _communicator(row: Mapping[str, Any]) -> RasCommunicator:
    size = _whole(row.get("size"), 0)
    made = RasCommunicator(name=names.shown(row.get("hash", "")), size=min(size, _MOST_RANKS))
    for one in _rows(row.get("ranks")):
        rank = _whole(one.get("rank"), -1)
        if not 0 <= rank < _MOST_RANKS:
            continue
        counts = one.get("collective_counts")
        kinds: dict[str, int] = {}
        for kind, count in counts.items() if isinstance(counts, dict) else ():
            named = names.kind(kind)
            kinds[named] = kinds.get(named, 0) + _whole(count, 0)
        made.kinds[rank], made.launched[rank] = kinds, sum(kinds.values())
        made.places[rank] = _place(one)
    for one in _rows(row.get("missing_ranks")):
        rank = _whole(one.get("rank"), -1)
        if 0 <= rank < _MOST_RANKS:
            made.missing.add(rank)
            made.places[rank] = _place(one)
            status = one.get("status")
            if isinstance(status, dict) and status.get("considered_dead"):
                made.dead.add(rank)
    made.size = max(made.size, len(made.launched) + len(made.missing))
    return made


def _place(row: Mapping[str, Any]) -> RankPlace:
    device = _whole(row.get("nvml_dev"), -1)
    return RankPlace(
        names.shown(row.get("host", "")), _whole(row.get("pid"), 0), device if device >= 0 else None
    )


def _of_text(text: str) -> list[RasCommunicator]:
    """Read the warnings of a text answer: only communicators with unequal or missing ranks."""
    found: dict[str, RasCommunicator] = {}
    current: RasCommunicator | None = None
    count: int | None = None
    groups: dict[str, list[tuple[int, int, set[int]]]] = {}
    for line in text.splitlines():
        if match := _COMMUNICATOR.match(line):
            name = match["hash"]
            current, count = found.setdefault(name, RasCommunicator(name, 0)), None
            groups.setdefault(name, [])
        elif current is None:
            continue
        elif match := _LAUNCHED.match(line):
            count = int(match["n"])
            groups[current.name].append((int(match["count"]), count, set()))
        elif match := _RANK.match(line):
            rank = int(match["rank"])
            device = int(match["gpu"]) if _INDEX.fullmatch(match["gpu"]) else None
            current.places[rank] = RankPlace(match["host"], int(match["pid"]), device)
            if count is not None:
                groups[current.name][-1][2].add(rank)
        elif match := _MISSING.search(line):
            current.missing |= {int(rank) for rank in re.findall(r"\d{1,7}", match["ranks"])}
    for name, parts in groups.items():
        _spread(found[name], parts)
    return list(found.values())


def _spread(made: RasCommunicator, parts: list[tuple[int, int, set[int]]]) -> None:
    """Give every rank its count: only the ranks of the smaller parts are listed by name."""
    made.size = min(sum(size for size, _, _ in parts) + len(made.missing), _MOST_RANKS)
    listed = {rank for _, _, ranks in parts for rank in ranks} | made.missing
    others = [rank for rank in range(made.size) if rank not in listed]
    for size, count, ranks in parts:
        if not ranks and size == len(others):
            made.launched |= dict.fromkeys(others, count)
        made.launched |= dict.fromkeys(ranks, count)


def _rows(value: Any) -> list[Mapping[str, Any]]:
    rows: list[Any] = value if isinstance(value, list) else []
    return [row for row in rows if isinstance(row, dict)]


def _whole(value: Any, default: int) -> int:
    plain = isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 53
    return value if plain else default
