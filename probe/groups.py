"""Communication groups: one name that every member arrives at by itself, and who is in them."""

import hashlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..vocabulary.samples import Sample, Scalar, attributes

_INFO_PERIOD_SECONDS = 600.0

_KINDS = (
    ("EXPERT", "ep"),
    ("TENSOR", "tp"),
    ("PIPELINE", "pp"),
    ("DATA_PARALLEL", "dp"),
    ("MESH_EP", "ep"),
    ("MESH_TP", "tp"),
    ("MESH_PP", "pp"),
    ("MESH_DP", "dp"),
    ("DEFAULT_PG", "world"),
)
"""What a description holds, in upper case, and the kind it stands for; the first match wins.

Megatron writes TENSOR_MODEL_PARALLEL_GROUP and the like, torch's DeviceMesh mesh_<dimension>, and
torch itself default_pg. An expert group inside a data-parallel one is named after the experts.
"""


@dataclass(frozen=True, slots=True)
class Group:
    """One group: its description and the global ranks in it, ascending."""

    desc: str
    ranks: tuple[int, ...]

    @property
    def kind(self) -> str:
        """Return dp, tp, pp, ep, world or other."""
        labels = self.desc.upper()
        return next((kind for mark, kind in _KINDS if mark in labels), "other")

    @property
    def name(self) -> str:
        """Return `<kind>:<hash of ranks and description>`, the same on every member.

        torch's own group names are numbers local to a process, so they cannot serve.
        """
        text = f"{spell_ranks(self.ranks)}|{self.desc}"
        digest = hashlib.blake2s(text.encode(), digest_size=4).hexdigest()
        return f"{self.kind}:{digest}"


def world(size: int) -> Group:
    """Return the group of all ranks, as torch describes it."""
    return Group("default_pg", tuple(range(size)))


def spell_ranks(ranks: Sequence[int]) -> str:
    """Return ranks as text, runs of three or more as `first-last` or `first-last:stride`.

    >>> spell_ranks((0, 1, 2, 3))
    '0-3'
    >>> spell_ranks((0, 8, 16, 24, 25))
    '0-24:8,25'
    """
    parts: list[str] = []
    start = 0
    while start < len(ranks):
        end = start + 1
        if end < len(ranks):
            stride = ranks[end] - ranks[start]
            while end + 1 < len(ranks) and ranks[end + 1] - ranks[end] == stride:
                end += 1
            if end - start >= 2:
                step = "" if stride == 1 else f":{stride}"
                parts.append(f"{ranks[start]}-{ranks[end]}{step}")
                start = end + 1
                continue
        parts.append(str(ranks[start]))
        start += 1
    return ",".join(parts)


class Infos:
    """Describes, once and every ten minutes again, the groups of which this rank is lowest."""

    def __init__(self) -> None:
        self._due = -math.inf
        self._sent: set[str] = set()

    def due(self, known: Iterable[Group], at: float, rank: int) -> list[Sample]:
        """Return `collective.group.info` for each group not sent in the last ten minutes."""
        if not 0 <= self._due - at <= _INFO_PERIOD_SECONDS:
            self._sent.clear()
            self._due = at + _INFO_PERIOD_SECONDS
        found: list[Sample] = []
        for group in tuple(known):
            if group.name in self._sent or not group.ranks or group.ranks[0] != rank:
                continue
            self._sent.add(group.name)
            labels: dict[str, Scalar] = {
                "group": group.name,
                "kind": group.kind,
                "desc": group.desc,
                "size": len(group.ranks),
                "ranks": spell_ranks(group.ranks),
            }
            found.append(Sample("collective.group.info", 1.0, at, attributes(labels)))
        return found
