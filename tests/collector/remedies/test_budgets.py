"""Budgets hold over restarts, clocks and collectors: they are counted where an action starts."""

import dataclasses

import pytest


@pytest.fixture
def asks(happens, clock, flow):
    """Return a function that has one incident a node, each of a job of its own, renewed."""

    def ask(runner, nodes, seconds):
        end = clock.at + seconds
        while clock.at < end:
            clock.at += 20.0
            for number in range(nodes):
                happens(identity=f"{number:x}a", host=f"gpu-{number}", jobs=(f"run-{number}",))
            runner.step()

    return ask


@pytest.fixture
def fleet(flow, monkeypatch, clock):
    """Return a function that gives each of so many jobs two hosts."""

    def make(jobs):
        rows = [
            dataclasses.replace(
                flow.summary, job=f"run-{number}", hosts=(f"gpu-{number}", f"spare-{number}")
            )
            for number in range(jobs)
        ]
        monkeypatch.setattr(
            flow,
            "jobs",
            lambda: [dataclasses.replace(row, last_received=clock.at) for row in rows],
        )

    return make


def out(executor):
    return sorted(host for what, host in executor.orders if what == "exclude_node")


def test_so_many_nodes_an_hour(new_runner, asks, fleet, executor, clock):
    fleet(20)
    runner = new_runner(nodes_per_hour=2, fleet_share=1.0, wait_seconds=9000)
    asks(runner, 5, 600)
    assert 2 == len(out(executor))
    asks(runner, 5, 3000)
    assert 2 == len(out(executor))
    asks(runner, 5, 300)
    assert 4 == len(out(executor))


def test_a_share_of_the_fleet(new_runner, asks, fleet, executor, store, clock):
    fleet(20)
    runner = new_runner(nodes_per_hour=100, fleet_share=0.05, wait_seconds=9000)
    asks(runner, 5, 600)
    assert 2 == len(out(executor))
    assert "2 nodes are out, and 2 may be" in {row.reason for row in store.remedies()}
    done = next(row for row in store.remedies() if row.state == "done")
    store.want_undo_of_remedy(done.id, by="ann", note="", now=clock.at)
    asks(runner, 5, 200)
    assert 3 == len(out(executor))


def test_less_than_one_node_is_one(new_runner, asks, fleet, executor):
    fleet(3)
    asks(new_runner(nodes_per_hour=100, fleet_share=0.01), 3, 400)
    assert 1 == len(out(executor))


def test_none_is_none(new_runner, asks, fleet, executor):
    fleet(3)
    asks(new_runner(nodes_per_hour=100, fleet_share=0.0), 3, 400)
    assert [] == executor.orders


def test_restarts_of_one_job(new_runner, happens, passes, executor, clock):
    runner = new_runner(restarts_per_job_hour=1, outcome_seconds=100.0, wait_seconds=9000.0)
    passes(runner, 300, fault="software.stuck_process")
    passes(runner, 300, identity="b2", fault="software.deadlock")
    assert [("restart", "gpu-1")] == executor.orders
    passes(runner, 3600, identity="b2", fault="software.deadlock")
    assert [("restart", "gpu-1")] * 2 == executor.orders


def test_a_restart_of_the_collector_forgets_nothing(new_runner, asks, fleet, executor):
    fleet(20)
    for _ in range(4):
        asks(new_runner(nodes_per_hour=2, fleet_share=1.0), 5, 200)
    assert 2 == len(out(executor))


def test_a_clock_that_was_ahead_frees_no_budget(new_runner, asks, fleet, executor, clock):
    fleet(20)
    clock.at += 7200
    asks(new_runner(nodes_per_hour=2, fleet_share=1.0), 2, 200)
    clock.at -= 7200
    asks(new_runner(nodes_per_hour=2, fleet_share=1.0), 5, 400)
    assert 2 == len(out(executor))


def test_a_dry_run_keeps_the_same_budget(new_runner, asks, fleet, executor, store):
    fleet(20)
    asks(new_runner(mode="dry_run", nodes_per_hour=2, fleet_share=1.0), 5, 600)
    assert 2 == sum(row.state == "done" for row in store.remedies())
    assert [] == executor.orders
