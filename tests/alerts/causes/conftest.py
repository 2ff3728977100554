"""What is found of faults as the demo injects them, in a job of four ranks on two hosts."""

import pytest


@pytest.fixture
def contention(topology, found):
    """Return what is found when one host's ranks do not get their CPU time."""
    ranks = [topology.rank_entity(rank) for rank in (2, 3)]
    return [
        found("job.slow", topology.job_entity, magnitude=1.4),
        *(found("rank.slow_compute", rank) for rank in ranks),
        *(found("rank.waits_least", rank) for rank in ranks),
        found("host.cpu_wait", topology.host_entity("host-b")),
        found("host.cpu_busy", topology.host_entity("host-b"), score=1.5),
    ]


@pytest.fixture
def stuck(topology, found):
    rank = topology.rank_entity(2)
    return [
        found("job.stalled", topology.job_entity, magnitude=30),
        found("rank.behind_enqueued", rank),
        found("rank.outside_collective", rank, score=2.5),
    ]


@pytest.fixture
def nan(topology, found):
    return [
        found("job.nonfinite", topology.job_entity),
        found("rank.first_nonfinite", topology.rank_entity(1)),
    ]


@pytest.fixture
def crash(topology, found):
    return [
        found("job.crashed", topology.job_entity),
        found("rank.first_exit", topology.rank_entity(3)),
        found("rank.root_log", topology.rank_entity(3), score=2.0),
    ]


@pytest.fixture
def slow_loader(topology, found):
    return [
        found("job.slow", topology.job_entity, magnitude=1.4),
        found("rank.data_wait", topology.rank_entity(2)),
    ]


@pytest.fixture
def extra_work(topology, found):
    return [
        found("job.slow", topology.job_entity, magnitude=1.4),
        found("rank.prepares_data", topology.rank_entity(0)),
        found("rank.slow_compute", topology.rank_entity(0)),
        found("rank.waits_least", topology.rank_entity(0)),
    ]


FAULTS = {
    "slow_loader": ("software.dataloader_slow", "rank", "2"),
    "extra_work": ("balance.rank0_preprocessing", "rank", "0"),
    "contention": ("host.cpu_contention", "host", "host-b"),
    "stuck": ("software.stuck_process", "rank", "2"),
    "nan": ("numerics.nan_rank", "rank", "1"),
    "crash": ("software.crash", "rank", "3"),
}


@pytest.fixture(params=list(FAULTS))
def fault(request):
    """Return (what is found, the right fault, type and id of the right entity)."""
    return request.getfixturevalue(request.param), FAULTS[request.param]
