"""Two collectors with one record: only who saw the verdict starts, and only one carries out."""

import pytest

from rankscope.collector.remedies.executors.contract import UnansweredOrderError
from rankscope.collector.remedies.runner import RemedyRunner
from rankscope.collector.store.remedy_changes import LostLeaseError


@pytest.fixture
def other(store, executor, flow, clock, settings_of):
    """Return the runner of another collector, which has none of the job's changes."""
    return RemedyRunner(
        settings=settings_of(),
        executors={"double": executor},
        store=store,
        flow=flow,
        clock=clock,
        store_clock=clock,
        owner="other",
    )


def test_who_does_not_evaluate_the_job_does_not_start(
    new_runner, other, happens, passes, clock, executor
):
    runner = new_runner()
    happens()
    runner.step()
    passes(other, 120)
    assert [] == executor.orders
    passes(runner, 20)
    assert [("exclude_node", "gpu-1")] == executor.orders


def test_who_is_at_it_is_left_alone_until_its_lease_ends(
    new_runner, other, happens, passes, clock, executor, states
):
    runner = new_runner()
    happens()
    runner.step()
    passes(runner, 50)
    during = []

    def meanwhile():
        other.step()
        during.append(len(executor.orders))

    executor.meanwhile = meanwhile
    passes(runner, 20)
    assert ([1], ["done"]) == (during, states())


def test_what_a_dead_one_began_another_ends(
    new_runner, other, happens, passes, executor, states, store
):
    class Killed(BaseException):
        pass

    def die():
        raise Killed

    runner = new_runner()
    happens()
    runner.step()
    passes(runner, 50)
    executor.meanwhile = die
    with pytest.raises(Killed):
        passes(runner, 20)
    executor.meanwhile = lambda: None
    store.subscribe(other.changed)
    passes(other, 50)
    assert (["started"], 1) == (states(), len(executor.orders))
    passes(other, 40)
    assert (["done"], 2) == (states(), len(executor.orders))


def test_what_a_dead_one_began_is_not_ended_once_its_reason_is_gone(
    new_runner, other, happens, passes, clock, executor, store
):
    """What was done of it is taken back: the executor cannot say how far it came."""

    def die():
        raise KeyboardInterrupt

    runner = new_runner()
    happens()
    runner.step()
    passes(runner, 50)
    executor.meanwhile = die
    with pytest.raises(KeyboardInterrupt):
        passes(runner, 20)
    executor.meanwhile = lambda: None
    store.subscribe(other.changed)
    clock.at += 700
    happens("resolved")
    other.step()
    other.step()
    row = store.remedies()[0]
    assert ("failed", [("exclude_node", "gpu-1"), ("undo", "gpu-1")]) == (
        row.state,
        executor.orders,
    )


def test_the_answer_that_is_missing_is_asked_for_though_the_job_recovered(
    new_runner, other, happens, passes, clock, executor, store, flow
):
    """That the job goes on elsewhere ended the incident: no reason to bring the bad node back."""

    def die():
        raise KeyboardInterrupt

    runner = new_runner()
    happens()
    runner.step()
    passes(runner, 50)
    executor.meanwhile = die
    with pytest.raises(KeyboardInterrupt):
        passes(runner, 20)
    executor.meanwhile = lambda: None
    store.subscribe(other.changed)
    flow.moves(attempt=1)
    clock.at += 100
    happens("resolved")
    other.step()
    assert "done" == store.remedies()[0].state


def test_one_that_slept_through_its_lease_does_nothing_more(
    new_runner, other, happens, passes, clock, executor, store
):
    """It wakes up while another has the action: it may not even say how it ended."""
    runner = new_runner()
    happens()
    runner.step()
    passes(runner, 50)

    store.subscribe(other.changed)

    def sleep():
        executor.meanwhile = lambda: None
        clock.at += 70
        happens()
        clock.at += 20
        happens()
        other.step()

    executor.meanwhile = sleep
    passes(runner, 20)
    row = store.remedies()[0]
    assert ("done", "other") == (row.state, row.owner)
    with pytest.raises(LostLeaseError):
        store.renew_remedy(row.id, owner="process-0", now=clock.at)


def test_an_answer_that_comes_twice_ends_it_once(
    new_runner, happens, passes, executor, store, states
):
    runner = new_runner()
    executor.raises = [UnansweredOrderError("late")]
    happens()
    passes(runner, 200)
    steps = store.remedy_steps([store.remedies()[0].id])
    assert ["planned", "started", "done"] == [row.state for rows in steps.values() for row in rows]
