"""Events: when they were, whose they are, how long they are kept."""

import pytest


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
