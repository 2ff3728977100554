"""Findings, topologies and job health by hand: a job of four ranks on two hosts."""

from collections.abc import Callable, Sequence
from functools import partial

import pytest
from tests.alerts.explaining import ALL_AT_ONCE, EVERYTHING

from rankscope.alerts.causes.engine import explanations
from rankscope.alerts.causes.scoring import UNPROVEN
from rankscope.alerts.counterfactuals import StepMeter, unmeasured
from rankscope.alerts.lifecycle import IncidentChange, JobHealth
from rankscope.alerts.repairs import Seen, unread
from rankscope.alerts.tracker import IncidentTracker
from rankscope.vocabulary import findings as kinds
from rankscope.vocabulary.entities import Entity
from rankscope.vocabulary.findings import Finding
from rankscope.vocabulary.ids import Job
from rankscope.vocabulary.incidents import RootCause
from rankscope.vocabulary.ranks import RankSet
from rankscope.vocabulary.topology import JobTopology, RankPlacement

START = 1_700_000_000.0


def laid_out(
    name: str = "run-1", hosts: Sequence[str] = ("host-a", "host-b"), each: int = 2
) -> JobTopology:
    """Return a job with `each` ranks on each of its hosts, one device a rank."""
    return JobTopology(
        Job(name),
        placements=[
            RankPlacement(
                rank,
                hosts[rank // each],
                local_rank=rank % each,
                pid=1000 + rank,
                hw_id=f"GPU-{rank}",
            )
            for rank in range(each * len(hosts))
        ],
    )


@pytest.fixture
def topology() -> JobTopology:
    return laid_out()


@pytest.fixture
def lay_out() -> Callable[..., JobTopology]:
    """Return a function that lays out a job of another name or on other hosts."""
    return laid_out


@pytest.fixture
def entity_of(topology: JobTopology) -> Callable[[str, int], Entity]:
    """Return a function that returns an entity that a kind of finding is about, by a number."""

    def entity(kind: str, number: int) -> Entity:
        host = topology.hosts[number % 2]
        device = topology.gpu_entity(number)
        assert device is not None
        ranks = topology.job_entity.ranks
        return {
            "job": topology.job_entity,
            "host": topology.host_entity(host),
            "rank": topology.rank_entity(number),
            "gpu": device,
            "nic": Entity("nic", f"{host}/mlx5_0:1", host, topology.ranks_of_host(host)),
            "switch": Entity("switch", "leaf-1", None, ranks),
            "storage": Entity("storage", "/data", None, ranks),
            "process": Entity("process", f"{host}:{1000 + number}", host, RankSet((number,))),
            "group": Entity("group", "dp:1", None, ranks),
            "code": Entity("code", topology.job, None, ranks),
        }[kinds.catalogue()[kind].entities[0]]

    return entity


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
            ranks=RankSet(ranks),
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


@pytest.fixture
def tracker() -> IncidentTracker:
    """Return a tracker for which all that is found is an incident (else: test_observations.py)."""
    return IncidentTracker(ALL_AT_ONCE)


@pytest.fixture
def evaluated(
    tracker: IncidentTracker, topology: JobTopology, health: Callable[..., JobHealth]
) -> Callable[..., list[IncidentChange]]:
    """Return a function that takes what was found about a job at a second after START."""

    def evaluate(
        now: float,
        *findings: Finding,
        layout: JobTopology = topology,
        attempt: int = 0,
        stepped: float | None = None,
        silent: float = 0.0,
        into: IncidentTracker = tracker,
        seen: Seen = unread,
        meter: StepMeter = unmeasured,
    ) -> list[IncidentChange]:
        return into.update(
            layout.job,
            attempt,
            findings,
            partial(explanations, topology=layout, observed=EVERYTHING),
            health(now - 1.0 if stepped is None else stepped, attempt=attempt, silent=silent),
            START + now,
            seen=seen,
            meter=meter,
        )

    return evaluate


@pytest.fixture
def proven() -> Callable[[RootCause], set[str]]:
    """Return a function for the faults of a root cause that have their essential evidence."""

    def faults_of(cause: RootCause) -> set[str]:
        return {
            row.fault
            for row in cause.hypotheses
            if all(term.family != UNPROVEN for term in row.evidence)
        }

    return faults_of


@pytest.fixture
def contended(topology: JobTopology, found: Callable[..., Finding]) -> Callable[..., list[Finding]]:
    """Return a function for what is found when one host's ranks do not get their CPU time."""

    def make(
        onset: float = 40.0, *, host: str = "host-b", layout: JobTopology = topology, **more: float
    ) -> list[Finding]:
        job = layout.job
        return [
            found("job.slow", layout.job_entity, onset, job=job, **more),
            *(
                found("rank.slow_compute", layout.rank_entity(rank), onset, job=job)
                for rank in layout.ranks_of_host(host)
            ),
            found("host.cpu_wait", layout.host_entity(host), onset, job=job),
        ]

    return make


@pytest.fixture
def stuck(topology: JobTopology, found: Callable[..., Finding]) -> Callable[..., list[Finding]]:
    """Return a function for what is found of a rank that stopped, as sure as its detector is."""

    def make(onset: float = 40.0, *, score: float = 3.0, rank: int = 2) -> list[Finding]:
        return [
            found("job.stalled", topology.job_entity, onset, score=score),
            found("rank.behind_enqueued", topology.rank_entity(rank), onset),
            found("rank.outside_collective", topology.rank_entity(rank), onset),
        ]

    return make
