"""From a verdict to an action and what came of it: once, in time, and never by a stale verdict."""

import pytest

from rankscope.alerts.actions import PersonAction
from rankscope.collector.journal.actions import RecordedAction
from rankscope.collector.remedies.executors.contract import (
    RefusedOrderError,
    UnansweredOrderError,
)
from rankscope.collector.store.errors import RefusedError
from rankscope.vocabulary.ids import IncidentId


def only(store):
    (row,) = store.remedies()
    return row


def texts(store, identity="a1"):
    """Return the texts of an incident's timeline about actions."""
    document = store.incident(identity.ljust(20, "0"))
    return [row["text"] for row in document["timeline"] if row["kind"] == "action"]


def test_a_node_is_taken_out_once_nobody_vetoed_it(new_runner, happens, passes, executor, store):
    runner = new_runner()
    happens()
    runner.step()
    assert ("planned", "exclude_node", "gpu-1") == (
        only(store).state,
        only(store).action,
        only(store).host,
    )
    passes(runner, 50)
    assert [] == executor.orders
    passes(runner, 20)
    assert [("exclude_node", "gpu-1")] == executor.orders
    assert ("done", "exclude_node done") == (only(store).state, only(store).reason)
    passes(runner, 300)
    assert [("exclude_node", "gpu-1")] == executor.orders


def test_a_dry_run_writes_down_the_same_and_does_nothing(
    new_runner, happens, passes, executor, store
):
    runner = new_runner(mode="dry_run")
    happens()
    passes(runner, 80)
    assert ("done", "dry_run") == (only(store).state, only(store).mode)
    assert [] == executor.orders
    assert texts(store)[-1].startswith("dry run: taking gpu-1 out")


def test_a_dry_run_needs_no_executor(new_runner, happens, passes, store):
    runner = new_runner(mode="dry_run", executors=())
    happens()
    passes(runner, 80)
    assert ("done", "none") == (only(store).state, only(store).executor)


def test_off_is_off(new_runner, happens, passes, store):
    runner = new_runner(mode="off")
    happens()
    passes(runner, 200)
    assert [] == store.remedies()


def test_what_was_planned_is_withdrawn_where_the_mode_is_another_one(
    new_runner, happens, passes, executor, store
):
    runner = new_runner()
    happens()
    runner.step()
    passes(new_runner(mode="off"), 100)
    assert ("withdrawn", "actions.mode is off by now") == (only(store).state, only(store).reason)
    assert [] == executor.orders


@pytest.mark.parametrize(
    "doubtful",
    [
        {"cause": "provisional"},
        {"probability": 0.94},
        {"probability": None},
        {"fault": "unknown"},
        {"fault": "memory.gpu_oom"},
        {"quality": "claimed"},
        {"jobs": ("run-1", "run-2")},
        {"slowdown": 1.1},
        {"status": "resolved"},
    ],
    ids=lambda given: "-".join(f"{key}={value}" for key, value in given.items()),
)
def test_what_is_not_sure_is_not_acted_on(new_runner, happens, passes, store, doubtful):
    runner = new_runner()
    happens(**doubtful)
    passes(runner, 200, **doubtful)
    assert [] == store.remedies()


def test_a_cause_that_a_person_confirmed_is_sure(
    new_runner, happens, passes, executor, store, clock
):
    runner = new_runner()
    happens(probability=0.6)
    verdict = {"verdict": "correct", "fault": None, "entity": None}
    done = PersonAction("feedback", IncidentId("a1".ljust(20, "0")), clock.at, "ann", verdict)
    store.enter(RecordedAction.new(done), [], clock.at)
    passes(runner, 100, probability=0.6)
    assert [("exclude_node", "gpu-1")] == executor.orders


def test_a_cause_that_a_person_called_wrong_is_not_acted_on(
    new_runner, happens, passes, executor, store, clock
):
    runner = new_runner()
    happens()
    runner.step()
    verdict = {"verdict": "wrong", "fault": None, "entity": None}
    done = PersonAction("feedback", IncidentId("a1".ljust(20, "0")), clock.at, "ann", verdict)
    store.enter(RecordedAction.new(done), [], clock.at)
    passes(runner, 100)
    assert ("withdrawn", []) == (only(store).state, executor.orders)


def test_an_action_may_be_vetoed_while_it_is_planned(new_runner, happens, passes, executor, store):
    runner = new_runner()
    happens()
    runner.step()
    store.veto_remedy(only(store).id, by="ann", note="not now", now=1.0)
    passes(runner, 200)
    assert ("vetoed", "not now") == (only(store).state, only(store).reason)
    assert [] == executor.orders


def test_a_veto_holds_for_the_next_incident_of_the_same_node_too(
    new_runner, happens, passes, executor, store, clock
):
    runner = new_runner()
    happens()
    runner.step()
    store.veto_remedy(only(store).id, by="ann", note="not now", now=clock.at)
    passes(runner, 100, identity="b2")
    assert [] == executor.orders
    assert 1 == len(store.remedies())
    clock.at += 3600
    passes(runner, 100, identity="c3")
    assert [("exclude_node", "gpu-1")] == executor.orders


def test_what_was_done_cannot_be_vetoed(new_runner, happens, passes, store):
    runner = new_runner()
    happens()
    passes(runner, 80)
    with pytest.raises(RefusedError, match="done: only a planned one can be vetoed"):
        store.veto_remedy(only(store).id, by="ann", note="", now=1.0)


def test_a_verdict_that_evaluation_does_not_renew_is_no_reason_to_act(
    new_runner, happens, passes, executor, store
):
    """The collector was away: what the store says is what was so before."""
    runner = new_runner()
    happens()
    runner.step()
    again = new_runner()
    passes(again, 300, renewed=False)
    assert [] == executor.orders
    assert "evaluation has not renewed the verdict" == only(store).reason
    passes(again, 40)
    assert [("exclude_node", "gpu-1")] == executor.orders


def test_nor_is_one_that_only_a_person_touched(new_runner, happens, passes, store, executor, clock):
    """An acknowledgement makes the document newer, and the verdict not."""
    runner = new_runner()
    happens()
    runner.step()
    again = new_runner()
    clock.at += 90
    done = PersonAction("acknowledge", IncidentId("a1".ljust(20, "0")), clock.at, "ann")
    store.enter(RecordedAction.new(done), [], clock.at)
    again.step()
    assert [] == executor.orders
    assert "evaluation has not renewed the verdict" == only(store).reason


def test_a_plan_that_waited_too_long_is_withdrawn(new_runner, happens, passes, executor, store):
    runner = new_runner(wait_seconds=100.0)
    happens()
    runner.step()
    passes(new_runner(wait_seconds=100.0), 200, renewed=False)
    assert "withdrawn" == only(store).state
    assert only(store).reason.startswith("waited in vain")
    assert [] == executor.orders


@pytest.mark.parametrize(
    ("turn", "why"),
    [
        ({"kind": "resolved"}, "the incident is resolved"),
        ({"host": "gpu-2"}, "the first cause is gpu.lost on gpu-2 by now"),
        ({"fault": "host.driver_hang"}, "the first cause is host.driver_hang on gpu-1 by now"),
    ],
    ids=("resolved", "another-host", "another-cause"),
)
def test_a_plan_whose_reason_is_gone_is_withdrawn(
    new_runner, happens, passes, executor, store, clock, turn, why
):
    runner = new_runner()
    happens()
    runner.step()
    clock.at += 20
    happens(**turn)
    runner.step()
    rows = list(reversed(store.remedies()))
    assert ("withdrawn", why) == (rows[0].state, rows[0].reason)
    assert [] == executor.orders


def test_a_job_that_somebody_restarted_meanwhile_is_not_restarted_again(
    new_runner, happens, passes, executor, store, flow
):
    runner = new_runner()
    happens(fault="software.stuck_process")
    runner.step()
    flow.moves(attempt=1)
    passes(runner, 100, fault="software.stuck_process")
    assert ("withdrawn", [], True) == (
        only(store).state,
        executor.orders,
        only(store).reason.endswith("somebody restarted it"),
    )


def test_maintenance_and_silences_hold_actions_back(
    new_runner, happens, passes, executor, store, clock, mute_of
):
    runner = new_runner()
    mute_of("job", ["*"], seconds=400)
    happens()
    passes(runner, 200)
    assert [] == store.remedies()
    passes(runner, 400)
    assert [("exclude_node", "gpu-1")] == executor.orders


def test_a_window_that_begins_while_it_is_planned_holds_it_too(
    new_runner, happens, passes, executor, store, mute_of
):
    runner = new_runner()
    happens()
    runner.step()
    mute_of("host", ["gpu-1"], seconds=1000)
    passes(runner, 200)
    assert [] == executor.orders
    assert "maintenance" == only(store).reason.split()[0]


def test_an_executor_that_is_away_is_asked_again(new_runner, happens, passes, executor, states):
    runner = new_runner()
    executor.raises = [UnansweredOrderError("503"), UnansweredOrderError("503")]
    happens()
    passes(runner, 200)
    assert [("exclude_node", "gpu-1")] * 3 == executor.orders
    assert ["done"] == states()


def test_what_an_executor_refuses_before_it_starts_is_withdrawn(
    new_runner, happens, passes, executor, store
):
    runner = new_runner()
    executor.looks = [RefusedOrderError("job run-1 is COMPLETED")]
    happens()
    passes(runner, 80)
    assert ("withdrawn", "double: job run-1 is COMPLETED", []) == (
        only(store).state,
        only(store).reason,
        executor.orders,
    )


def test_what_it_refuses_half_way_is_taken_back(new_runner, happens, passes, executor, store):
    runner = new_runner()
    executor.raises = [RefusedOrderError("the job cannot be requeued")]
    happens()
    passes(runner, 120)
    assert [("exclude_node", "gpu-1"), ("undo", "gpu-1")] == executor.orders
    assert ("failed", "") == (only(store).state, only(store).undo)


def test_an_executor_that_never_answers_has_failed(new_runner, happens, passes, executor, store):
    runner = new_runner(give_up_seconds=100.0)
    executor.raises = [UnansweredOrderError("no answer in 15 s")] * 20
    happens()
    passes(runner, 300)
    assert "failed" == only(store).state
    assert "whether it was done is not known" in only(store).reason


def test_an_undo_takes_back_what_was_done(new_runner, happens, passes, executor, store, clock):
    runner = new_runner()
    happens()
    passes(runner, 80)
    store.want_undo_of_remedy(only(store).id, by="ann", note="repaired", now=clock.at)
    executor.raises = [UnansweredOrderError("503")]
    passes(runner, 60)
    assert [("exclude_node", "gpu-1"), ("undo", "gpu-1"), ("undo", "gpu-1")] == executor.orders
    assert ("undone", "") == (only(store).state, only(store).undo)


def test_an_undo_is_not_given_up_for_time_in_which_no_collector_ran(
    new_runner, happens, passes, executor, store, clock
):
    runner = new_runner()
    happens()
    passes(runner, 80)
    store.want_undo_of_remedy(only(store).id, by="ann", note="repaired", now=clock.at)
    clock.at += 5000
    executor.raises = [UnansweredOrderError("503")]
    passes(new_runner(), 60)
    assert ("undone", "") == (only(store).state, only(store).undo)


def test_a_job_that_stood_and_makes_steps_again_is_left_alone(
    new_runner, happens, passes, executor, store, flow
):
    """Its incident stays open until the job has been calm for a while."""
    runner = new_runner()
    happens(slowdown=None)
    passes(runner, 40, slowdown=None)
    flow.moves(last_step=103)
    passes(runner, 60, slowdown=None)
    assert [] == executor.orders
    assert "the job makes steps again" == only(store).reason
    passes(runner, 60, slowdown=None)
    assert [("exclude_node", "gpu-1")] == executor.orders


def test_a_job_that_is_as_fast_as_usual_again_is_left_alone(
    new_runner, happens, passes, executor, store, flow
):
    runner = new_runner()
    flow.moves(step_seconds=3.0)
    happens(slowdown=2.0)
    passes(runner, 40, slowdown=2.0)
    flow.moves(step_seconds=1.6)
    passes(runner, 60, slowdown=2.0)
    assert [] == executor.orders
    assert "the job is as fast as usual again" == only(store).reason
    flow.moves(step_seconds=2.9)
    passes(runner, 20, slowdown=2.0)
    assert [("exclude_node", "gpu-1")] == executor.orders


def test_the_same_incident_asks_for_the_same_action_once(
    new_runner, happens, passes, executor, flow
):
    runner = new_runner(outcome_seconds=100.0)
    happens(fault="software.stuck_process")
    passes(runner, 1000, fault="software.stuck_process")
    assert [("restart", "gpu-1")] == executor.orders


def test_a_job_gets_no_second_action_before_it_is_known_what_came_of_the_first(
    new_runner, happens, passes, executor, store
):
    runner = new_runner(outcome_seconds=400.0)
    happens(fault="software.stuck_process")
    passes(runner, 80, fault="software.stuck_process")
    passes(runner, 300, identity="b2", host="gpu-2")
    assert [("restart", "gpu-1")] == executor.orders
    passes(runner, 300, identity="b2", host="gpu-2")
    assert [("restart", "gpu-1"), ("exclude_node", "gpu-2")] == executor.orders


def test_what_happened_stands_in_the_timeline_once(new_runner, happens, passes, store, flow):
    runner = new_runner()
    flow.takes = False
    happens()
    passes(runner, 80)
    assert [] == texts(store)
    flow.takes = True
    passes(runner, 100)
    assert ["planned", "started", "done"] == [row.action.detail["state"] for row in flow.entered]
    assert 3 == len(texts(store))
    assert texts(store)[0].startswith("taking gpu-1 out, run-1 goes on without it: planned")


def test_a_clock_that_was_set_back_withdraws_what_was_planned_in_the_future(
    new_runner, happens, executor, store, clock
):
    runner = new_runner()
    clock.at += 3600
    happens()
    runner.step()
    clock.at -= 3600
    runner.step()
    assert "withdrawn" == only(store).state
    assert only(store).reason.endswith("the clock was set back")


def test_an_executor_that_left_the_settings_ends_what_it_was_to_do(
    new_runner, happens, passes, store, executor, settings_of, flow, clock
):
    runner = new_runner()
    happens()
    runner.step()
    again = new_runner(executors=(), mode="dry_run")
    passes(again, 100)
    assert "withdrawn" == only(store).state
