"""Simulated hosts: storage, clocks, drivers, schedulers, software."""

import json

import numpy as np
import pytest

from rankscope.formats.otlp.columns import SeriesTable
from rankscope.lab.simulator import recording
from rankscope.lab.simulator.shape import EPOCH, ReportingHabits, SimulatedJob

from .machines import after, broken, events, rows, scenario, slowdown


def test_slow_storage_of_one_host_shows_in_its_own_disk_and_delays_its_ranks_alone():
    found = broken("storage_slow", host=2, factor=31.0)
    assert found.truth.entity.id == "gpu-02:/scratch"
    onset = found.truth.onset - EPOCH
    busy = {}
    for (host, _), (at, value) in rows(found, "system.disk.io_time").items():
        late = at > onset + 5
        busy[host] = (value[late][-1] - value[late][0]) / (at[late][-1] - at[late][0])
    assert busy[2] > 0.9
    assert max(busy[host] for host in (0, 1, 3)) < 0.1
    late = [at.min() > onset + 5 for at in found.attempts[0].steps.start]
    data = np.median(np.stack(found.attempts[0].steps.data)[late], axis=0)
    assert data[[4, 5]].min() > 5 * np.delete(data, [4, 5]).max()
    assert slowdown(found) == pytest.approx(1.3, abs=0.15)


def test_a_slow_server_makes_all_wait_and_no_disk_busy():
    found = broken("storage_slow", host=2, factor=31.0, shared=True)
    assert found.truth.entity.id == "/mnt/data"
    assert found.truth.entity.host is None
    waiting = after(found, "system.pressure", "host", resource="io", kind="some")
    assert min(waiting.values()) > 0.2
    for at, value in rows(found, "system.disk.io_time").values():
        assert (value[-1] - value[0]) / (at[-1] - at[0]) < 0.1


def test_a_file_system_fills_up_and_then_a_rank_cannot_write():
    found = broken("disk_full", host=2, place=0, ramp=30.0)
    full = {
        (host, dict(named)["mountpoint"]): value.max()
        for (host, named), (_, value) in rows(found, "system.filesystem.utilization").items()
    }
    assert [key for key, value in full.items() if value > 0.95] == [(2, "/scratch")]
    first = min(found.attempts[0].deaths.values(), key=lambda death: death.at)
    assert "No space left on device" in first.text


def test_a_clock_that_runs_away_dates_its_hosts_telemetry_and_nobody_elses():
    found = broken("clock_skew", host=2, jump=5.0, ramp=0.0)
    onset = found.truth.onset - EPOCH
    ahead: dict[int, list[float]] = {host: [] for host in range(4)}
    table = SeriesTable()
    for arrival, what in found.batches(table):
        if isinstance(what, list) or arrival - EPOCH < onset + 5:
            continue
        host = int(table[int(what.columns.series[0])].resource.host[-1])
        ahead[host].append(what.columns.at.max() - arrival)
    late = {host: float(np.median(values)) for host, values in ahead.items()}
    assert late[2] - late[0] == pytest.approx(5, abs=0.7)
    assert late[3] - late[0] == pytest.approx(0, abs=0.7)
    measured = after(found, "system.clock.offset", "host")
    assert measured[2] == pytest.approx(5, abs=0.1)


def test_lines_and_batches_agree_about_a_clock_that_runs_away():
    found = broken("clock_skew", host=2, jump=5.0, ramp=10.0)
    table = SeriesTable()
    for line, (_, batch) in zip(found.lines(), found.batches(table), strict=True):
        if isinstance(batch, list):
            continue
        times = [
            int(point["timeUnixNano"]) / 1e9
            for resource in json.loads(line)["resourceMetrics"]
            for scope in resource["scopeMetrics"]
            for metric in scope["metrics"]
            for kind in ("gauge", "sum")
            if kind in metric
            for point in metric[kind]["dataPoints"]
        ]
        np.testing.assert_allclose(sorted(times), sorted(batch.columns.at), atol=1e-5)


def test_a_clock_that_nothing_disciplines_has_no_offset_to_report():
    found = broken("clock_skew", host=2, jump=2.0, reported=False)
    assert sorted(after(found, "system.clock.offset", "host")) == [0, 1, 3]


def test_a_hung_driver_silences_all_devices_of_its_host_and_stops_its_ranks():
    found = broken("driver_hang", host=2, logged=False)
    onset = found.truth.onset - EPOCH
    for (host, _), (at, _) in rows(found, "hw.power").items():
        assert (at.max() < onset) == (host == 2)
    failed = after(found, "hw.gpu.count", "host", state="failed")
    assert failed[2] == 2
    assert {event.attributes["code"] for event in events(found, "gpu.fault")} == {"nvml.hung"}
    assert found.attempts[0].unfinished.limit[[4, 5]].max() < 1
    # The agent itself lives on.
    assert (
        max(
            at.max()
            for (host, _), (at, _) in rows(found, "system.memory.usage").items()
            if host == 2
        )
        > 140
    )


def test_an_evicted_host_ends_its_ranks_by_sigterm_before_any_other():
    found = broken("evicted", host=2)
    deaths = found.attempts[0].deaths
    first = sorted(deaths, key=lambda rank: deaths[rank].at)[:2]
    assert sorted(first) == [4, 5]
    assert {deaths[rank].signal for rank in first} == {15}
    (said,) = events(found, "scheduler.event")
    assert said.attributes["reason"] == "Evicted"


def test_a_lost_host_may_have_written_a_machine_check():
    found = broken("host_lost", host=2, logged=True)
    assert [event.attributes["signature"] for event in events(found, "log.fault")] == [
        "host.machine_check"
    ]


@pytest.mark.parametrize("what", ["driver", "firmware", "governor"])
def test_a_host_that_drifted_shows_a_version_of_its_own_and_costs_time(what):
    onset = 70.0 if what == "governor" else 1.0
    found = broken("config_drift", host=2, what=what, factor=2.0, onset=onset)
    hosts: dict[tuple[object, object], set[int]] = {}
    for host, named in rows(found, "system.software.info"):
        hosts.setdefault((dict(named)["name"], dict(named)["version"]), set()).add(host)
    assert [who for who in hosts.values() if who != {0, 1, 2, 3}].count({2}) >= 1
    changes = events(found, "change")
    assert len(changes) == (what == "governor")
    healthy = recording.simulate(scenario(), 1)
    last = [
        row.steps.sync[-1] - row.steps.sync[-40] for row in (found.attempts[0], healthy.attempts[0])
    ]
    assert last[0] > 1.05 * last[1]


def test_busy_neighbours_press_on_the_cpus_and_a_full_memory_on_memory():
    found = broken("cpu_contention", host=2, severity=0.6)
    pressed = after(found, "system.pressure", "host", resource="cpu", kind="some")
    assert max(pressed, key=lambda host: pressed[host]) == 2
    assert pressed[2] > 0.1
    found = broken("host_oom", host=2, place=0, ramp=40.0, onset=100.0)
    (at, value) = next(
        series
        for (host, _), series in rows(
            found, "system.pressure", resource="memory", kind="some"
        ).items()
        if host == 2
    )
    assert value[(at > 92) & (at < 100)].max() > value[at < 50].max()


def test_checkpoints_keep_the_disk_busy_for_as_long_as_they_take():
    job = SimulatedJob(step_seconds=1.0, checkpoint_every=20, checkpoint_seconds=10.0)
    found = recording.simulate(scenario(job=job), 1)
    for _, value in rows(found, "system.disk.io_time").values():
        assert np.diff(value).max() > 4 * np.median(np.diff(value))


@pytest.mark.parametrize("holds", [False, True])
def test_tasks_wait_for_storage_while_devices_rest_for_the_checkpoint(holds):
    job = SimulatedJob(
        step_seconds=1.0, checkpoint_every=40, checkpoint_seconds=15.0, step_holds_pauses=holds
    )
    found = recording.simulate(scenario(job=job), 1)
    waits = rows(found, "system.pressure", resource="io", kind="some").items()
    (at, waiting) = next(row for (host, _), row in waits if host == 0)
    used = rows(found, "hw.gpu.tensor.activity").items()
    (when, activity) = next(row for (host, _), row in used if host == 0)
    rests = np.interp(at, when, activity) < 0.1 * np.median(activity)
    saves = waiting > 0.05
    begun = at > 30
    assert saves.any()
    assert (rests == saves)[begun].mean() > 0.9


def test_a_host_booted_during_the_recording_reports_from_then_on():
    base = scenario(booted=((1, 20.0),), job=SimulatedJob(step_seconds=1.0, starts_after=40.0))
    found = recording.simulate(base, 1)
    first: dict[int, float] = {}
    for row in found.series:
        first[row.host] = min(first.get(row.host, np.inf), row.at[0])
    assert first[1] > 20
    assert first[0] < 6
    (started,) = events(found, "agent.lifecycle")
    assert started.attributes["phase"] == "start"


def test_counters_of_hosts_and_ports_never_fall():
    for kind in ("cable_errors", "link_flap", "nic_down", "storage_slow", "switch"):
        found = broken(
            kind, host=1, until=100.0, **({} if kind == "storage_slow" else {"place": 0})
        )
        for metric in (
            "hw.network.errors",
            "hw.network.io",
            "system.disk.io_time",
            "hw.network.congestion",
            "system.pressure.time",
            "system.network.io",
        ):
            for _, value in rows(found, metric).values():
                assert (np.diff(value) >= 0).all(), (kind, metric)


def test_hidden_sources_say_nothing():
    base = scenario(reporting=ReportingHabits(hidden=("hw.*", "system.*")))
    found = recording.simulate(base, 1)
    assert all(not row.metric.startswith(("hw.", "system.")) for row in found.series)
