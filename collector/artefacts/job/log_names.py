"""Whose log a file is, by its name and those beside it."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

_RANK = re.compile(r"(?:global_?)?rank[_.-]?(\d{1,7})(?!\d)", re.IGNORECASE)
_OUTPUT = re.compile(r"(?:std)?(?:out|err)(?:put)?(?:\.\w+)?$", re.IGNORECASE)
_WHOLE = re.compile(r"\d{1,7}")
_OF_PROCESS = re.compile(
    r"(?:^|[._-])(?:workerlog\.|(?:log|proc(?:ess|id)?|task)[._-])(\d{1,6})(?:\.(?:log|out|err|txt))?$",
    re.IGNORECASE,
)
"""PaddlePaddle's workerlog.3, torch's log_3, a task's of srun --output=task-%t.out."""

_NUMBERED = re.compile(
    r"(?P<before>|slurm-\d{1,12}_|(?:.{0,80}[._-])?(?:train\w{0,4}|worker|out(?:put)?|std(?:out|err)|"
    r"gpu|local|log|py-?spy|pystack|gdb|bt|stacks?|dump)[._-]?)(?P<number>\d{1,6})\.(?P<end>out|err|log|txt)",
    re.IGNORECASE,
)
"""A number alone, behind a word for a process or a job's number: a rank only beside its like."""


def rank_of(name: str) -> int | None:
    """Return the rank whose log a file is, by its name; None where it names none.

    `rank_3.log` and the like, names that launchers give, or the folder of an output: torchrun
    writes 3/stderr.log.
    """
    path = Path(name)
    match = _RANK.search(path.name) or _OF_PROCESS.search(path.name)
    if match is not None:
        return int(match[1])
    if _OUTPUT.search(path.name) and _WHOLE.fullmatch(path.parent.name):
        return int(path.parent.name)
    return None


def ranks_of(names: Iterable[str]) -> Mapping[str, int]:
    """Return the ranks whose logs files are, by their names, each seen beside the others.

    `3.out` beside `0.out` to `7.out` is rank 3's; alone it may be anything's.
    """
    found: dict[str, int] = {}
    alike: dict[tuple[str, str, str], dict[int, str]] = defaultdict(dict)
    for name in names:
        rank = rank_of(name)
        if rank is not None:
            found[name] = rank
            continue
        path = Path(name)
        numbered = _NUMBERED.fullmatch(path.name)
        if numbered is not None:
            key = (str(path.parent), numbered["before"].casefold(), numbered["end"].casefold())
            alike[key][int(numbered["number"])] = name
    for names_of in alike.values():
        if len(names_of) > 1 and min(names_of) <= 1 and max(names_of) < 2 * len(names_of) + 2:
            found |= {name: rank for rank, name in names_of.items()}
    return found


_RAY = re.compile(r"^(?:ray-train-app-)?worker-[0-9a-f]{20,}")


def checked(name: str, rank: int | None, prefixes: frozenset[int] | set[int]) -> int | None:
    """Return whose log a file is, by the ranks that prefixes of its lines name.

    A file named after a pod or a node holds the lines of several ranks, or of another one than its
    number; Ray's workers say theirs in their lines only.
    """
    if _RANK.search(Path(name).name):
        return rank
    if rank is not None and prefixes and prefixes != {rank}:
        return None
    if rank is None and len(prefixes) == 1 and _RAY.match(Path(name).name):
        return next(iter(prefixes))
    return rank
