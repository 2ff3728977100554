"""Where every decoded point goes, whatever its sender got wrong."""

import numpy as np
import pytest

from rankscope.collector.windows import queries
from rankscope.collector.windows.windows import FORGET_SECONDS, FUTURE_SECONDS
from rankscope.detectors.window import no_processes
from rankscope.formats.otlp.columns import FULL, Columns, MetricsBatch

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


def test_of_two_processes_of_one_rank_the_newest_is_read(valid):
    valid.info(0)
    valid.metrics((WAIT, 5.0, 1, {"pid": 100, "rank": 0}))
    valid.metrics((WAIT, 7.0, 9, {"pid": 200, "rank": 0}))
    value, _ = valid.window().of_ranks(WAIT).latest()
    assert [7.0] == value.tolist()


def test_node_telemetry_joins_a_rank_by_host_and_pid(two_by_two):
    two_by_two.metrics((WAIT, 5.0, 5, {"pid": 102}), host="host-b", job=None)
    two_by_two.metrics((WAIT, 9.0, 5, {"pid": 102}), host="host-a", job=None)
    value, _ = two_by_two.window().of_ranks(WAIT).latest()
    np.testing.assert_array_equal([np.nan, np.nan, 5.0, np.nan], value)


def test_node_telemetry_joins_a_rank_by_host_and_device(two_by_two):
    two_by_two.metrics(
        ("hw.frequency", 1.7e9, 5, {"hw.id": "GPU-3", "gpu": 1, "domain": "sm"}),
        host="host-b", job=None,
    )  # fmt: skip
    value, _ = two_by_two.window().of_ranks("hw.frequency|sm").latest()
    np.testing.assert_array_equal([np.nan, np.nan, np.nan, 1.7e9], value)


def test_a_pid_or_device_of_nobody_of_the_job_is_not_its_hosts_reading(two_by_two):
    two_by_two.metrics(
        (WAIT, 5.0, 5, {"pid": 4711}), ("hw.temperature", 90.0, 5, {"hw.id": "GPU-9"}), job=None
    )
    window = two_by_two.window()
    assert not {WAIT, "hw.temperature"} & (set(window.rank_readings) | set(window.host_readings))


def test_a_rank_attribute_on_node_telemetry_means_nothing_without_its_job(two_by_two):
    two_by_two.metrics((WAIT, 5.0, 5, {"pid": 4711, "rank": 0}), job=None)
    assert WAIT not in two_by_two.window().rank_readings


def test_readings_of_a_host_go_to_every_job_on_it(two_by_two):
    two_by_two.info(0, job="run-2", host="host-b")
    two_by_two.metrics(("system.cpu.utilization", 0.7, 5, {}), host="host-b", job=None)
    first, _ = two_by_two.window("run-1").of_hosts("system.cpu.utilization").latest()
    second, _ = two_by_two.window("run-2").of_hosts("system.cpu.utilization").latest()
    np.testing.assert_array_equal([np.nan, 0.7], first)
    assert [0.7] == second.tolist()


def test_two_jobs_on_one_node_keep_their_own(valid):
    for job, loss in (("run-1", 1.0), ("run-2", 2.0)):
        valid.info(0, job=job, pid=int(loss))
        valid.step(0, 1, 1.0, job=job, training__loss=loss)
        valid.metrics((AGE, loss, 1, {"rank": 0}), job=job)
    for job, loss in (("run-1", 1.0), ("run-2", 2.0)):
        window = valid.window(job)
        assert loss == window.steps.plane(LOSS)[0, 0] == window.of_ranks(AGE).value[0, 0]
    assert ["run-1", "run-2"] == [summary.job for summary in queries.jobs(valid.windows)]


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


def test_counters_of_a_group_stand_by_member(two_by_two):
    members = {"group": "dp:abc", "kind": "dp", "desc": "data", "size": 4, "ranks": "0-3"}
    two_by_two.metrics(("collective.group.info", 1, 5, {"rank": 0, **members}))
    for rank in range(4):
        pairs = {"rank": rank, "group": "dp:abc"}
        two_by_two.metrics(
            ("collective.enqueued", 10 - (rank == 2), 5, pairs),
            ("collective.started", 10 - (rank == 2), 5, pairs),
            ("collective.completed", 9, 5, pairs),
            ("collective.duration", 0.1, 5, {**pairs, "op": "all_reduce"}),
        )
    two_by_two.metrics(("collective.enqueued", 11, 9, {"rank": 0, "group": "dp:abc"}))

    (group,) = two_by_two.window().groups

    assert ("dp:abc", "dp", [0, 1, 2, 3]) == (group.name, group.kind, group.rows.tolist())
    assert [11, 10, 9, 10] == group.enqueued.tolist()
    assert [9, 9, 9, 9] == group.completed.tolist()
    assert group.changed_at[0] - group.changed_at[1] == 4.0


def test_a_group_of_which_only_launches_are_counted_is_seen(two_by_two):
    """The counters of RAS are of each kind of collective, without sequence numbers."""
    members = {"group": "dp:abc", "kind": "dp", "desc": "data", "size": 4, "ranks": "0-3"}
    two_by_two.metrics(("collective.group.info", 1, 5, {"rank": 0, **members}))
    for rank in range(4):
        pairs = {"rank": rank, "group": "dp:abc", "op": "AllReduce"}
        two_by_two.metrics(("collective.launches", 7 + rank, 6, pairs))

    (group,) = two_by_two.window().groups

    assert [7.0, 8.0, 9.0, 10.0] == group.launches["AllReduce"].tolist()
    assert np.isnan(group.enqueued).all()
    assert np.isfinite(group.at).all()


def test_the_newest_world_size_is_that_of_the_resized_job(two_by_two):
    for size, at in ((4, 5), (2, 6)):
        info = {"rank": 0, "local_rank": 0, "world_size": size, "pid": 7}
        two_by_two.metrics(("training.rank.info", 1, at, info))
    assert 2 == two_by_two.window().newest_world_size


def test_a_kind_of_collective_that_one_member_alone_launched_stands_by_all(two_by_two):
    """Room is made for a counter up to the newest row that has it; the others came later."""
    groups = ["dp:abc", *(f"ep:{number}" for number in range(40))]
    two_by_two.metrics(
        ("collective.launches", 1, 6, {"rank": 0, "group": "dp:abc", "op": "Broadcast"})
    )
    for rank in range(4):
        for group in groups if rank == 0 else groups[:1]:
            pairs = {"rank": rank, "group": group}
            two_by_two.metrics(("collective.enqueued", 10, 7, pairs))
    members = {"group": "dp:abc", "kind": "dp", "desc": "data", "size": 4, "ranks": "0-3"}
    two_by_two.metrics(("collective.group.info", 1, 5, {"rank": 0, **members}))

    group = next(group for group in two_by_two.window().groups if group.name == "dp:abc")

    assert [1.0, None, None, None] == [
        None if np.isnan(value) else value for value in group.launches["Broadcast"].tolist()
    ]


def test_a_group_that_only_introduces_itself_has_no_members_yet(two_by_two):
    two_by_two.metrics(("collective.group.info", 1, 5, {"group": "dp:abc", "rank": 0}))
    two_by_two.metrics(("collective.group.info", 1, 5, {"rank": 0}))
    assert [] == two_by_two.window().groups


def test_metrics_that_nobody_knows_are_counted_and_passed_over(two_by_two):
    two_by_two.metrics(("made.up", 1, 5, {}), ("collective.op.duration", 1, 5, {"rank": 0}))
    assert 2 == two_by_two.windows.ignored


def test_points_that_the_series_table_had_no_room_for_are_passed_over(valid):
    columns = Columns(np.array([FULL], np.int32), np.array([1.0]), np.array([1.0]))
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


def test_a_host_an_hour_ahead_is_brought_back(valid, after):
    for second in range(0, 30, 5):
        valid.step(0, second, second, host="host-a", now=second)
        valid.step(1, second, second + 3600, host="host-b", now=second)
    window = valid.window()
    np.testing.assert_allclose(window.steps.at[0], window.steps.at[1])
    assert 3600.0 == window.clock_skew
    assert 3600.0 == valid.windows.clock_offset("host-b")
    assert (0.0, 0.0) == (
        valid.windows.clock_offset("host-a"),
        valid.windows.clock_offset("nobody"),
    )


def test_events_of_a_host_an_hour_ahead_are_brought_back_as_well(valid, after):
    for second in range(0, 30, 5):
        valid.step(0, second, second + 3600, now=second)
    valid.event("process.exit", 3630, rank=0, exit_code=1, now=30)
    assert [after(30)] == [event.at for event in valid.window().events]


@pytest.mark.parametrize("at", [1e15, -1.7e9 - 5, float("nan"), 3600.0])
def test_an_event_at_an_absurd_time_is_told_when_it_was_heard(two_by_two, after, at):
    two_by_two.event("process.exit", at, rank=0, exit_code=1, now=30)
    assert [after(30)] == [event.at for event in two_by_two.window().events]
    assert 1 == two_by_two.windows.future


def test_events_of_a_host_find_their_rank_by_pid_or_device(two_by_two):
    two_by_two.event("host.oom_kill", 6, host="host-b", job=None, pid=103, rank=0)
    two_by_two.event("gpu.fault", 7, host="host-b", job=None, **{"hw.id": "GPU-2"}, code="79")
    two_by_two.event("gpu.fault", 8, host="elsewhere", job=None, **{"hw.id": "GPU-2"}, code="79")
    ranks = [event.attributes.get("rank") for event in two_by_two.window().events]
    assert [3, 2] == ranks


@pytest.mark.parametrize("rank", ["1", 1])
def test_events_of_a_job_keep_their_rank(two_by_two, rank):
    two_by_two.event("process.exit", 6, rank=rank, exit_code=1)
    assert [1] == [event.attributes["rank"] for event in two_by_two.window().events]


def test_an_event_of_the_whole_job_has_no_rank(two_by_two):
    two_by_two.event("change", 6, kind="code", text="deployed")
    (event,) = two_by_two.window().events
    assert {"kind": "code", "text": "deployed"} == event.attributes
    assert [0, 1, 2, 3] == two_by_two.window().ranks.tolist()


def test_an_event_may_be_the_first_word_of_a_job(valid):
    valid.event("training.phase", 1, rank=2, phase="init")
    window = valid.window()
    assert ([2], "host-a") == (window.ranks.tolist(), window.host_name(0))


def test_events_are_forgotten_after_half_an_hour(two_by_two):
    two_by_two.event("training.phase", 6, rank=0, phase="eval")
    assert 1 == len(two_by_two.window(now=1800).events)
    assert 0 == len(two_by_two.window(now=1810).events)


def test_silence_is_measured_by_when_things_were_heard(two_by_two, after):
    two_by_two.metrics((AGE, 1.0, 6, {"rank": 1}), now=7)
    window = two_by_two.window()
    assert [after(5), after(7), after(5), after(5)] == window.last_received.tolist()
    assert [after(7), after(5)] == window.host_last_received.tolist()


def test_a_hosts_habit_is_its_longest_usual_pause(valid):
    for second in range(60):
        valid.step(0, second, second, now=second)
    assert [1.0] == valid.window().host_interval.tolist()
    for second in range(60, 120, 5):
        valid.metrics((AGE, 1.0, second, {"rank": 0}), now=second)
    assert 5.0 == valid.window().host_interval[0]
    valid.metrics((AGE, 1.0, 3000, {"rank": 0}), now=3000)
    assert 60.0 == valid.window().host_interval[0], "it was away, and does not speak that rarely"


def test_a_host_that_reports_again_after_a_silence_has_returned(valid, after):
    for second in (*range(20), 60, 61):
        valid.metrics((AGE, 1.0, second, {"rank": 0}), now=second)
        returned = valid.window().host_returned.tolist()
        assert [after(60) if second >= 60 else -np.inf] == returned


def test_a_host_that_reports_every_fifteen_seconds_is_never_silent(valid):
    for second in range(0, 300, 15):
        valid.metrics((AGE, 1.0, second, {"rank": 0}), now=second)
    assert [-np.inf] == valid.window().host_returned.tolist()


def test_a_host_that_spoke_once_has_no_habit_yet(valid):
    valid.step(0, 0, 0)
    valid.step(0, 0, 0.1)
    assert np.isnan(valid.window().host_interval).all()


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


PRIVATE = "process.memory.private"


def test_each_worker_of_a_rank_has_a_row_of_its_own(two_by_two):
    for pid, size in ((501, 1e9), (502, 2e9)):
        pairs = {"rank": 1, "pid": pid, "role": "dataloader"}
        two_by_two.metrics((PRIVATE, size, 5, pairs))
    two_by_two.metrics((PRIVATE, 9e9, 5, {"rank": 1, "pid": 101, "role": "trainer"}))
    window = two_by_two.window()
    found = window.processes
    assert [(0, 501, 1, None), (0, 502, 1, None)] == list(
        zip(found.host, found.pid, found.row, found.hw_ids, strict=True)
    )
    assert [1e9, 2e9] == found.of(f"{PRIVATE}|dataloader").latest()[0].tolist()
    assert 9e9 == window.of_ranks(PRIVATE).latest()[0][1]
    assert 1e9 == window.of_ranks(f"{PRIVATE}|dataloader").latest()[0][1]


def test_a_rank_without_workers_has_no_processes(two_by_two):
    assert (0, 0) == (len(two_by_two.window().processes.pid), len(no_processes().pid))
    assert 0 == len(two_by_two.window().processes.of(PRIVATE).at)


@pytest.mark.parametrize("job", ["run-1", None])
def test_every_context_on_a_device_has_a_row_whosever_it_is(two_by_two, job):
    """Rank 1 holds memory on its own device and on that of rank 0, and a stranger too."""
    memory = "hw.gpu.process.memory"
    for device, pid, size in (("GPU-1", 101, 8e9), ("GPU-0", 101, 5e8), ("GPU-0", 999, 3e9)):
        two_by_two.metrics((memory, size, 5, {"hw.id": device, "gpu": 0, "pid": pid}), job=job)
    window = two_by_two.window()
    found = window.processes
    held = found.of(memory).latest()[0]
    rows = set(zip(found.pid, found.row, found.hw_ids, held, strict=True))
    assert {(101, 1, "GPU-1", 8e9), (101, 1, "GPU-0", 5e8), (999, -1, "GPU-0", 3e9)} == rows
    assert 8e9 == window.of_ranks(memory).latest()[0][1]


def test_attempts_beyond_the_newest_three_are_forgotten(valid, after):
    for attempt in range(5):
        valid.info(0, 10.0 * attempt, attempt=attempt)
        valid.step(0, 1, 10.0 * attempt + 1, attempt=attempt)
    valid.windows.forget(after(100))
    assert [2, 3, 4] == [number for _, number in valid.windows.attempts]
    assert 4 == valid.window().attempt


def test_a_job_that_was_silent_for_half_a_day_is_forgotten(two_by_two, after):
    live = two_by_two.windows.table.live
    two_by_two.windows.forget(after(FORGET_SECONDS - 10))
    assert 1 == len(queries.jobs(two_by_two.windows))
    two_by_two.windows.forget(after(FORGET_SECONDS + 10))
    assert [] == queries.jobs(two_by_two.windows)
    two_by_two.info(0, FORGET_SECONDS + 20, job="run-2")
    assert (1, live) == (two_by_two.windows.table.live, two_by_two.windows.expired)


def test_a_forgotten_job_that_speaks_again_is_known_again(two_by_two, after):
    later = FORGET_SECONDS + 10
    two_by_two.windows.forget(after(later))
    for rank in range(4):
        host = "host-a" if rank < 2 else "host-b"
        two_by_two.info(rank, later + 1, host=host, world_size=4, local_rank=rank % 2)
        two_by_two.step(rank, 7, later + 2, host=host)
        two_by_two.step(rank, 8, later + 3, host=host)
    window = two_by_two.window(now=later + 3)
    assert [7, 8] == window.steps.index.tolist()
    assert [0, 0, 1, 1] == window.host_of.tolist()
    assert [100, 101, 102, 103] == window.pids.tolist()


def test_more_series_than_planned_for_are_placed(valid):
    for rank in range(0, 1200, 300):
        valid.metrics(*((AGE, 1.0, 1, {"rank": rank + n}) for n in range(300)))
    assert 1200 == len(valid.window().ranks)
    assert (valid.window().of_ranks(AGE).latest()[0] == 1.0).all()
