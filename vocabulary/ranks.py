"""Sets of ranks as runs: a hundred thousand of them in a few numbers, written "0-1016:8".

The wire writes them so (`collective.group.info`), and so does the incident document where a list
of numbers would bury the reader.
"""

import re
from collections.abc import Iterable, Iterator
from functools import total_ordering

MOST = 10_000_000
"""Ranks that a written set may name; more is a sender's mistake and would fill the memory."""

LISTED = 16
"""A document lists so many ranks one by one; larger sets are written as runs."""

_RUN = re.compile(r"\s*(\d{1,15})(?:-(\d{1,15})(?::(\d{1,15}))?)?\s*")

_Run = tuple[int, int, int]
"""First, last and stride; a single rank is (rank, rank, 1)."""


@total_ordering
class RankSet:
    """An immutable, sorted set of global ranks. Equal sets are equal, whatever they came from."""

    __slots__ = ("_members", "_runs", "_size")

    def __init__(self, ranks: Iterable[int] = ()) -> None:
        runs: tuple[_Run, ...]
        if isinstance(ranks, RankSet):
            runs = ranks.runs
        elif isinstance(ranks, range):
            runs = _of_range(ranks)
        else:
            runs = _compressed(sorted(set(ranks)))
        self._runs: tuple[_Run, ...] = runs
        self._size = sum((last - first) // stride + 1 for first, last, stride in runs)
        self._members: frozenset[int] | None = None

    @classmethod
    def parse(cls, text: str) -> "RankSet":
        """Return the set written as "0,1,2" or "0-1016:8". Raises ValueError."""
        ranks: set[int] = set()
        for part in text.split(","):
            match = _RUN.fullmatch(part)
            if match is None:
                raise ValueError(f"{part!r} is neither a rank nor a range such as 0-1016:8")
            first = int(match[1])
            last, stride = int(match[2] or first), int(match[3] or 1)
            if last < first or stride < 1:
                raise ValueError(f"{part!r} runs backwards or has no stride")
            if (last - first) // stride + 1 + len(ranks) > MOST:
                raise ValueError(f"more than {MOST} ranks")
            ranks.update(range(first, last + 1, stride))
        return cls(ranks)

    @property
    def runs(self) -> tuple[_Run, ...]:
        """Return (first, last, stride) of each run, ascending by first."""
        return self._runs

    @property
    def members(self) -> frozenset[int]:
        """Return the ranks as a set; made when first asked for."""
        if self._members is None:
            self._members = frozenset(self)
        return self._members

    def document(self) -> list[int | str]:
        """Return what a document shows: numbers, and runs as text where there are many ranks."""
        if self._size <= LISTED:
            return list(self)
        return [first if first == last else _written((first, last, stride))
                for first, last, stride in self._runs]  # fmt: skip

    def __iter__(self) -> Iterator[int]:
        if len(self._runs) == 1:
            first, last, stride = self._runs[0]
            return iter(range(first, last + 1, stride))
        return iter(sorted(r for run in self._runs for r in range(run[0], run[1] + 1, run[2])))

    def __len__(self) -> int:
        return self._size

    def __contains__(self, rank: object) -> bool:
        if not isinstance(rank, int):
            return False
        if self._members is not None:
            return rank in self._members
        for first, last, stride in self._runs:
            if first <= rank <= last and (rank - first) % stride == 0:
                return True
        return False

    def __getitem__(self, index: int) -> int:
        if not -self._size <= index < self._size:
            raise IndexError(index)
        if index == 0:
            return self._runs[0][0]
        return list(self)[index]

    def __and__(self, other: "RankSet") -> "RankSet":
        return RankSet(self.members & other.members)

    def __or__(self, other: "RankSet") -> "RankSet":
        return RankSet(self.members | other.members)

    def __sub__(self, other: "RankSet") -> "RankSet":
        return RankSet(self.members - other.members)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RankSet) and self._runs == other._runs

    def __lt__(self, other: "RankSet") -> bool:
        return self._runs < other._runs

    def __hash__(self) -> int:
        return hash(self._runs)

    def __str__(self) -> str:
        """Return it as the wire writes it."""
        return ",".join(_written(run) for run in self._runs)

    def __repr__(self) -> str:
        return f"Ranks.parse({str(self)!r})" if self._runs else "Ranks()"


def _written(run: _Run) -> str:
    first, last, stride = run
    if first == last:
        return str(first)
    return f"{first}-{last}" + (f":{stride}" if stride > 1 else "")


def _of_range(ranks: range) -> tuple[_Run, ...]:
    if not ranks:
        return ()
    ascending = ranks if ranks.step > 0 else ranks[::-1]
    if len(ascending) < 3:
        return _compressed(list(ascending))
    return ((ascending[0], ascending[-1], ascending.step),)


def _compressed(ranks: list[int]) -> tuple[_Run, ...]:
    """Return ascending ranks as runs: greedily, three in step (two neighbours) make one."""
    runs: list[_Run] = []
    at = 0
    while at < len(ranks):
        end = at + 1
        stride = ranks[end] - ranks[at] if end < len(ranks) else 1
        while end < len(ranks) and ranks[end] - ranks[end - 1] == stride:
            end += 1
        if end - at >= 3 or (end - at == 2 and stride == 1):
            runs.append((ranks[at], ranks[end - 1], stride))
            at = end
        else:
            runs.append((ranks[at], ranks[at], 1))
            at += 1
    return tuple(runs)
