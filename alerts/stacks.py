"""Stacks of a job that stands still, folded over its ranks, with the odd ones out.

A thousand ranks that wait in one collective are one stack; the rank that stands elsewhere is what
to look at. Lines differ where a loop polls, so stacks are compared without their line numbers.
"""

import re
from collections.abc import Mapping

from ..vocabulary.inspection import StackGroup
from ..vocabulary.ranks import RankSet

MOST_GROUPS = 6
"""Different stacks of one incident's document: the largest first, and then all others that fit."""
_DEEPEST = 24
"""Innermost calls of a stack that are kept."""
_LONGEST_CALL = 160
_LINE = re.compile(r":\d+(?=\)|$)")


def folded(texts: Mapping[int, str]) -> tuple[StackGroup, ...]:
    """Return the groups of ranks with one stack, the largest first; `texts` are by rank.

    Odd are those that are not the largest, where that is most of the ranks.
    """
    members: dict[str, list[int]] = {}
    for rank in sorted(texts):
        members.setdefault(_LINE.sub("", _kept(texts[rank])), []).append(rank)
    groups = sorted(members.values(), key=lambda ranks: (-len(ranks), ranks[0]))
    clear = bool(groups) and 2 * len(groups[0]) > len(texts)
    return tuple(
        StackGroup(ranks=RankSet(ranks), odd=clear and place > 0, text=_kept(texts[ranks[0]]))
        for place, ranks in enumerate(groups[:MOST_GROUPS])
    )


def same(before: tuple[StackGroup, ...], after: tuple[StackGroup, ...]) -> bool:
    """Return whether two foldings say the same of the same ranks, whatever the lines."""
    return _without_lines(before) == _without_lines(after)


def odd_text(groups: tuple[StackGroup, ...]) -> str | None:
    """Return in one line where the odd ranks stand, None where none is odd."""
    odd = [group for group in groups if group.odd]
    if not odd:
        return None
    first = odd[0]
    ranks = ", ".join(map(str, first.ranks.document()[:8]))
    name = f"rank {ranks} stands" if len(first.ranks) == 1 else f"ranks {ranks} stand"
    others = f"{len(groups[0].ranks)} others in {_innermost(groups[0].text)}"
    return f"{name} in {_innermost(first.text)}, {others}"


def _without_lines(groups: tuple[StackGroup, ...]) -> list[tuple[RankSet, str, bool]]:
    return [(group.ranks, _LINE.sub("", group.text), group.odd) for group in groups]


def _kept(text: str) -> str:
    """Return the innermost calls of a stack, the outermost first."""
    lines = [line.strip()[:_LONGEST_CALL] for line in text.splitlines() if line.strip()]
    if lines and "most recent call first" in lines[0].lower():
        lines = lines[:0:-1]
    return "\n".join(lines[-_DEEPEST:])


def _innermost(text: str) -> str:
    return text.rpartition("\n")[2]
