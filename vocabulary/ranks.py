"""Sets of ranks as runs: a hundred thousand of them in a few numbers, written "0-1016:8".

The wire writes them so (`collective.group.info`), and so does the incident document where a list
of numbers would bury the reader.
"""

import operator
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import total_ordering
from itertools import chain, pairwise

MOST = 1 << 20
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
        if isinstance(ranks, RankSet):
            self._hold(ranks.runs)
        elif isinstance(ranks, range):
            self._hold(_of_range(ranks))
        else:
            self._hold(_compressed(sorted(set(ranks))))

    def _hold(self, runs: tuple[_Run, ...]) -> None:
        self._runs: tuple[_Run, ...] = runs
        self._size = sum((last - first) // stride + 1 for first, last, stride in runs)
        self._members: frozenset[int] | None = None

    @classmethod
    def _of_runs(cls, runs: tuple[_Run, ...]) -> "RankSet":
        made = cls()
        made._hold(runs)
        return made

    @classmethod
    def parse(cls, text: str, *, most: int = MOST) -> "RankSet":
        """Return the set written as "0,1,2" or "0-1016:8", of `most` ranks. Raises ValueError."""
        parts: list[range] = []
        size = 0
        for part in text.split(","):
            match = _RUN.fullmatch(part)
            if match is None:
                raise ValueError(f"{part!r} is neither a rank nor a range such as 0-1016:8")
            first = int(match[1])
            last, stride = int(match[2] or first), int(match[3] or 1)
            if last < first or stride < 1:
                raise ValueError(f"{part!r} runs backwards or has no stride")
            parts.append(range(first, last + 1, stride))
            size += len(parts[-1])
            if size > most:
                raise ValueError(f"more than {most} ranks")
        parts.sort(key=operator.itemgetter(0))
        if any(one[-1] >= other[0] for one, other in pairwise(parts)):
            return cls(chain.from_iterable(parts))
        return cls._of_runs(_joined(parts))  # ranges stay ranges: nobody counts them out

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


def _joined(parts: Sequence[range]) -> tuple[_Run, ...]:
    """Return the runs of ascending ranges that do not overlap, as `_compressed` of all in them."""
    runs: list[_Run] = []
    place, block = 0, parts[0]
    while block:
        first = block[0]
        rest, beside = _after(parts, block, place, 1)
        end, count, ahead, there = first, 1, rest, beside
        stride = ahead[0] - first if ahead else 1
        while ahead and ahead[0] - end == stride:
            taken = len(ahead) if ahead.step == stride else 1
            end, count = ahead[taken - 1], count + taken
            ahead, there = _after(parts, ahead, there, taken)
        if count >= 3 or (count == 2 and stride == 1):
            runs.append((first, end, stride))
            block, place = ahead, there
        else:
            runs.append((first, first, 1))
            block, place = rest, beside
    return tuple(runs)


def _after(parts: Sequence[range], block: range, place: int, taken: int) -> tuple[range, int]:
    """Return what follows so many members of the range at a place, and its place; empty at last."""
    if taken < len(block):
        return block[taken:], place
    return (parts[place + 1], place + 1) if place + 1 < len(parts) else (range(0), place)


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
