"""A second root needs evidence that the first one cannot produce."""

import pytest

from rankscope.vocabulary import findings as kinds
from rankscope.vocabulary.ids import Job
from rankscope.vocabulary.ranks import RankSet
from rankscope.vocabulary.topology import CommunicationGroup, JobTopology, RankPlacement


def _grouped(hosts, each, *members):
    """Return a job of `each` ranks on each host, with expert groups of these ranks."""
    placed = [
        RankPlacement(rank, hosts[rank // each], local_rank=rank % each, hw_id=f"GPU-{rank}")
        for rank in range(each * len(hosts))
    ]
    groups = [CommunicationGroup(f"ep:{n}", "ep", ranks) for n, ranks in enumerate(members)]
    return JobTopology(Job("run-1"), placements=placed, groups=groups)


@pytest.fixture
def routed():
    """Return a job of two ranks on each of four hosts, of two expert groups over all hosts."""
    hosts = [f"host-{letter}" for letter in "abcd"]
    return _grouped(hosts, 2, range(0, 8, 2), range(1, 8, 2))


@pytest.fixture
def uneven(routed, found):
    """Return a function for an expert group of which these ranks calculate longer."""

    def make(number, *ranks, onset=40.0):
        group = routed.groups[number].entity
        return found("group.expert_imbalance", group, onset, ranks=RankSet(ranks))

    return make


@pytest.fixture
def busy(routed, found):
    """Return what is found of host-b, whose ranks do not get their CPU time."""
    ranks = [found("rank.slow_compute", routed.rank_entity(rank)) for rank in (2, 3)]
    host = routed.host_entity("host-b")
    signs = [found(kind, host) for kind in ("host.cpu_wait", "host.cpu_busy", "host.cpu_steal")]
    return [found("job.slow", routed.job_entity), *ranks, *signs]


def test_groups_are_uneven_where_a_host_of_theirs_is_slow(roots, routed, uneven, busy):
    (named,) = roots(*busy, uneven(0, 2), uneven(1, 3), topology=routed)
    assert ("host.cpu_contention", "host-b") == named[:2]
    assert "group.expert_imbalance" in named[2]


def test_a_popular_expert_elsewhere_is_a_root_of_its_own(roots, routed, uneven, busy):
    named = roots(*busy, uneven(0, 6), topology=routed)
    assert {"host.cpu_contention", "balance.expert"} == {row[0] for row in named}


def test_an_expert_that_became_popular_minutes_later_is_a_root_of_its_own(
    roots, routed, uneven, busy
):
    named = roots(*busy, uneven(0, 2, onset=340.0), uneven(1, 3, onset=340.0), topology=routed)
    assert {"host.cpu_contention", "balance.expert"} == {row[0] for row in named}


def test_one_slow_member_of_a_group_on_one_host_is_not_what_slows_the_whole_host(roots, found):
    job = _grouped(["host-a", "host-b"], 4, range(4))
    slow = [found("rank.slow_compute", job.rank_entity(rank)) for rank in range(4)]
    group = found("group.expert_imbalance", job.groups[0].entity, ranks=RankSet([1]))
    host = job.host_entity("host-a")
    busy = [found(kind, host) for kind in ("host.cpu_wait", "host.cpu_busy", "host.cpu_steal")]
    named = roots(found("job.slow", job.job_entity), *slow, *busy, group, topology=job)
    assert {"host.cpu_contention", "balance.expert"} == {row[0] for row in named}


def test_devices_that_become_slow_together_without_another_sign_are_one_root(
    roots, wide, found, slow
):
    since = [found("rank.slow_compute", wide.rank_entity(rank), 40.0) for rank in (2, 9)]
    (named,) = roots(slow, *since)
    assert "gpu.slow" == named[0]


def test_only_what_says_whose_time_is_longer_follows_from_any_root():
    told = {kind for kind, row in kinds.catalogue().items() if row.timing}
    assert {"rank.slow_compute", "job.slow", "group.expert_imbalance"} <= told
    assert told.isdisjoint(("gpu.throttled", "host.cpu_wait", "rank.prepares_data", "nic.errors"))
