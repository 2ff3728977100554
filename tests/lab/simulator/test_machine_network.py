"""Simulated networks: ports, rails, leaf switches, and what the slowest link does to a job."""

import dataclasses

import numpy as np
import pytest

from rankscope.lab.simulator import fabric, recording
from rankscope.lab.simulator.conditions import healthy, settled
from rankscope.lab.simulator.placement import ports_on, seat
from rankscope.lab.simulator.shape import (
    EPOCH,
    ReportingHabits,
    ScenarioError,
    SimulatedCluster,
    SimulatedJob,
)

from .machines import after, broken, events, injected, rows, scenario, slowdown, steps

PLACE = {"host": 2, "place": 1}


def test_a_collective_is_as_slow_as_the_slowest_link_of_its_group():
    cluster = SimulatedCluster(hosts=4, slots=2, nics=2)
    seats = seat(cluster, SimulatedJob(tp=2), attempt=0, order=np.arange(4))
    state = settled(healthy(cluster))
    state.ports.bandwidth[2, 1] = 0.25
    groups = {group.desc: group for group in seats.groups if group.kind == "dp"}
    # Rank 5 is behind the bad port; its data-parallel peers are the odd ranks.
    assert fabric.slowdown(state, seats, groups["DP_GROUP_0_1"].members) == pytest.approx(4)
    assert fabric.slowdown(state, seats, groups["DP_GROUP_0_0"].members) == 1
    inside = next(group for group in seats.groups if group.kind == "tp" and 5 in group.members)
    assert fabric.slowdown(state, seats, inside.members) == 1


def test_a_job_on_one_host_feels_nothing_of_the_network():
    cluster = SimulatedCluster(hosts=2, slots=4)
    seats = seat(cluster, SimulatedJob(hosts=(0,)), attempt=0, order=np.array([0]))
    state = settled(healthy(cluster))
    state.ports.bandwidth[:], state.ports.severed[:], state.network = 0.1, True, 5.0
    assert fabric.slowdown(state, seats) == 1
    assert not fabric.severed(state, seats)


def test_a_bad_cable_lowers_the_jobs_bus_bandwidth_and_counts_on_its_port_alone():
    base = scenario(nics=2, reporting=ReportingHabits(collective_statistics=True))
    found = broken("cable_errors", base=base, symbols=80.0, packets=10.0, factor=2.0, **PLACE)
    onset = found.truth.onset - EPOCH
    assert found.truth.entity.id == "gpu-02/mlx5_1:1"
    assert list(found.truth.entity.ranks) == [5]
    for at, value in rows(found, "collective.bus_bandwidth").values():
        early, late = value[at < onset], value[at > onset + 5]
        assert np.median(late) == pytest.approx(0.5 * np.median(early), rel=0.1)
    grown = {
        (host, dict(named)["device"])
        for (host, named), (_, value) in rows(
            found, "hw.network.errors", error_type="symbol_error"
        ).items()
        if value[-1] - value[0] > 100
    }
    assert grown == {(2, "mlx5_1")}
    assert {event.attributes["device"] for event in events(found, "network.fault")} == {"mlx5_1"}
    assert slowdown(found) == pytest.approx(1.2, abs=0.05)


def test_nobody_is_late_behind_a_bad_cable():
    found = broken("cable_errors", factor=3.0, **PLACE)
    late = [at.min() > found.truth.onset - EPOCH + 5 for at in found.attempts[0].steps.start]
    compute = np.median(np.stack(found.attempts[0].steps.compute)[late], axis=0)
    assert compute.max() / compute.min() < 1.06


def test_a_port_that_goes_down_is_an_event_and_ends_its_job_when_nothing_stands_in():
    found = broken("nic_down", gives_up=20.0, base=scenario(nics=2), **PLACE)
    onset = found.truth.onset - EPOCH
    first = min(found.attempts[0].deaths.values(), key=lambda death: death.at)
    assert first.at == pytest.approx(onset + 20)
    assert "RETRY_EXC" in first.text
    (down,) = events(found, "network.link")
    assert down.attributes["state"] == "down"
    assert down.attributes["device"] == "mlx5_1"
    up = after(found, "hw.network.up", "device")
    assert up == {"mlx5_0": 1.0, "mlx5_1": 1.0}  # of four hosts, three have theirs up
    last = {
        (host, dict(named)["device"]): value[-1]
        for (host, named), (_, value) in rows(found, "hw.network.up").items()
    }
    assert [key for key, value in last.items() if value == 0] == [(2, "mlx5_1")]


def test_a_neighbouring_port_carries_what_a_port_that_is_down_cannot():
    base = scenario(nics=2)
    found = broken("nic_down", failover=True, left=0.5, base=base, **PLACE)
    onset = found.truth.onset - EPOCH
    assert not found.attempts[0].deaths
    rate = {}
    for (host, named), (at, value) in rows(found, "hw.network.io", direction="transmit").items():
        late = at > onset + 5
        span = at[late][-1] - at[late][0]
        rate[host, dict(named)["device"]] = (value[late][-1] - value[late][0]) / span
    assert rate[2, "mlx5_1"] == 0
    assert rate[2, "mlx5_0"] == pytest.approx(2 * rate[1, "mlx5_0"], rel=0.05)


def test_transfers_stand_still_while_a_link_flaps_and_go_on_after():
    found = broken("link_flap", every=20.0, down=4.0, **PLACE)
    ends, seconds = steps(found)
    onset = found.truth.onset - EPOCH
    assert not found.attempts[0].deaths
    assert (seconds[ends > onset] > 3).sum() >= 3
    assert np.median(seconds[ends > onset]) < 1.2
    (counter,) = [
        value
        for (host, _), (_, value) in rows(
            found, "hw.network.errors", error_type="link_downed"
        ).items()
        if host == 2
    ]
    assert counter[-1] - counter[0] == 4
    assert (np.diff(counter) >= 0).all()
    assert len(events(found, "network.link")) >= 4


@pytest.mark.parametrize("rails", [False, True])
def test_a_switch_fault_touches_exactly_the_ports_on_it(rails):
    base = scenario(nics=2, rails=rails, hosts_per_switch=2)
    found = broken("switch", factor=2.0, per_switch=2, rails=rails, base=base, **PLACE)
    touched = {
        (host, int(dict(named)["device"][-1]))
        for (host, named), (_, value) in rows(
            found, "hw.network.errors", error_type="port_xmit_discards"
        ).items()
        if value[-1] > value[0]
    }
    assert touched == set(ports_on(base.cluster, found.truth.entity.id))
    assert {host for host, _ in touched} == {2, 3}
    assert len(touched) == (2 if rails else 4)
    named = {
        (host, int(dict(key)["device"][-1]))
        for (host, key), _ in rows(found, "hw.network.info", switch=found.truth.entity.id).items()
    }
    assert named == touched


def test_a_host_on_several_switches_names_none_as_its_own():
    for rails in (False, True):
        found = recording.simulate(scenario(nics=2, rails=rails), 1)
        own = {
            dict(row.resource.extra).get("network.switch")
            for row in found.series
            if row.metric == "hw.network.up"
        }
        assert own == ({None} if rails else {"leaf-00"})


def test_a_switch_that_goes_down_takes_its_links_with_it_and_gives_them_back():
    base = scenario(hosts_per_switch=2)
    found = broken("switch", down=True, per_switch=2, until=85.0, base=base, **PLACE)
    assert not found.attempts[0].deaths
    states = [(event.attributes["state"]) for event in events(found, "network.link")]
    assert sorted(states) == ["down", "down", "up", "up"]
    ends, seconds = steps(found)
    assert seconds.max() == pytest.approx(15, abs=3)
    assert ends[-1] > 140


def test_congestion_marks_packets_everywhere_and_breaks_no_link():
    found = broken("network_slow", factor=3.0)
    onset = found.truth.onset - EPOCH
    for at, value in rows(found, "hw.network.congestion", kind="ecn").values():
        rate = np.diff(value) / np.diff(at)
        assert rate[at[1:] > onset + 5].mean() > 20 * max(rate[at[1:] < onset].mean(), 0.01)
    assert not events(found, "network.link")
    assert not events(found, "network.fault")


def test_a_host_that_fell_back_to_sockets_sends_through_its_management_interface():
    found = broken("transport_fallback", onset=1.0, host=2, factor=4.0)
    sent = after(found, "system.network.io", "host", direction="transmit")
    assert max(sent, key=lambda host: sent[host]) == 2
    assert sent[2] > 100 * sent[1]
    moved = after(found, "hw.network.io", "host", direction="transmit")
    assert moved[2] == 0


def test_ranks_that_cannot_reach_a_host_never_make_a_step():
    job = SimulatedJob(step_seconds=1.0, start_timeout=60.0)
    found = broken("bootstrap_failed", onset=1.0, host=2, base=scenario(job=job))
    assert not found.attempts[0].steps.index
    assert len(found.attempts[0].deaths) == 8
    assert rows(found, "training.rank.info")
    assert not rows(found, "training.step")
    roots = {event.attributes["role"] for event in events(found, "log.fault")}
    assert roots == {"root", "cascade"}


@pytest.mark.parametrize("seed", range(6))
def test_a_recording_holds_the_end_of_a_start_that_reaches_nobody(seed):
    base = scenario(job=SimulatedJob(step_seconds=1.0), seconds=120.0)
    found = injected("bootstrap_failed", base, seed=seed)
    assert events(found, "log.fault")


@pytest.mark.parametrize("kind", ["cable_errors", "nic_down", "switch", "transport_fallback"])
def test_a_network_fault_needs_several_hosts(kind):
    base = scenario(hosts=1, slots=4)
    with pytest.raises(ScenarioError, match=r"the fault needs \d hosts"):
        injected(kind, base)


def test_jobs_on_different_hosts_of_a_leaf_switch_suffer_together_and_others_do_not():
    places = {"on-a": (0, 1), "on-b": (0, 1), "off": (4, 5)}
    slots = {"on-a": (0,), "on-b": (1,), "off": (0, 1)}
    jobs = tuple(
        SimulatedJob(name=name, hosts=hosts, slots=slots[name], step_seconds=1.0, hiccups=0.0)
        for name, hosts in places.items()
    )
    base = dataclasses.replace(
        scenario(hosts=8, hosts_per_switch=4),
        jobs=jobs,
        fault={
            "kind": "switch", "onset": 70.0, "factor": 4.0, "per_switch": 4, "host": 1, "place": 0,
        },
    )  # fmt: skip
    found = recording.simulate(base, 1)
    slower = {}
    for number, attempt in enumerate(found.attempts):
        ends, seconds = steps(found, number)
        early = np.median(seconds[(ends > 25) & (ends < 70)])
        slower[attempt.job.name] = float(np.median(seconds[ends > 75]) / early)
    assert slower["on-a"] == pytest.approx(1.6, abs=0.1)
    assert slower["on-b"] == pytest.approx(1.6, abs=0.1)
    assert slower["off"] == pytest.approx(1.0, abs=0.05)
