"""What detector tests are drawn with: steady work, events, readings, and real data where it is."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest
from tests.detectors import drawn
from tests.detectors.troubled import read_only

from rankscope.detectors.baselines import JobBaselines
from rankscope.detectors.sketch import START, readings, sketch
from rankscope.detectors.window import Floats, JobWindow, PeriodicReadings, ProcessReadings
from rankscope.vocabulary.findings import Finding
from rankscope.vocabulary.ids import Job
from rankscope.vocabulary.ranks import RankSet
from rankscope.vocabulary.samples import Event
from rankscope.vocabulary.topology import CommunicationGroup, JobTopology, RankPlacement


@pytest.fixture
def steady() -> Callable[..., Floats]:
    return drawn.steady


@pytest.fixture
def event() -> Callable[..., Event]:
    return drawn.event


@pytest.fixture
def levels() -> Callable[..., PeriodicReadings]:
    return drawn.levels


@pytest.fixture(scope="session")
def diverging() -> list[JobWindow]:
    """Return one job of eight ranks for each trouble that its losses and gradients may show.

    Nobody can write into them.
    """
    rng = np.random.default_rng(13)
    own = np.full((8, 1000), 2.5)
    noise = rng.normal(0.0, 0.02, own.shape)
    late = np.arange(1000) >= 900
    spike = 2.0 + noise
    spike[:, 995:997] += 1.0
    falling = np.maximum(6.0 - 0.6 * np.log(np.arange(1, 1001)), 2.2)
    norm = np.tile(rng.lognormal(0.0, 0.2, 1000), (8, 1))
    other = np.where(np.arange(8)[:, None] == 5, late * 0.01, 0.0)
    resumed = JobBaselines()
    before = sketch(own[:, :300], planes={"training.loss": 2.0 + noise[:, :300]}, first=500)
    resumed.follow(before.baselines)
    windows = [
        sketch(own, planes={"training.loss": spike}),
        sketch(own, planes={"training.loss": 2.0 + noise + 2.0 * late}),
        sketch(own, planes={"training.loss": falling + noise}),
        sketch(own, planes={"training.grad_norm|global": norm * np.where(late, 50.0, 1.0)}),
        sketch(own, planes={"training.grad_norm|global": norm * np.where(late, 1e-3, 1.0)}),
        sketch(own, planes={"training.loss|global": norm * (1 + other)}),
        sketch(own, planes={"training.loss|local": 2.0 + noise + 20 * other}),
        sketch(
            own[:, :40], planes={"training.loss": 5.0 + noise[:, :40]}, first=700,
            gaps={0: 5000.0}, held_baselines=resumed,
        ),
    ]  # fmt: skip
    return [read_only(window) for window in windows]


@pytest.fixture
def named() -> Callable[[Sequence[Finding], str], list[str]]:
    """Return a function that reports the entities of the findings of one kind."""
    return lambda findings, kind: [f.entity.id for f in findings if f.kind == kind]


@pytest.fixture(scope="session")
def long_jobs() -> dict[str, JobWindow]:
    """Return jobs of several minutes: leaking, uneven, and doing nothing.

    Nobody can write into them.
    """
    jobs = {"leaking": _leaking(), "uneven": _uneven(), "idle": _idle()}
    return {name: read_only(window) for name, window in jobs.items()}


GIB = 2.0**30


def _leaking() -> JobWindow:
    """Return eight ranks on four hosts whose memories grow, one kind a rank or host."""
    count = 500
    own = np.random.default_rng(3).normal(0.8, 0.004, (8, count))
    own[0, 5::10] += 2.0
    bare = sketch(own, hosts=4)
    at = np.arange(START, bare.now + 1, 5)
    grown = np.maximum(at - START - 200, 0) / 60 * GIB
    steps = np.maximum(np.arange(count) - 200, 0) / 60 * 0.8 * GIB
    allocated = np.full(own.shape, 40 * GIB)
    allocated[3] += steps
    allocated[6] += 15 * GIB
    reserved, retries = allocated + 4 * GIB, np.zeros(own.shape)
    reserved[1], retries[1] = 76 * GIB, np.arange(count) // 20
    private = np.full((8, len(at)), 8 * GIB)
    private[2] += grown
    shm, memory = np.full((4, len(at)), 2 * GIB), np.full((4, len(at)), 200 * GIB)
    shm[1], memory[1] = shm[1] + grown * 3, memory[1] + 2 * grown
    rows = np.array([2, 3, 4])
    workers = readings(at, np.stack([GIB + 0.5 * grown, GIB + 0.4 * grown, 0 * at + GIB]))
    shared = readings(at, np.stack([0 * at + GIB, 20 * GIB - 0.4 * grown, 0 * at + GIB]))
    contexts = readings(at, np.array([[np.nan], [np.nan], [3 * GIB]]))
    power, activity = np.full((8, len(at)), 600.0), np.full((8, len(at)), 0.8)
    power[7], activity[7] = 400.0, 0.3
    return sketch(
        own,
        hosts=4,
        planes={
            "training.memory.allocated": allocated,
            "training.memory.reserved": reserved,
            "training.memory.retries": retries,
        },
        rank_readings={
            "hw.gpu.memory.limit": readings(at, np.full((8, 1), 80 * GIB)),
            "process.memory.private": readings(at, private),
            "hw.power": readings(at, power),
            "hw.gpu.memory.activity": readings(at, activity),
        },
        host_readings={
            "system.memory.usage": readings(at, memory),
            "system.memory.limit": readings(at, np.full((4, 1), 256 * GIB)),
            "system.shm.usage": readings(at, shm),
            "system.shm.limit": readings(at, np.full((4, 1), 64 * GIB)),
        },
        processes=ProcessReadings(
            rows // 2,
            np.array([501, 502, 1001]),
            np.array([4, 6, 1]),
            (None, None, "GPU-5"),
            {
                "process.memory.private|dataloader": workers,
                "process.memory.shared|dataloader": shared,
                "hw.gpu.process.memory": contexts,
            },
        ),
    )


def _uneven() -> JobWindow:
    """Return eight ranks whose stages, experts and tokens are uneven, hardly used for an hour."""
    random = np.random.default_rng(5)
    tokens = random.normal(4000, 60, (8, 1200))
    tokens[random.integers(0, 8, 1200), np.arange(1200)] *= 1.5
    own = tokens / 2000 * random.normal(1, 0.002, tokens.shape)
    own[4:] *= 1.4
    own[[1, 5]] *= 1.3
    groups = [CommunicationGroup(f"ep:{n}", "ep", RankSet(range(4 * n, 4 * n + 4))) for n in (0, 1)]
    where = [
        RankPlacement(rank, f"host-{rank // 2}", pid=1000 + rank, hw_id=f"GPU-{rank}", pp=rank // 4)
        for rank in range(8)
    ]
    window = sketch(
        own,
        hosts=4,
        planes={"training.tokens": tokens},
        role_of=np.arange(8) // 4,
        placed=JobTopology(Job("example"), world_size=8, placements=where, groups=groups),
    )
    at = np.arange(START, window.now + 1, 30)
    used = {"hw.gpu.sm.activity": readings(at, np.full((8, 1), 0.1))}
    return replace(window, rank_readings=used)


def _idle() -> JobWindow:
    """Return eight ranks that never reach a step in forty minutes."""
    at = np.arange(START, START + 2401, 15)
    used = {"hw.gpu.utilization": readings(at, np.zeros((8, 1)))}
    return sketch(np.zeros((8, 0)), hosts=4, now=START + 2400, rank_readings=used)
