"""Whom to profile when an incident names a slow rank, and whom to compare it with."""

from typing import Any

import pytest

from rankscope.collector.profiles.choosing import peer, suspects
from rankscope.collector.windows.queries import RankSummary


def incident(**more: Any) -> dict[str, Any]:
    entity = {"type": "gpu", "id": "GPU-1", "host": "h", "ranks": [5]}
    document = {
        "status": "open",
        "severity": "warning",
        "symptoms": [{"kind": "job.slow", "ranks": [5]}],
        "root_cause": {"hypotheses": [{"fault": "gpu.slow", "entity": entity}]},
    }
    return document | more


def cause(fault: str = "gpu.slow", **entity: Any) -> dict[str, Any]:
    where = {"type": "gpu", "id": "GPU-1", "host": "h", "ranks": [5]} | entity
    return {"hypotheses": [{"fault": fault, "entity": where}]}


def test_a_slow_rank_is_suspected_and_one_that_stands_out_comes_first():
    assert [5] == suspects(incident())
    where = cause("host.cpu_contention", type="host", id="h", ranks=[4, 5])
    assert [5, 4] == suspects(incident(root_cause=where))
    assert [7] == suspects(incident(root_cause=cause(type="rank", id="7", ranks=[7])))


@pytest.mark.parametrize(
    "more",
    [
        {"severity": "info"},
        {"status": "resolved"},
        {"root_cause": {"hypotheses": []}},
        {"root_cause": cause("unknown")},
        {"root_cause": cause(ranks=["0-63"])},
        {"root_cause": cause(ranks=[])},
        {"symptoms": [{"kind": "job.stalled", "ranks": [5]}]},
    ],
)
def test_nobody_is_suspected_where_no_single_rank_is_slow(more):
    assert [] == suspects(incident(**more))


def rank(number: int, host: str | None, local: int = 0) -> RankSummary:
    return RankSummary(number, local, host, 1, None, None, None, 0)


def test_the_peer_is_on_another_host_whose_agent_takes_part_and_has_the_same_place_there():
    rows = [rank(n, f"h{n // 2}", n % 2) for n in range(8)]
    assert 5 == peer(rows, 3, [3], lambda host: host in ("h1", "h2"))
    assert 1 == peer(rows, 3, [3, 5], lambda _: True)
    assert 2 == peer(rows[2:4], 3, [3], lambda _: True)
    assert peer(rows, 3, range(8), lambda _: True) is None
    assert peer(rows, 9, [], lambda _: True) is None
