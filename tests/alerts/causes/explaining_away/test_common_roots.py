"""Faults of many devices or hosts at once: how many roots they have."""

import pytest
from tests.alerts.explaining import EVERYTHING

from rankscope.alerts.causes import engine
from rankscope.alerts.summary import sentence
from rankscope.vocabulary.entities import Entity
from rankscope.vocabulary.ranks import RankSet
from rankscope.vocabulary.topology import JobTopology, RankPlacement


@pytest.fixture
def racked(wide):
    """Return the layout with host-c behind leaf-1 and host-d behind a switch."""

    def make(behind):
        return JobTopology(
            wide.job,
            placements=[
                RankPlacement(rank, wide.host(rank) or "", local_rank=rank % 2, hw_id=f"GPU-{rank}")
                for rank in wide.ranks
            ],
            switches={"host-c": "leaf-1", "host-d": behind},
        )

    return make


def test_two_hosts_with_the_same_fault_are_two_roots(roots, slow, contended):
    found = roots(slow, *contended("host-b"), *contended("host-e"))
    assert ["host-b", "host-e"] == sorted(entity for _, entity, _ in found)


def test_two_devices_of_a_host_that_heat_throttles_are_one_root_at_the_host(roots, slow, hot):
    """What they share is the host's cooling."""
    found = roots(slow, *hot(8), *hot(9))
    assert [("gpu.thermal_throttle", "host-e", ["job.slow"])] == found


def test_two_of_four_throttled_devices_of_a_host_are_one_root(lay_out, found, roots):
    """The other two are hot as well and are not yet slow enough to stand out."""
    layout = lay_out(hosts=["host-a", "host-b"], each=4)
    rows = [found("job.slow", layout.job_entity)]
    rows += [found("gpu.throttled", layout.gpu_entity(rank)) for rank in range(4)]
    rows += [found("rank.slow_compute", layout.rank_entity(rank)) for rank in (2, 3)]
    (root,) = roots(*rows, topology=layout)
    assert ("gpu.thermal_throttle", "host-a", ["job.slow"]) == root


def test_throttled_devices_of_two_hosts_are_two_roots(roots, slow, hot):
    assert ["GPU-5", "GPU-9"] == sorted(entity for _, entity, _ in roots(slow, *hot(5), *hot(9)))


@pytest.mark.parametrize(("behind", "count"), [("leaf-1", 1), ("leaf-2", 2)])
@pytest.mark.parametrize("sign", ["gpu.throttled", "gpu.power_held"])
def test_hosts_of_one_rack_that_throttle_together_are_one_root(
    wide, racked, found, sign, behind, count
):
    """What they share is its cooling or its power."""
    rows = [found("job.slow", wide.job_entity)]
    for rank in (4, 5, 6, 7):
        rows += [
            found("rank.slow_compute", wide.rank_entity(rank)),
            found(sign, wide.gpu_entity(rank)),
        ]
    explained = engine.explanations(rows, racked(behind), observed=EVERYTHING)
    assert count == len(explained)
    if count == 1:
        assert "the same on host-d" == explained[0].cause.hypotheses[0].evidence[-1].text


def test_low_clocks_of_several_devices_of_a_host_are_one_root(roots, slow, wide, found):
    rows = [
        row
        for rank in (8, 9)
        for row in (
            found("rank.slow_compute", wide.rank_entity(rank)),
            found("gpu.clock_low", wide.gpu_entity(rank)),
        )
    ]
    assert [("gpu.clock_locked", "GPU-8", ["job.slow"])] == roots(slow, *rows)


@pytest.mark.parametrize("sign", ["gpu.throttled", "gpu.power_held"])
@pytest.mark.parametrize(
    ("behind", "began", "count"), [("leaf-1", 45.0, 1), ("leaf-2", 45.0, 2), ("leaf-1", -300.0, 2)]
)
def test_low_clocks_in_a_rack_whose_heat_is_reported_of_another_host_are_one_root(
    racked, found, sign, behind, began, count
):
    """Not in another rack, and not where they have been low for long."""
    layout = racked(behind)
    rows = [found("job.slow", layout.job_entity)]
    for rank, shown, at in ((4, sign, 40.0), (5, sign, 40.0), (6, "gpu.clock_low", began)):
        rows += [
            found("rank.slow_compute", layout.rank_entity(rank), at),
            found(shown, layout.gpu_entity(rank), at),
        ]
    explained = engine.explanations(rows, layout, observed=EVERYTHING)
    assert count == len(explained)
    if count == 1:
        first = explained[0].cause.hypotheses[0]
        assert "host-c" == first.entity.host
        assert "gpu.clock_locked" != first.fault
        assert "the same on GPU-6" == first.evidence[-1].text


def test_many_hosts_with_the_same_fault_are_one_root(roots, slow, contended, wide):
    rows = [row for letter in "abcdef" for row in contended(f"host-{letter}")]
    assert 1 == len(roots(slow, *rows))
    (row,) = engine.explanations([slow, *rows], wide, observed=EVERYTHING)
    others = [term for term in row.cause.hypotheses[0].evidence if term.family == engine.OTHERS]
    assert [f"the same on host-{letter}" for letter in "bcdef"] == [term.text for term in others]
    assert 12 == len(engine.ranks_at(row.cause))
    assert sentence(row.cause, []).startswith(
        "CPU contention: host host-a (ranks 0, 1) and at least 5 more with the same fault; "
    )


def test_growth_and_what_it_ended_in_on_the_same_host_are_one_root(roots, wide, found):
    process = Entity("process", "host-a:1001", "host-a", wide.ranks_of_host("host-a"))
    ended = [
        found("job.crashed", wide.job_entity, 200.0),
        found("rank.first_exit", wide.rank_entity(0), 200.0),
        found("host.oom_killed", wide.host_entity("host-a"), 200.0),
    ]
    leak = found("process.memory_grows", process, 10.0)
    assert [("memory.host_oom", "host-a", ["job.crashed", "process.memory_grows"])] == roots(
        leak, *ended
    )


@pytest.mark.parametrize(("later", "count"), [(20.0, 1), (600.0, 2)])
def test_processes_whose_memory_grows_since_the_same_time_are_one_root(
    roots, wide, found, later, count
):
    """They run one code; what grows from another time on has another reason."""
    rows = [
        found(
            "process.memory_grows",
            Entity(
                "process", f"{wide.host(rank)}:{1000 + rank}", wide.host(rank), RankSet((rank,))
            ),
            onset,
        )
        for rank, onset in ((0, 10.0), (5, 10.0 + later))
    ]
    assert count == len(roots(*rows))


@pytest.mark.parametrize(("later", "count"), [(20.0, 1), (600.0, 2)])
def test_hosts_that_fill_since_the_same_time_are_one_root(roots, wide, found, later, count):
    """Their processes run one code, whoever of them is seen to grow."""
    rows = [
        found("host.memory_low", wide.host_entity(host), onset)
        for host, onset in (("host-a", 10.0), ("host-b", 10.0 + later))
    ]
    assert count == len(roots(*rows))


@pytest.mark.parametrize("host", ["host-a", "host-b"])
def test_a_host_that_fills_beside_the_workers_that_fill_it_is_no_root(roots, wide, found, host):
    """Of the workers of another host nothing may be known yet."""
    worker = Entity("process", "host-a:1001", "host-a", RankSet((0,)))
    leak = found("process.worker_memory_grows", worker, 10.0)
    fills = found("host.memory_low", wide.host_entity(host), 30.0)
    told = ("memory.dataloader_leak", "host-a:1001")
    symptoms = ["host.memory_low", "process.worker_memory_grows"]
    assert [(*told, symptoms)] == roots(leak, fills)


def test_a_job_that_gave_up_as_a_host_was_not_reached_is_one_root_at_the_host(roots, wide, found):
    """The ranks give up minutes later, each in its own words, and no step has ended."""
    rows = [
        found("host.bootstrap_error", wide.host_entity("host-c"), 30.0),
        found("job.crashed", wide.job_entity, 270.0),
        found("job.no_step", wide.job_entity, 270.0),
        found("rank.first_exit", wide.rank_entity(0), 270.0),
        found("rank.root_log", wide.rank_entity(0), 269.0),
    ]
    told = ("network.bootstrap_failed", "host-c", ["host.bootstrap_error", "job.crashed"])
    assert [told] == roots(*rows)
