"""The first ranking of causes: a leaf switch fails under a job, and everything stands out at once.

Seconds of CPU for one explanation of every finding, and the same as a multiple of what it takes to
put the findings into their index, which no ranking can do without.
"""

import time
from collections.abc import Callable, Iterator
from typing import Any

from rankscope.alerts.causes.engine import explanations
from rankscope.alerts.causes.index import FindingIndex
from rankscope.vocabulary import findings as kinds
from rankscope.vocabulary.entities import Entity
from rankscope.vocabulary.findings import Finding
from rankscope.vocabulary.ids import Job
from rankscope.vocabulary.topology import JobTopology, NicPort, RankPlacement

START = 1_772_438_400.0
RANKS = (1024, 16_384)
RANKS_A_HOST, HOSTS_A_SWITCH = 8, 32
ROUNDS = 3
EVERYTHING = frozenset(s for kind in kinds.catalogue().values() for s in kind.signals)


def measure(_seconds: float) -> dict[str, Any]:
    """Return what was measured; it takes as long as it takes."""
    return {f"ranks_{ranks}": _measured(ranks) for ranks in RANKS}


def laid_out(ranks: int) -> JobTopology:
    """Return a job of so many ranks, hosts of eight devices and ports, 32 hosts a leaf switch."""
    hosts = [f"gpu-{number:05d}" for number in range(ranks // RANKS_A_HOST)]
    return JobTopology(
        Job("train"),
        placements=[
            RankPlacement(
                rank,
                hosts[rank // RANKS_A_HOST],
                local_rank=rank % RANKS_A_HOST,
                pid=1000 + rank,
                hw_id=f"GPU-{rank:06d}",
            )
            for rank in range(ranks)
        ],
        switches={host: f"leaf-{n // HOSTS_A_SWITCH:03d}" for n, host in enumerate(hosts)},
        nics=[
            NicPort(host, f"mlx5_{port}", "1", gpu=f"GPU-{n * RANKS_A_HOST + port:06d}")
            for n, host in enumerate(hosts)
            for port in range(RANKS_A_HOST)
        ],
    )


def storm(topology: JobTopology) -> Iterator[Finding]:
    """Yield what is found when leaf-001 fails: its ports, its hosts, and ranks that wait."""
    yield _finding("switch.trouble", topology.switch_entity("leaf-001"))
    yield _finding("job.stalled", topology.job_entity)
    yield _finding("job.slow", topology.job_entity)
    behind = {host for host, switch in topology.switches.items() if switch == "leaf-001"}
    for nic in topology.nics:
        if nic.host in behind:
            yield _finding("nic.down", topology.nic_entity(nic))
            yield _finding("nic.errors", topology.nic_entity(nic))
    for host in sorted(behind):
        yield _finding("host.silent", topology.host_entity(host))
    for rank in topology.ranks:
        kind = "rank.behind_enqueued" if topology.host(rank) in behind else "rank.waits_least"
        yield _finding(kind, topology.rank_entity(rank))


def _finding(kind: str, entity: Entity) -> Finding:
    at = START + 100.0
    return Finding(
        kind=kind, job=Job("train"), attempt=0, entity=entity, onset=(at, at), magnitude=2.0,
        score=3.0, detector="bench", signal=kinds.catalogue()[kind].signals[0],
        window=(at, at + 10.0), observed=2.0, expected=1.0, text=f"{kind} on {entity}",
    )  # fmt: skip


def _measured(ranks: int) -> dict[str, Any]:
    topology = laid_out(ranks)
    found = list(storm(topology))
    indexed = _least(lambda: FindingIndex(found, topology))
    rows = explanations(found, topology, observed=EVERYTHING)
    ranked = _least(lambda: explanations(found, topology, observed=EVERYTHING))
    first = rows[0].cause.hypotheses[0]
    return {
        "findings": len(found),
        "roots": len(rows),
        "first_cause": f"{first.fault} {first.entity.id}",
        "first_ranking_cpu_seconds": round(ranked, 4),
        "index_cpu_seconds": round(indexed, 4),
        "times_the_index": round(ranked / indexed, 1),
    }


def _least(work: Callable[[], object]) -> float:
    """Return the least CPU time of some rounds: the others were disturbed."""
    times: list[float] = []
    for _ in range(ROUNDS):
        begun = time.process_time()
        work()
        times.append(time.process_time() - begun)
    return min(times)
