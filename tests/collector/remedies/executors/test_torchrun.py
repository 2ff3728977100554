"""Orders to the agents of a job's hosts: asked at once, waited for, refused if nobody answers."""

import pytest
from tests.clocks import SetClock

from rankscope.collector.remedies import executors
from rankscope.collector.remedies.executors.contract import (
    RefusedOrderError,
    UnansweredOrderError,
)
from rankscope.collector.settings.actions import ExecutorSettings

T0 = 1_700_000_000.0


@pytest.fixture
def clock():
    return SetClock(T0)


@pytest.fixture
def executor(store, clock):
    return executors.of(
        ExecutorSettings(kind="torchrun"),
        clock,
        launchers=store,
        hosts_of=lambda job: ("gpu-1", "gpu-2") if job == "1" else (),
    )


def asked(store, host, at=T0):
    return [(row.job, row.what, row.at) for row in store.wanted_of_launchers(host, at)]


def test_a_restart_asks_every_host_of_the_job_and_is_done_once_all_have_answered(
    store, executor, order_of, allowed
):
    order = order_of("restart")
    seen = executor.look(order)
    with pytest.raises(UnansweredOrderError, match="gpu-1, gpu-2"):
        executor.carry_out(order, seen, allowed)
    assert [("1", "restart", T0)] == asked(store, "gpu-1") == asked(store, "gpu-2")
    assert store.launcher_answered("ab12", "gpu-1", "done", "ended ranks 0, 1")
    with pytest.raises(UnansweredOrderError, match="of gpu-2"):
        executor.carry_out(order, seen, allowed)
    assert store.launcher_answered("ab12", "gpu-2", "done", "ended ranks 2, 3")
    assert "gpu-1: ended ranks 0, 1; gpu-2: ended ranks 2, 3" == executor.carry_out(
        order, seen, allowed
    )
    assert 1 == allowed.count
    assert [] == asked(store, "gpu-1")


def test_a_host_that_is_left_out_loses_its_torchrun_and_the_others_only_their_ranks(
    store, executor, order_of, allowed
):
    order = order_of("exclude_node", host="gpu-2")
    with pytest.raises(UnansweredOrderError):
        executor.carry_out(order, executor.look(order), allowed)
    assert [("1", "restart", T0)] == asked(store, "gpu-1")
    assert [("1", "leave", T0)] == asked(store, "gpu-2")


def test_a_host_that_is_lost_answers_nobody_and_the_others_go_on_without_it(
    store, executor, clock, order_of, allowed
):
    order = order_of("exclude_node", host="gpu-2")
    seen = executor.look(order)
    with pytest.raises(UnansweredOrderError):
        executor.carry_out(order, seen, allowed)
    store.launcher_answered("ab12", "gpu-1", "done", "ended ranks 0, 1")
    clock.at += 21.0
    assert "nobody answers there" in executor.carry_out(order, seen, allowed)
    assert [] == asked(store, "gpu-2", clock.at + 40.0), "it is not wanted of it later"


def test_an_agent_that_does_not_ask_is_not_waited_for(store, executor, clock, order_of, allowed):
    order = order_of("restart")
    seen = executor.look(order)
    with pytest.raises(UnansweredOrderError):
        executor.carry_out(order, seen, allowed)
    store.launcher_answered("ab12", "gpu-1", "done", "")
    clock.at += 61.0
    with pytest.raises(RefusedOrderError, match=r"no agent of gpu-2 did it \(restarting.allowed\)"):
        executor.carry_out(order, seen, allowed)


def test_an_agent_that_was_told_late_is_given_time_to_answer(
    store, executor, clock, order_of, allowed
):
    order = order_of("restart")
    seen = executor.look(order)
    with pytest.raises(UnansweredOrderError):
        executor.carry_out(order, seen, allowed)
    for host in ("gpu-1", "gpu-2"):
        asked(store, host, T0 + 59.0)
    clock.at += 61.0
    with pytest.raises(UnansweredOrderError):
        executor.carry_out(order, seen, allowed)


def test_what_one_agent_refuses_is_refused_with_its_reason(store, executor, order_of, allowed):
    order = order_of("restart")
    seen = executor.look(order)
    with pytest.raises(UnansweredOrderError):
        executor.carry_out(order, seen, allowed)
    store.launcher_answered("ab12", "gpu-1", "refused", "torchrun would end the job")
    store.launcher_answered("ab12", "gpu-2", "done", "")
    with pytest.raises(RefusedOrderError, match="gpu-1: torchrun would end the job"):
        executor.carry_out(order, seen, allowed)


@pytest.mark.parametrize(
    ("order", "why"),
    [
        ({"action": "exclude_node", "host": "gpu-9"}, "does not run on gpu-9"),
    ],
)
def test_what_cannot_be_left_out_is_refused_before_anything_is_done(executor, order_of, order, why):
    with pytest.raises(RefusedOrderError, match=why):
        executor.look(order_of(**order))


def test_a_job_that_nobody_knows_is_asked_for_again(executor, order_of):
    with pytest.raises(UnansweredOrderError, match="no host of job 7 is known"):
        executor.look(order_of("restart", job="7"))


def test_a_host_that_left_comes_back_by_its_torchrun_alone(store, executor, order_of, allowed):
    order = order_of("exclude_node", host="gpu-2")
    seen = executor.look(order)
    with pytest.raises(UnansweredOrderError):
        executor.carry_out(order, seen, allowed)
    store.launcher_answered("ab12", "gpu-2", "done", "")
    with pytest.raises(RefusedOrderError, match="start torchrun on gpu-2 again"):
        executor.undo(order, seen, allowed)


def test_a_host_that_refused_has_nothing_to_take_back(store, executor, order_of, allowed):
    order = order_of("exclude_node", host="gpu-2")
    seen = executor.look(order)
    with pytest.raises(UnansweredOrderError):
        executor.carry_out(order, seen, allowed)
    store.launcher_answered("ab12", "gpu-2", "refused", "--nnodes=2")
    assert "nothing was done there" == executor.undo(order, seen, allowed)
