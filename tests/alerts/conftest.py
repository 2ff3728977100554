"""Findings, topologies and job health by hand: a job of four ranks on two hosts."""

from collections.abc import Callable, Sequence

import pytest

from rankscope.alerts.lifecycle import JobHealth
from rankscope.vocabulary import findings as kinds
from rankscope.vocabulary.entities import Entity
from rankscope.vocabulary.findings import Finding
from rankscope.vocabulary.ids import Job
from rankscope.vocabulary.ranks import Ranks
from rankscope.vocabulary.topology import Placement, Topology

START = 1_700_000_000.0


def laid_out(name: str = "run-1", hosts: Sequence[str] = ("host-a", "host-b")) -> Topology:
    """Return a job with two ranks on each of its hosts, one device a rank."""
    return Topology(
        Job(name),
        placements=[
            Placement(rank, host, local_rank=rank % 2, pid=1000 + rank, hw_id=f"GPU-{rank}")
            for number, host in enumerate(hosts)
            for rank in (2 * number, 2 * number + 1)
        ],
    )


@pytest.fixture
def topology() -> Topology:
    return laid_out()


@pytest.fixture
def lay_out() -> Callable[..., Topology]:
    """Return a function that lays out a job of another name or on other hosts."""
    return laid_out


@pytest.fixture
def found() -> Callable[..., Finding]:
    """Return a function that makes a finding; times are seconds after START."""

    def make(
        kind: str,
        entity: Entity,
        onset: float = 40.0,
        *,
        until: float | None = None,
        score: float = 3.0,
        magnitude: float = 1.3,
        text: str = "",
        job: str = "run-1",
        attempt: int = 0,
        ranks: Sequence[int] = (),
    ) -> Finding:
        begun = START + onset
        return Finding(
            kind=kind,
            job=Job(job),
            attempt=attempt,
            entity=entity,
            onset=(begun, begun if until is None else START + until),
            magnitude=magnitude,
            score=score,
            detector="by-hand",
            signal=kinds.catalogue()[kind].signals[0],
            window=(begun, begun + 20.0),
            observed=magnitude,
            expected=1.0,
            text=text or f"{kind} on {entity}",
            ranks=Ranks(ranks),
        )

    return make


@pytest.fixture
def health() -> Callable[..., JobHealth]:
    """Return a function that says how a job does: it steps until a second after START."""

    def make(stepped: float = 40.0, *, attempt: int = 0, silent: float = 0.0) -> JobHealth:
        return JobHealth(
            ranks=4,
            nodes=2,
            cluster="c1",
            attempt=attempt,
            last_step_at=START + stepped,
            silent_seconds=silent,
        )

    return make
