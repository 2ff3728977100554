"""The simulated cluster obeys what synchronous training obeys."""

from functools import cache

import numpy as np
import pytest

from rankscope.formats.otlp.columns import SeriesTable
from rankscope.lab.simulator import recording, scenarios
from rankscope.lab.simulator.shape import EPOCH


@cache
def made(name, seed=1):
    return recording.simulate(scenarios.named(name), seed)


def matrix(rows):
    return np.stack(rows)


def values(found, metric, **pairs):
    """Return {attributes: (at, value)} of a metric whose attributes include these pairs."""
    rows = {}
    for row in found.series:
        named = dict(row.attributes)
        if row.metric == metric and all(named.get(k) == v for k, v in pairs.items()):
            rows[row.host, row.attributes] = (row.at, row.value)
    assert rows, f"no series of {metric} with {pairs}"
    return rows


def test_every_rank_shows_the_same_step_time_whoever_is_slow():
    attempt = made("slow_gpu").attempts[0]
    duration = matrix(attempt.steps.end) - matrix(attempt.steps.start)
    spread = duration.max(axis=1) / duration.min(axis=1)
    assert np.median(spread) < 1.05


def test_step_time_is_the_slowest_ranks_own_time_and_the_collective():
    attempt = made("quiet").attempts[0]
    steps = attempt.steps
    ready = matrix(steps.start) + matrix(steps.data) + matrix(steps.compute)
    waits = matrix(steps.sync)[:, None] - ready
    np.testing.assert_allclose(matrix(steps.comm), waits)
    # The last one waits for the transfer alone, and nobody less.
    assert (np.argmin(waits, axis=1) == np.argmax(ready, axis=1)).all()
    assert (matrix(steps.comm) > 0).all()


@pytest.mark.parametrize("name", ["slow_gpu", "cpu_contention_gpu", "thermal_throttle"])
def test_the_culprit_waits_least_and_its_peers_wait_for_it(name):
    found = made(name)
    attempt, culprits = found.attempts[0], list(found.truth.entity.ranks)
    onset = found.truth.onset - EPOCH
    late = matrix(attempt.steps.start)[:, 0] > onset + 25
    comm = np.median(matrix(attempt.steps.comm)[late], axis=0)
    peers = np.delete(comm, culprits)
    assert comm[culprits].max() < peers.min()
    before = np.median(matrix(attempt.steps.comm)[~late][10:], axis=0)
    assert (peers > before.max()).all()


def test_a_slow_network_makes_nobody_late():
    found = made("network_slow")
    attempt = found.attempts[0]
    late = matrix(attempt.steps.start)[:, 0] > found.truth.onset - EPOCH
    compute = matrix(attempt.steps.compute)
    before, after = np.median(compute[~late], axis=0), np.median(compute[late], axis=0)
    np.testing.assert_allclose(after, before, rtol=0.05)
    comm = matrix(attempt.steps.comm)
    assert np.median(comm[late]) > 2 * np.median(comm[~late])


def test_busy_neighbours_fill_the_host_and_its_ranks_wait_for_a_cpu():
    found = made("cpu_contention_gpu")
    host = int(found.truth.entity.id.removeprefix("gpu-"))
    onset = found.truth.onset - EPOCH
    for (reporter, _), (at, value) in values(found, "process.cpu.wait").items():
        rate = np.diff(value) / np.diff(at)
        after = rate[at[1:] > onset + 10].mean()
        assert (after > 0.2) if reporter == host else (after < 0.05)
    for (reporter, _), (at, value) in values(found, "system.cpu.utilization").items():
        assert (value[at > onset + 10].mean() > 0.9) == (reporter == host)


def test_a_quota_leaves_the_host_idle_and_shows_in_its_own_counter():
    found = made("cpu_contention_quota")
    host = int(found.truth.entity.id.removeprefix("gpu-"))
    onset = found.truth.onset - EPOCH
    for (reporter, _), (at, value) in values(found, "container.cpu.throttled").items():
        grown = value[-1] - np.interp(onset, at, value)
        assert (grown > 5) if reporter == host else (grown == 0)
    for (reporter, _), (at, value) in values(found, "system.cpu.utilization").items():
        if reporter == host:
            assert value[at > onset + 10].mean() < 0.6


def test_steal_shows_in_the_hypervisors_counter_alone():
    found = made("cpu_contention_steal")
    host = int(found.truth.entity.id.removeprefix("gpu-"))
    for at, value in values(found, "process.cpu.wait").values():
        assert (value[-1] - value[0]) / (at[-1] - at[0]) < 0.05
    for (reporter, _), (_, value) in values(found, "system.cpu.steal").items():
        assert (value[-1] > 50) == (reporter == host)


def test_counters_never_fall_within_an_attempt():
    found = made("quiet_pauses")
    for metric in ("process.cpu.wait", "collective.completed", "collective.enqueued"):
        for _, value in values(found, metric).values():
            assert (np.diff(value) >= 0).all()


def test_nobody_completes_more_than_all_launched_nor_starts_more_than_it_launched():
    found = made("quiet_3d")
    counted = {
        name: values(found, f"collective.{name}") for name in ("enqueued", "started", "completed")
    }
    for key, (_, enqueued) in counted["enqueued"].items():
        started, completed = counted["started"][key][1], counted["completed"][key][1]
        assert (completed <= started).all()
        assert (started <= enqueued).all()


@pytest.mark.parametrize("name", ["stuck_process", "stuck_process_busy", "stuck_process_3d"])
def test_a_stuck_rank_has_launched_least_and_everybody_stands_at_the_same_completed(name):
    found = made(name)
    (culprit,) = found.truth.entity.ranks
    groups = [g for g in found.attempts[0].seats.groups if culprit in g.members]
    assert groups
    behind = 0
    for group in groups:
        enqueued = {
            dict(named)["rank"]: int(value[-1])
            for (_, named), (_, value) in values(
                found, "collective.enqueued", group=group.name
            ).items()
        }
        completed = {
            int(value[-1])
            for (_, _), (_, value) in values(
                found, "collective.completed", group=group.name
            ).items()
        }
        assert len(completed) == 1
        assert enqueued[culprit] == min(enqueued.values())
        behind += enqueued[culprit] < max(enqueued.values())
    assert behind


def test_progress_age_rises_on_every_rank_when_one_is_stuck():
    found = made("stuck_process")
    for at, value in values(found, "training.progress.age").values():
        assert value[-1] > 50
        np.testing.assert_allclose(np.diff(value[-5:]), np.diff(at[-5:]))


def test_a_released_rank_goes_on_where_it_stood():
    attempt = made("stuck_process_released").attempts[0]
    duration = np.diff(matrix(attempt.steps.sync))
    assert 35 < duration.max() < 45
    assert attempt.steps.index == list(range(len(attempt.steps.index)))


def test_nan_of_one_rank_is_local_for_one_step_and_everywhere_after():
    found = made("nan_rank")
    (culprit,) = found.truth.entity.ranks
    rows = found.attempts[0].steps.values
    bad = matrix([np.isnan(row.loss) for row in rows])
    first = int(np.argmax(bad.any(axis=1)))
    assert np.flatnonzero(bad[first]).tolist() == [culprit]
    assert np.isnan(rows[first].grad_norm)
    assert bad[first + 1 :].all()


def test_a_guarded_job_survives_the_nan():
    rows = made("nan_rank_recovers").attempts[0].steps.values
    bad = matrix([np.isnan(row.loss) for row in rows])
    assert bad.any(axis=1).sum() == 1
    assert bad.sum() == 1


def test_a_crash_ends_its_rank_first_and_every_peer_after():
    found = made("crash")
    (culprit,) = found.truth.entity.ranks
    deaths = found.attempts[0].deaths
    first = min(deaths, key=lambda rank: deaths[rank].at)
    assert first == culprit
    assert len(deaths) == found.attempts[0].seats.world
    assert all(death.exit_code or death.signal for death in deaths.values())


def test_a_lost_host_says_nothing_more_while_the_others_do():
    found = made("host_lost")
    host = int(found.truth.entity.id.removeprefix("gpu-"))
    onset = found.truth.onset - EPOCH
    last: dict[int, float] = {}
    for row in found.series:
        last[row.host] = max(last.get(row.host, 0), float(row.at[-1]))
    # A step that had begun may still carry it on for a moment.
    assert last[host] < onset + 2
    assert min(value for key, value in last.items() if key != host) > 140


def test_what_a_lost_host_had_not_sent_is_lost_with_it():
    found = made("host_lost")
    onset = found.truth.onset
    table = SeriesTable()
    later = [
        {table[i].resource.host for i in what.columns.series.tolist()}
        for arrival, what in found.batches(table)
        if arrival > onset + 0.5 and not isinstance(what, list)
    ]
    assert later
    assert found.truth.entity.id not in set().union(*later)


def test_heat_lowers_the_clock_and_raises_the_temperature_of_the_right_device():
    found = made("thermal_throttle")
    onset = found.truth.onset - EPOCH
    device = found.truth.entity.id
    rows = {
        dict(named)["hw.id"]: float(np.median(value[at > onset + 30]))
        for (_, named), (at, value) in values(found, "hw.frequency", domain="sm").items()
        if (at > onset + 30).any()
    }
    assert min(rows, key=lambda name: rows[name]) == device
    assert rows[device] < 0.7 * sorted(rows.values())[1]


def test_a_requeued_job_keeps_its_name_moves_its_ranks_and_counts_again():
    found = made("quiet_restarts")
    assert [attempt.number for attempt in found.attempts] == [0, 1, 2]
    first, second = found.attempts[0], found.attempts[1]
    assert (first.seats.host != second.seats.host).any()
    assert second.steps.index[0] % 50 == 0
    assert second.steps.index[0] <= first.steps.index[-1] + 1
    assert second.born > float(first.died.max())


def test_tokens_explain_compute_when_lengths_vary():
    attempt = made("quiet_variable_length").attempts[0]
    tokens = matrix([row.tokens for row in attempt.steps.values])[10:].ravel()
    compute = matrix(attempt.steps.compute)[10:].ravel()
    assert np.corrcoef(tokens, compute)[0, 1] > 0.95
    slowest = np.argmax(matrix(attempt.steps.compute)[10:], axis=1)
    assert len(np.unique(slowest)) == attempt.seats.world
