"""Where every decoded point goes, whatever its sender got wrong."""

import numpy as np
import pytest

from rankscope.collector.windows import queries
from rankscope.collector.windows.windows import FUTURE_SECONDS
from rankscope.formats.otlp.columns import FULL, MetricsBatch, PointColumns

AGE = "training.progress.age"
LOSS = "training.loss"
WAIT = "process.cpu.wait"


def test_ranks_and_hosts_are_rows(two_by_two):
    window = two_by_two.window()
    assert [0, 1, 2, 3] == window.ranks.tolist()
    assert ("host-a", "host-b") == window.hosts
    assert [0, 0, 1, 1] == window.host_of.tolist()
    assert [100, 101, 102, 103] == window.pids.tolist()
    assert ("GPU-0", "GPU-1", "GPU-2", "GPU-3") == window.hw_ids
    assert (4, (4, 5)) == (window.world_size, window.steps.at.shape)


def test_the_step_index_rules_the_planes(two_by_two):
    steps = two_by_two.window().steps
    assert [0, 1, 2, 3, 4] == steps.index.tolist()
    assert {"training.step.duration"} == set(steps.planes)


def test_a_closed_attribute_makes_its_own_plane(valid):
    valid.metrics(
        ("training.step", 1, 1, {"rank": 0}),
        (LOSS, 2.5, 1, {"rank": 0, "scope": "local", "quality": "exact"}),
        (LOSS, 2.4, 1, {"rank": 0, "scope": "global"}),
        ("training.nonfinite", 3, 1, {"rank": 0, "of": "grad_local"}),
        (LOSS, 2.3, 1, {"rank": 0}),
    )
    planes = valid.window().steps.planes
    assert {
        f"{LOSS}|local": 2.5,
        f"{LOSS}|global": 2.4,
        "training.nonfinite|grad_local": 3.0,
        LOSS: 2.3,
    } == {name: plane[0, 0] for name, plane in planes.items()}


def test_a_process_that_names_no_rank_is_rank_0_on_its_host(valid):
    valid.metrics(("training.step", 1, 1, {}), (LOSS, 2.5, 1, {}))
    window = valid.window()
    assert ([0], "host-a") == (window.ranks.tolist(), window.host_name(0))
    assert 2.5 == window.steps.plane(LOSS)[0, 0]


def test_a_rank_in_digits_is_that_rank(valid):
    valid.metrics(("training.step", 1, 1, {"rank": "3"}), (AGE, 0.5, 1, {"rank": "3"}))
    window = valid.window()
    assert [3] == window.ranks.tolist()
    assert 0.5 == window.of_ranks(AGE).value[0, 0]


@pytest.mark.parametrize("rank", [-1, True, 1.5, "one", "-1", "٣", "9" * 30])
def test_what_is_no_rank_is_no_rank(valid, rank):
    valid.metrics((AGE, 0.5, 1, {"rank": rank}))
    assert [] == valid.window().ranks.tolist()


def test_the_better_source_wins_whichever_speaks_first(valid):
    step = ("training.step", 1, 1, {"rank": 0})
    valid.metrics(step, (LOSS, 9.0, 1, {"rank": 0, "source": "log"}))
    valid.metrics((LOSS, 2.5, 1, {"rank": 0, "source": "probe"}))
    valid.metrics((LOSS, 9.0, 1, {"rank": 0, "source": "log"}))
    valid.metrics((LOSS, 8.0, 1, {"rank": 0, "source": "exporter"}))
    assert 2.5 == valid.window().steps.plane(LOSS)[0, 0]
    assert 2 == valid.windows.ignored


def test_the_better_source_of_periodic_readings_wins_as_well(valid):
    valid.info(0)
    pairs = {"hw.id": "GPU-0"}
    valid.metrics(("hw.gpu.utilization", 0.9, 1, {**pairs, "source": "exporter"}), job=None)
    valid.metrics(("hw.gpu.utilization", 0.5, 2, {**pairs, "source": "probe"}), job=None)
    value, _ = valid.window().of_ranks("hw.gpu.utilization").latest()
    assert [0.5] == value.tolist()


@pytest.mark.parametrize("read_between", [True, False])
def test_what_a_source_reported_stays_when_a_better_one_takes_its_place(valid, read_between):
    """Whether or not anybody looked, and so had it written, before."""
    valid.info(0)
    pairs = {"hw.id": "GPU-0", "rank": 0}
    valid.metrics(("hw.gpu.utilization", 0.9, 1, {**pairs, "source": "exporter"}))
    valid.metrics(("hw.gpu.utilization", 0.1, 1, {"rank": 0}), job="another")
    if read_between:
        valid.window()
    valid.metrics(("hw.gpu.utilization", 0.5, 2, {**pairs, "source": "probe"}))
    value = valid.window().of_ranks("hw.gpu.utilization").value
    assert [0.9, 0.5] == value[np.isfinite(value)].round(4).tolist()


def test_of_two_processes_of_one_rank_the_newest_is_read(valid):
    valid.info(0)
    valid.metrics((WAIT, 5.0, 1, {"pid": 100, "rank": 0}))
    valid.metrics((WAIT, 7.0, 9, {"pid": 200, "rank": 0}))
    value, _ = valid.window().of_ranks(WAIT).latest()
    assert [7.0] == value.tolist()


@pytest.mark.parametrize("job", ["a/b c", "日本語", "x; rm -rf /", "../../etc", "a\0b", " "])
def test_a_job_id_with_odd_characters_is_a_job_id(valid, job):
    valid.info(0, job=job)
    valid.step(0, 1, 1.0, job=job)
    assert job == valid.window(job).job
    assert [0] == [summary.rank for summary in queries.ranks(valid.windows, job)]


def test_ranks_may_move_to_other_hosts_with_a_new_attempt(two_by_two):
    for rank in range(4):
        host = "host-b" if rank < 2 else "host-c"
        two_by_two.info(rank, 100.0, host=host, attempt=1, pid=200 + rank)
        two_by_two.step(rank, 3, 101.0, host=host, attempt=1)
    two_by_two.metrics((WAIT, 5.0, 102, {"pid": 200}), host="host-b", job=None)
    two_by_two.metrics((WAIT, 9.0, 102, {"pid": 100}), host="host-a", job=None)

    window = two_by_two.window(now=110.0)

    assert (1, ("host-b", "host-c")) == (window.attempt, window.hosts)
    assert [0, 0, 1, 1] == window.host_of.tolist()
    assert [3] == window.steps.index.tolist(), "counters start again"
    np.testing.assert_array_equal([5.0, *[np.nan] * 3], window.of_ranks(WAIT).latest()[0])


def test_a_straggling_word_of_an_old_attempt_does_not_bring_it_back(two_by_two):
    two_by_two.info(0, 100.0, attempt=1)
    two_by_two.step(0, 9, 101.0, attempt=0)
    assert 1 == two_by_two.window().attempt


def test_the_newest_attempt_counts_whichever_was_heard_first(valid):
    valid.info(0, 1.0, attempt=1)
    valid.info(0, 2.0, attempt=0)
    assert 1 == valid.window().attempt


def test_ranks_may_join_an_attempt_later(two_by_two):
    two_by_two.info(4, 10.0, host="host-c", world_size=5)
    two_by_two.step(4, 4, 10.0, host="host-c")
    window = two_by_two.window()
    assert (5, ("host-a", "host-b", "host-c")) == (window.world_size, window.hosts)
    assert [False] * 4 + [True] == np.isfinite(window.steps.at[4]).tolist()


def test_a_rank_that_moves_within_an_attempt_is_where_it_was_last_heard(valid):
    valid.info(0, 0.0, host="host-a")
    valid.info(0, 5.0, host="host-b", pid=555)
    window = valid.window()
    assert ("host-b", 555) == (window.host_name(0), int(window.pids[0]))


@pytest.mark.parametrize(
    ("coordinates", "roles"),
    [
        ([{"pp": 0, "tp": 0}, {"pp": 0, "tp": 1}, {"pp": 0, "tp": 0}], [0, 1, 0]),
        ([{"pp": 0}, {"pp": 1}, {"pp": 1, "dp": 3}], [0, 1, 1]),
        ([{}, {}, {}], [0, 0, 0]),
    ],
)
def test_ranks_of_one_stage_and_tensor_index_share_a_role(valid, coordinates, roles):
    for rank, where in enumerate(coordinates):
        valid.info(rank, **where)
    assert roles == valid.window().role_of.tolist()


def test_metrics_that_nobody_knows_are_counted_and_passed_over(two_by_two):
    two_by_two.metrics(("made.up", 1, 5, {}), ("collective.op.duration", 1, 5, {"rank": 0}))
    assert 2 == two_by_two.windows.ignored


def test_points_that_the_series_table_had_no_room_for_are_passed_over(valid):
    columns = PointColumns(np.array([FULL], np.int32), np.array([1.0]), np.array([1.0]))
    valid.windows.metrics(MetricsBatch(columns, 0, ""), 1.0)
    assert [] == queries.jobs(valid.windows)


@pytest.mark.parametrize("at", [-1.7e9 - 5, 1e15, FUTURE_SECONDS + 10])
def test_points_at_absurd_times_are_counted_and_the_others_kept(two_by_two, at):
    two_by_two.metrics(
        (AGE, 1.0, 6, {"rank": 0}), (AGE, 1.0, 6, {"rank": 1}), (AGE, 9.0, at, {"rank": 0}), now=6
    )
    assert 1 == two_by_two.windows.future
    assert [1.0, 1.0] == two_by_two.window().of_ranks(AGE).latest()[0][:2].tolist()


def test_a_batch_in_which_every_time_is_absurd_is_counted(two_by_two):
    two_by_two.metrics((AGE, 9.0, 4000, {"rank": 0}), now=6)
    assert 1 == two_by_two.windows.future
    assert np.isnan(two_by_two.window().of_ranks(AGE).value).all()


def test_what_came_later_can_be_hidden(two_by_two, after):
    two_by_two.metrics((AGE, 1.0, 2, {"rank": 0}), (AGE, 5.0, 6, {"rank": 0}))
    two_by_two.event("training.phase", 2, rank=0, phase="train")
    two_by_two.event("training.phase", 6, rank=0, phase="eval")
    window = two_by_two.window(until=after(3.5))
    assert [0, 1, 2] == window.steps.index.tolist()
    assert [1.0] == window.of_ranks(AGE).latest()[0][:1].tolist()
    assert 1 == len(window.events)
    assert {"training.progress.age", "training.rank.info"} == set(window.rank_readings)
    assert 2 == len(window.rank_readings)


@pytest.mark.parametrize(
    ("metric", "pairs", "name"),
    [
        ("hw.frequency", {"hw.id": "GPU-0", "gpu": 0, "domain": "sm"}, "hw.frequency|sm"),
        ("hw.gpu.throttle", {"hw.id": "GPU-0", "reason": "idle"}, "hw.gpu.throttle|idle"),
        ("process.memory.usage", {"pid": 100, "role": "trainer"}, "process.memory.usage"),
        ("process.memory.usage", {"pid": 100, "role": "dataloader"},
         "process.memory.usage|dataloader"),
        ("container.cpu.throttled", {"pid": 100, "cgroup": "/a"}, "container.cpu.throttled"),
    ],
)  # fmt: skip
def test_series_of_one_rank_are_told_apart_by_what_they_measure(two_by_two, metric, pairs, name):
    two_by_two.metrics((metric, 1.0, 5, pairs), job=None)
    readings = two_by_two.window().rank_readings
    assert {name, "training.rank.info"} == set(readings)
    assert 1.0 == readings[name].latest()[0][0]
