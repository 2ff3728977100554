"""What people and programs ask of the windows."""

import math

import pytest

from rankscope.collector.windows import queries
from rankscope.vocabulary.ranks import RankSet

LOSS = "training.loss"
AGE = "training.progress.age"


def test_a_job_is_summed_up(two_by_two, after):
    (job,) = queries.jobs(two_by_two.windows)
    assert ("run-1", 0, 4, 4, ("host-a", "host-b")) == (
        job.job, job.attempt, job.world_size, job.ranks, job.hosts,
    )  # fmt: skip
    assert (4, 1.0) == (job.last_step, job.step_seconds)
    assert (after(0), after(5)) == (job.first_at, job.last_at)


def test_a_job_before_its_second_step_has_no_step_time(valid):
    valid.info(0)
    (job,) = queries.jobs(valid.windows)
    assert (None, None) == (job.last_step, job.step_seconds)


def test_jobs_come_by_id_and_hosts_by_name(valid):
    valid.info(0, job="b", host="z")
    valid.info(0, job="a", host="y")
    valid.metrics(("system.cpu.utilization", 0.5, 1, {}), host="", job=None)
    assert ["a", "b"] == [job.job for job in queries.jobs(valid.windows)]
    assert ["y", "z"] == queries.hosts(valid.windows)


def test_ranks_come_by_number_with_their_whereabouts(two_by_two):
    two_by_two.metrics((AGE, 2.5, 6, {"rank": 3}), host="host-b")
    ranks = queries.ranks(two_by_two.windows, "run-1")
    assert [0, 1, 2, 3] == [rank.rank for rank in ranks]
    last = ranks[3]
    assert ("host-b", 103, "GPU-3", 1, 4, 2.5, 0) == (
        last.host, last.pid, last.hw_id, last.local_rank, last.last_step, last.progress_age,
        last.attempt,
    )  # fmt: skip
    assert None is ranks[0].progress_age


def test_a_rank_that_never_stepped_has_no_last_step(valid):
    valid.info(0)
    assert None is queries.ranks(valid.windows, "run-1")[0].last_step


def test_an_unknown_job_has_nothing(valid, after):
    windows = valid.windows
    assert [] == queries.ranks(windows, "no")
    assert [] == queries.series(windows, "no", LOSS, None, 0, after(99))
    assert None is queries.topology(windows, "no")
    assert None is windows.attempt("no")


@pytest.fixture
def plotted(two_by_two, after):
    """Return a function that asks for a series between two seconds after START.

    It gives [(rank, attributes, [(seconds after START, value)])].
    """

    def ask(metric, ranks=None, start=0.0, end=99.0):
        found = queries.series(two_by_two.windows, "run-1", metric, ranks, after(start), after(end))
        return [
            (
                row.rank,
                dict(row.attributes),
                list(zip((row.at - after(0)).tolist(), row.value.tolist(), strict=True)),
            )
            for row in found
        ]

    return ask


def test_a_series_of_steps_comes_by_rank_oldest_first(two_by_two, plotted):
    two_by_two.step(0, 5, 6.0, training__loss=2.0)
    two_by_two.step(0, 6, 7.0, training__loss=1.9)
    two_by_two.step(3, 5, 6.0, host="host-b", training__loss=2.2)
    assert [(0, {}, [(6.0, 2.0), (7.0, 1.9)]), (3, {}, [(6.0, 2.2)])] == plotted(LOSS)
    assert [(0, {}, [(7.0, 1.9)])] == plotted(LOSS, [0, 1], start=6.5)
    assert [] == plotted(LOSS, [2])


def test_the_step_index_is_a_series_too(plotted):
    assert [(0, {}, [(2.0, 1.0), (3.0, 2.0)])] == plotted("training.step", [0], 1.5, 3.5)


def test_each_variant_of_a_metric_is_a_series_of_its_own(two_by_two, plotted):
    two_by_two.metrics(
        ("training.step", 5, 6, {"rank": 0}),
        (LOSS, 2.0, 6, {"rank": 0, "scope": "local"}),
        (LOSS, 2.1, 6, {"rank": 0, "scope": "global"}),
    )
    local = (0, {"scope": "local"}, [(6.0, 2.0)])
    assert [(0, {"scope": "global"}, [(6.0, 2.1)]), local] == plotted(LOSS)
    assert [local] == plotted(f"{LOSS}|local")


def test_each_clock_domain_of_a_device_is_a_series_of_its_own(two_by_two, plotted):
    for domain, hertz in (("sm", 1.7e9), ("memory", 2.6e9)):
        pairs = {"hw.id": "GPU-0", "gpu": 0, "domain": domain}
        two_by_two.metrics(("hw.frequency", hertz, 6, pairs), job=None)
    assert [
        (0, {"domain": "memory"}, [(6.0, 2.6e9)]),
        (0, {"domain": "sm"}, [(6.0, 1.7e9)]),
    ] == plotted("hw.frequency")


def test_a_series_of_readings_comes_by_rank_or_by_host(two_by_two, plotted):
    two_by_two.metrics((AGE, 1.0, 6, {"rank": 1}), (AGE, 2.0, 5, {"rank": 1}))
    two_by_two.metrics((AGE, 3.0, 6, {"rank": 2}), host="host-b")
    two_by_two.metrics(("system.cpu.utilization", 0.5, 6, {}), host="host-b", job=None)
    assert [(1, {}, [(5.0, 2.0), (6.0, 1.0)]), (2, {}, [(6.0, 3.0)])] == plotted(AGE)
    assert [(2, {}, [(6.0, 3.0)])] == plotted(AGE, [2])
    assert [(None, {"host.name": "host-b"}, [(6.0, 0.5)])] == plotted("system.cpu.utilization")
    assert [] == plotted("system.cpu.utilization", start=7)


@pytest.mark.parametrize(
    ("name", "attributes"),
    [
        ("training.loss", {}),
        ("training.loss|local", {"scope": "local"}),
        ("hw.gpu.throttle|thermal_hw", {"reason": "thermal_hw"}),
        ("hw.errors|corrected|hbm", {"error.type": "corrected", "hw.part": "hbm"}),
        ("process.memory.usage|dataloader", {"role": "dataloader"}),
        ("made.up|a|b", {"variant": "a|b"}),
        ("training.loss|sideways", {"variant": "sideways"}),
    ],
)
def test_the_attributes_behind_a_variants_name_are_found(name, attributes):
    assert attributes == queries.variant(name)


def test_a_nan_that_was_reported_is_not_an_infinity(two_by_two, plotted):
    """A loss that is NaN and one that overflowed are two different faults."""
    for step, loss in ((5, math.nan), (6, math.inf), (7, 1.5)):
        two_by_two.step(0, step, step + 1.0, training__loss=loss)
    ((_, _, points),) = plotted(LOSS, [0])
    nan, *others = [value for _, value in points]
    assert math.isnan(nan)
    assert [math.inf, 1.5] == others


def test_the_topology_of_a_job_is_the_value_that_detectors_and_causes_share(two_by_two):
    two_by_two.metrics(("system.cpu.utilization", 0.5, 6, {}), host="host-b", job=None,
                       network_switch="leaf-7")  # fmt: skip
    for rank in (0, 2):
        pairs = {"rank": rank, "group": "dp:abc"}
        host = "host-a" if rank < 2 else "host-b"
        two_by_two.metrics(("collective.enqueued", 5, 5, pairs), host=host)
    topology = queries.topology(two_by_two.windows, "run-1")
    assert topology is not None
    assert ("host-b", "gpu GPU-2 on host-b", 102) == (
        topology.host(2), str(topology.gpu_entity(2)), topology.pid(2),
    )  # fmt: skip
    assert {"host-b": "leaf-7"} == topology.switches
    assert [("dp:abc", RankSet((0, 2)))] == [(group.name, group.ranks) for group in topology.groups]


def test_a_rank_without_a_host_or_device_stands_alone(valid):
    valid.event("training.phase", 1, host="", rank=0, phase="train")
    topology = queries.topology(valid.windows, "run-1")
    assert topology is not None
    assert ((), None, None) == (topology.hosts, topology.host(0), topology.gpu_entity(0))


def test_counters_of_groups_are_series_by_group_and_rank(two_by_two, after):
    for rank, count in ((0, 11), (1, 10)):
        pairs = {"rank": rank, "group": "dp:abc", "source": "flight_recorder"}
        two_by_two.metrics(("collective.enqueued", count, 5, pairs))
    windows = two_by_two.windows
    found = queries.series(windows, "run-1", "collective.enqueued", None, 0, after(9))
    assert [(0, 11.0, "dp:abc"), (1, 10.0, "dp:abc")] == [
        (row.rank, row.value[-1], row.attributes["group"]) for row in found
    ]
    (one,) = queries.series(windows, "run-1", "collective.enqueued", {1}, 0, after(9))
    assert 1 == one.rank
    assert [] == queries.series(windows, "run-1", "collective.enqueued", None, 0, after(1))


def test_a_steps_time_is_the_one_reported_where_steps_are_written_out_many_at_once(valid):
    valid.info(0)
    for step in range(5):
        at = 5 + step / 1000
        valid.metrics(("training.step", step, at, {"rank": 0, "source": "log"}))
        valid.metrics(("training.step.duration", 0.25, at, {"rank": 0, "source": "log"}))
    (job,) = queries.jobs(valid.windows)
    assert 0.25 == pytest.approx(job.step_seconds)
