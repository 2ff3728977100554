"""How many ranks a job has, whose lines a log holds and of which time: its first and last parts."""

import contextlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import tzinfo
from pathlib import Path

from ....formats.training_logs import cleaning, times
from ....formats.training_logs.prefixes import LinePrefixes
from ..walk import blocks

_HEAD_BYTES, _TAIL_BYTES = 512 * 1024, 128 * 1024
_SIZE = re.compile(
    rb"(?<![A-Za-z0-9_])(?<!parallel )(?:dist_|global_)?world[ _]?size[\"']?"
    rb"\s{0,3}[:=]\s{0,3}(\d{1,7})"
    rb"|(?<![A-Za-z0-9_])(?:nranks|num[ _]processes|SLURM_NTASKS|OMPI_COMM_WORLD_SIZE)[\"']?"
    rb"\s{0,3}[:= ]\s{0,3}(\d{1,7})(?![\d.])"
    rb"|global_world_sizes?=\[(\d{1,7})"
    rb"|MEMBER: \d{1,7}/(\d{1,7})"
    rb"|\d{1,7}/(\d{1,7}) clients joined"
    rb"|mpi(?:run|exec)[^\n]{0,200}? -(?:np|n) (\d{1,7})(?!\d)",
    re.IGNORECASE,
)
_PER_NODE = re.compile(
    rb"nproc[_-]per[_-]node[\"']?\s{0,3}[:= ]\s{0,3}(\d{1,5})|num_local_procs=(\d{1,5})",
    re.IGNORECASE,
)
_NODES = re.compile(rb"(?<!\w)n?nodes[\"']?\s{0,3}[:= ]\s{0,3}(\d{1,5})(?![\d:.])", re.IGNORECASE)
_MARKS = (
    b"world", b"nranks", b"num processes", b"num_processes", b"slurm_ntasks", b"member: ", b"mpi",
    b"clients joined", b"nproc", b"num_local_procs", b"nodes",
)  # fmt: skip
"""Texts in small letters of which a line that one of these patterns finds has one."""

MOST_RANKS = 1 << 17
"""A job has fewer: a larger number of a rank or a size is a line that was torn or made up."""
_YEAR_SECONDS = 365.25 * 86400.0
_DAY_SECONDS = 86400.0


@dataclass(frozen=True, slots=True)
class LogSurvey:
    """What a log's first and last lines say beside faults.

    `size`: how many ranks the job has at least, 0 where nothing says it. `ranks`: those that
    prefixes name. `hosts`: where these ran, by the same. `dated`: the first full date, s since the
    epoch, None where no line has one.
    """

    size: int = 0
    ranks: frozenset[int] = frozenset()
    hosts: Mapping[int, str] = field(default_factory=dict[int, str])
    dated: float | None = None


@dataclass(frozen=True, slots=True)
class JobSurvey:
    """The same of all logs of a job.

    `size`: how many ranks it has at least, 0 where no line says it. `ranks`: by log those that
    prefixes name. `hosts`: where ranks ran, by the same. `near`: a time close to that of lines
    without a year, None where nothing tells. `written`: when the newest log was. Both in s since
    the epoch.
    """

    size: int = 0
    ranks: Mapping[str, set[int]] = field(default_factory=dict[str, set[int]])
    hosts: Mapping[int, str] = field(default_factory=dict[int, str])
    near: float | None = None
    written: float = 0.0


def survey(files: Mapping[str, Path], zone: tzinfo | None, known: float | None) -> JobSurvey:
    """Look at all logs, given by name; `known` is when the job ran, where dumps tell it.

    One that cannot be opened says nothing.
    """
    found: dict[str, LogSurvey] = {}
    written = 0.0
    for name, path in files.items():
        with contextlib.suppress(OSError):
            found[name] = read(path, zone)
            written = max(written, path.stat().st_mtime)
    every = list(found.values())
    return JobSurvey(
        size=max((one.size for one in every), default=0),
        ranks={name: set(one.ranks) for name, one in found.items()},
        hosts={rank: host for one in every for rank, host in one.hosts.items()},
        near=near(every, written, known),
        written=written,
    )


def read(path: Path, zone: tzinfo | None) -> LogSurvey:
    """Read the first and the last part of a log. Raises OSError."""
    with path.open("rb") as opened:
        data = opened.read(_HEAD_BYTES)
        left = os.fstat(opened.fileno()).st_size - len(data)
        if left > 0:
            opened.seek(-min(left, _TAIL_BYTES), os.SEEK_END)
            data += b"\n" + opened.read(_TAIL_BYTES)
    ranks: set[int] = set()
    hosts: dict[int, str] = {}
    dated: float | None = None
    prefixes = LinePrefixes()
    prefixes.learn(data)
    for line in data.splitlines():
        if b"[rank" in line or line[:1] in b"[( " or dated is None:
            cleaned = cleaning.clean(line[: cleaning.LONGEST], prefixes)
            if cleaned.rank is not None and cleaned.rank < MOST_RANKS:
                ranks.add(cleaned.rank)
                if cleaned.host:
                    hosts[cleaned.rank] = cleaned.host
            if dated is None:
                dated = times.read(cleaned.stamp or cleaned.text, zone)
    return LogSurvey(_size(data), frozenset(ranks), hosts, dated)


def near(surveys: list[LogSurvey], written: float, known: float | None) -> float | None:
    """Return a time close to that of lines without a year: of lines with a date, or of dumps.

    Where no line has one, the newest year is meant in which they are older than the files.
    """
    dates = [one.dated for one in surveys if one.dated is not None]
    if dates:
        return max(dates)
    if known is not None:
        return known
    return written - _YEAR_SECONDS / 2 + _DAY_SECONDS if written else None


def _size(data: bytes) -> int:
    """Return the largest size that is named: parts of a job name smaller ones."""
    data = _speaking(data)
    found = [_first(match) for match in _SIZE.finditer(data)]
    per_node = max((_first(match) for match in _PER_NODE.finditer(data)), default=0)
    nodes = max((_first(match) for match in _NODES.finditer(data)), default=1)
    found.append(per_node * max(nodes, 1))
    return max((size for size in found if size < MOST_RANKS), default=0)


def _speaking(data: bytes) -> bytes:
    """Return the lines that may name a size, each with the one below it."""
    lowered = data.lower()
    kept: list[bytes] = []
    done = 0
    for place in sorted({place for mark in _MARKS for place in blocks.marked(lowered, mark)}):
        if place >= done:
            start = max(done, data.rfind(b"\n", done, place) + 1)
            done = data.find(b"\n", data.find(b"\n", place) + 1 or len(data)) + 1 or len(data)
            kept.append(data[start:done])
    return b"\n".join(kept)


def _first(match: re.Match[bytes]) -> int:
    return next((int(group) for group in match.groups() if group), 0)
