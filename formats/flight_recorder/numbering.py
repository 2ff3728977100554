"""Which number each collective of a group has on every member, where a recorder counts otherwise.

torch over gloo counts every operation in `pg_status`, sends and the messages inside a monitored
barrier too, though these have no entry: members differ that are equally far. TorchComms keeps no
status and has one count over all communicators of a process. (PyTorch 2.13, torchcomms 0.3.)
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

_GLOO = "gloo:"
P2P = frozenset({"send", "recv", "batch_op_issue"})
"""Kinds of operations that not every member of a group takes part in."""


def counts_operations(rows: Iterable[Mapping[str, Any]]) -> bool:
    """Tell whether the status of a recorder with such entries counts operations."""
    return any(str(row.get("profiling_name", "")).startswith(_GLOO) for row in rows)


def of_operation(entries: Sequence[tuple[int, int]], number: int) -> int | None:
    """Return the last collective up to an operation, of a group's (operation, collective) numbers.

    None where no entry tells it; -1 and 0, before the first, stay what they are.
    """
    if number <= 0:
        return number
    before = [collective for operation, collective in entries if operation <= number]
    if before:
        return max(before)
    return min((collective for _, collective in entries), default=0) - 1 if entries else None


def one_counter(numbers: Sequence[tuple[str, int]]) -> bool:
    """Tell whether (group, number) of all entries come from one count over all groups."""
    counted = Counter(number for _, number in numbers)
    return bool(numbers) and max(counted.values()) == 1 and len({name for name, _ in numbers}) > 1


def ordinals(groups: Sequence[str | None]) -> list[int]:
    """Return by entry, of which each names its group, its place among those of its group, from 1.

    Entries of None, such as sends, have none and get 0.
    """
    counted: dict[str, int] = defaultdict(int)
    found: list[int] = []
    for name in groups:
        if name is None:
            found.append(0)
            continue
        counted[name] += 1
        found.append(counted[name])
    return found


def shift(own: Sequence[tuple[int, float]], others: Sequence[tuple[int, float]]) -> int | None:
    """Return what to add to a member's places so that they are those of another member.

    Both are (place, time at which it completed), in order, of recorders that lost older entries. A
    collective completes on all members at about the same time. None where no two belong together.
    """
    if not own or not others:
        return None
    gaps = sorted(later[1] - one[1] for one, later in pairwise(others))
    near = gaps[len(gaps) // 2] / 2 if gaps else 1.0
    found: Counter[int] = Counter()
    for place, at in own[-_COMPARED:]:
        other = min(others, key=_distance(at))
        if abs(other[1] - at) <= near:
            found[other[0] - place] += 1
    return found.most_common(1)[0][0] if found else None


_COMPARED = 16
"""Entries that show how two members' places lie: the newest."""


def _distance(at: float) -> Callable[[tuple[int, float]], float]:
    return lambda one: abs(one[1] - at)
