"""What came of an action is read from the job's own steps, whatever its executor says."""

import dataclasses

import pytest

from rankscope.collector.remedies import outcomes
from rankscope.collector.remedies.outcomes import StepsSince


@pytest.fixture
def acted(new_runner, happens, passes, store):
    """Return a function that has a job acted on, and gives the runner."""

    def act(slowdown=None, **more):
        runner = new_runner(outcome_seconds=300.0, **more)
        happens(slowdown=slowdown)
        passes(runner, 80, slowdown=slowdown)
        assert "done" == store.remedies()[0].state
        return runner

    return act


def came(store):
    row = store.remedies()[0]
    return row.outcome, row.measured.get("before_seconds"), row.after_seconds


def test_a_stopped_job_that_makes_steps_again_recovered(acted, passes, store, flow):
    runner = acted()
    flow.moves(attempt=1, last_step=80)
    passes(runner, 20)
    flow.moves(last_step=86)
    passes(runner, 20)
    assert ("recovered", None, 1.5) == came(store)


def test_a_slow_job_that_is_as_fast_as_usual_again_recovered(acted, passes, store, flow):
    runner = acted(slowdown=1.5)
    flow.moves(attempt=1, last_step=80, step_seconds=1.02)
    passes(runner, 20)
    flow.moves(last_step=86)
    passes(runner, 20)
    assert ("recovered", 1.5, 1.02) == came(store)


def test_a_job_that_is_as_slow_as_before_did_not(acted, passes, store, flow):
    runner = acted(slowdown=1.5)
    flow.moves(attempt=1, last_step=80)
    passes(runner, 20)
    flow.moves(last_step=200)
    passes(runner, 40)
    assert (None, 1.5, None) == came(store)
    passes(runner, 300)
    assert ("not_recovered", 1.5, 1.5) == came(store)


def test_a_job_that_still_stands_did_not_though_the_executor_says_so(acted, passes, store):
    passes(acted(), 400)
    assert ("not_recovered", None, None) == came(store)


def test_a_collector_that_was_away_looks_before_it_says_that_a_job_stands(
    acted, new_runner, clock, passes, store, flow
):
    acted()
    clock.at += 600.0
    flow.moves(attempt=1, last_step=300)
    anew = new_runner(outcome_seconds=300.0)
    passes(anew, 40)
    assert (None, None, None) == came(store)
    flow.moves(last_step=320)
    passes(anew, 20)
    assert ("recovered", None, 1.5) == came(store)


def test_and_says_so_once_it_has_looked_for_a_minute(acted, new_runner, clock, passes, store):
    acted()
    clock.at += 600.0
    passes(new_runner(outcome_seconds=300.0), 80)
    assert ("not_recovered", None, None) == came(store)


def test_a_job_of_which_nothing_is_received_is_undetermined(acted, passes, store, flow):
    runner = acted()
    flow.summary = None
    passes(runner, 400)
    assert ("undetermined", None, None) == came(store)


def test_steps_of_the_same_attempt_count_once_the_median_holds_no_older_ones(
    acted, passes, store, flow
):
    runner = acted()
    passes(runner, 20)
    flow.moves(last_step=110)
    passes(runner, 20)
    assert None is came(store)[0]
    flow.moves(last_step=125)
    passes(runner, 20)
    assert "recovered" == came(store)[0]


def test_fewer_ranks_are_judged_by_their_steps_alone(acted, passes, store, flow):
    runner = acted(slowdown=1.5)
    flow.moves(attempt=1, last_step=80, ranks=8, step_seconds=2.0)
    passes(runner, 20)
    flow.moves(last_step=90)
    passes(runner, 20)
    assert ("recovered", 1.5, 2.0) == came(store)


def test_a_dry_run_has_no_outcome(new_runner, happens, passes, store):
    runner = new_runner(mode="dry_run", outcome_seconds=100.0)
    happens()
    passes(runner, 400)
    assert None is store.remedies()[0].outcome


def test_what_came_of_it_stands_in_the_timeline(acted, passes, store, flow):
    passes(acted(), 400)
    document = store.incident("a1".ljust(20, "0"))
    texts = [row["text"] for row in document["timeline"] if row["kind"] == "action"]
    assert texts[-1].startswith("the job did not recover (taking gpu-1 out")


def test_a_checkpoint_goes_back_and_steps_count_from_there(flow):
    since = StepsSince(0, 100)
    summary = dataclasses.replace(flow.summary, attempt=0, last_step=60)
    assert 0 == since.of(summary)
    assert 5 == since.of(dataclasses.replace(summary, last_step=65))
    assert 0 == since.of(dataclasses.replace(summary, attempt=1, last_step=70))


def test_a_job_without_a_summary_has_no_measures():
    assert {} == outcomes.measured(None, None)
