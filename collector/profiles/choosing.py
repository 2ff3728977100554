"""Whom to profile: the rank that an incident names as slow, and a healthy rank to compare with."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from ...vocabulary import findings as kinds
from ...vocabulary.faults import UNKNOWN
from ...vocabulary.ranks import RankSet
from ..windows.queries import RankSummary

_MOST_SUSPECTS = 8
"""A cause on more ranks than these is no slow rank: what it does stands in no single profile."""


def suspects(document: Mapping[str, Any]) -> list[int]:
    """Return the ranks of a slow first cause, those that stand out in a symptom first.

    Empty where an incident is over, of level info, unknown, or not about slowness.
    """
    causes = document["root_cause"]["hypotheses"]
    if document["status"] == "resolved" or document["severity"] == "info" or not causes:
        return []
    catalogue = kinds.catalogue()
    slow = any(
        row["kind"] in catalogue and catalogue[row["kind"]].effect == "slows"
        for row in document["symptoms"]
    )
    if not slow or causes[0]["fault"] == UNKNOWN:
        return []
    entity = causes[0]["entity"]
    ranks = _numbers(entity["ranks"])
    if entity["type"] == "rank" and entity["id"].isdecimal():
        ranks = {int(entity["id"])}
    if not 0 < len(ranks) <= _MOST_SUSPECTS:
        return []
    standing_out = {rank for row in document["symptoms"] for rank in _numbers(row["ranks"])}
    return sorted(ranks, key=lambda rank: (rank not in standing_out, rank))


def peer(
    rows: Sequence[RankSummary], suspect: int, avoid: Collection[int], asks: Callable[[str], bool]
) -> int | None:
    """Return a rank to compare a suspect with, None where there is none.

    On another host, since what slows a host slows all its ranks; with the same place on it; close
    by, since neighbours do the same work. Only of hosts whose agent takes part, where there are.
    """
    hosts = {row.rank: row.host for row in rows}
    mine = next((row for row in rows if row.rank == suspect), None)
    others = [row for row in rows if row.rank != suspect and row.rank not in avoid]
    if mine is None or not others:
        return None

    def order(row: RankSummary) -> tuple[bool, bool, bool, int, int]:
        return (
            row.host is None or not asks(row.host),
            hosts[suspect] == row.host,
            row.local_rank != mine.local_rank,
            abs(row.rank - suspect),
            row.rank,
        )

    return min(others, key=order).rank


def _numbers(ranks: Sequence[int | str]) -> set[int]:
    """Return the ranks of a document, which writes many as ranges."""
    return set(RankSet.parse(",".join(map(str, ranks)))) if ranks else set()
