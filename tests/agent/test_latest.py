import pytest

from rankscope.agent.latest import LatestValues
from rankscope.vocabulary.samples import Sample, TelemetryResource, attributes

NODE = TelemetryResource(host="node-1")
JOB = TelemetryResource(host="node-1", job="job-1")
AGAIN = TelemetryResource(host="node-1", job="job-1", attempt=1)
RANK = attributes({"rank": 0})


@pytest.fixture
def latest():
    return LatestValues(period_seconds=5.0)


def shown(latest, now):
    return {metric: value for _, metric, _, value in latest.series(now)}


def test_a_ranks_step_shows_until_its_next_step(latest):
    latest.receive("a", JOB, [Sample("training.loss", 3.0, 1.0, RANK)], 1.0)
    latest.receive("a", JOB, [Sample("training.loss", 2.0, 2.0, RANK)], 2.0)
    assert shown(latest, 3.0) == {"training.loss": 2.0}


def test_what_the_next_step_does_not_bring_goes_with_the_step(latest):
    step = Sample("training.step", 1.0, 1.0, RANK)
    latest.receive("a", JOB, [step, Sample("training.checkpoint.duration", 9.0, 1.0, RANK)], 1.0)
    latest.receive("a", JOB, [Sample("training.step", 2.0, 2.0, RANK)], 2.0)
    assert shown(latest, 2.0) == {"training.step": 2.0}


def test_a_slow_step_stays_as_long_as_its_rank_speaks(latest):
    latest.receive("a", JOB, [Sample("training.step", 1.0, 0.0, RANK)], 0.0)
    for at in (5.0, 10.0, 100.0):
        latest.receive("a", JOB, [Sample("training.progress.age", at, at, RANK)], at)
    assert shown(latest, 101.0) == {"training.step": 1.0, "training.progress.age": 100.0}


def test_a_rank_silent_for_three_periods_is_not_shown(latest):
    latest.receive("a", JOB, [Sample("training.step", 1.0, 0.0, RANK)], 0.0)
    assert shown(latest, 14.9)
    assert not shown(latest, 15.0)


def test_a_reading_older_than_three_of_its_periods_disappears(latest):
    latest.read("memory", [(NODE, Sample("system.memory.usage", 1.0, 0.0))], period=30.0, now=0.0)
    assert shown(latest, 89.0) == {"system.memory.usage": 1.0}
    assert shown(latest, 90.0) == {}


def test_a_reading_replaces_the_readers_last_one(latest):
    one = Sample("process.memory.usage", 1.0, 0.0, attributes({"pid": 1}))
    other = Sample("process.memory.usage", 2.0, 1.0, attributes({"pid": 2}))
    latest.read("trainer_memory", [(JOB, one)], period=5.0, now=0.0)
    latest.read("trainer_memory", [(JOB, other)], period=5.0, now=1.0)
    assert [value for *_, value in latest.series(1.0)] == [2.0]


def test_a_process_that_ended_is_forgotten_at_once_by_rank_and_by_pid(latest):
    latest.receive("a", JOB, [Sample("training.step", 1.0, 0.0, RANK)], 0.0)
    mine = Sample("process.memory.usage", 1.0, 0.0, attributes({"pid": 1}))
    others = Sample("process.memory.usage", 2.0, 0.0, attributes({"pid": 2}))
    latest.read("trainer_memory", [(JOB, mine), (JOB, others)], period=5.0, now=0.0)
    latest.forget("a")
    latest.forget_pid(1)
    assert [(metric, value) for _, metric, _, value in latest.series(0.0)] == [
        ("process.memory.usage", 2.0)
    ]


def test_info_that_comes_every_ten_minutes_lives_longer_than_a_period(latest):
    info = Sample("collective.group.info", 1.0, 0.0, RANK)
    latest.receive("a", JOB, [info], 0.0)
    latest.receive("a", JOB, [], 800.0)
    assert shown(latest, 801.0) == {"collective.group.info": 1.0}


def test_names_that_the_vocabulary_does_not_have_are_not_kept(latest):
    latest.receive("a", JOB, [Sample("training.my_own", 1.0, 0.0, RANK)], 0.0)
    assert shown(latest, 0.0) == {}


def test_one_sender_cannot_fill_the_memory(latest):
    for number in range(5000):
        pairs = attributes({"rank": number})
        latest.receive("a", JOB, [Sample("training.loss", 1.0, 0.0, pairs)], 0.0)
        latest.receive("a", JOB, [Sample("training.progress.age", 1.0, 0.0, pairs)], 0.0)
    assert len(latest.series(0.0)) <= 4000


def test_of_two_attempts_the_newer_comes_first(latest):
    latest.receive("old", JOB, [Sample("training.step", 900.0, 0.0, RANK)], 1.0)
    latest.receive("new", AGAIN, [Sample("training.step", 1.0, 0.0, RANK)], 0.5)
    assert [value for *_, value in latest.series(1.0)] == [1.0, 900.0]


def test_what_was_measured_long_before_it_was_read_is_as_old_as_it_is(latest):
    fresh, old = (
        Sample("hw.temperature", 40.0, at, attributes({"hw.id": hw_id}))
        for hw_id, at in (("GPU-a", 14.0), ("GPU-b", 1.0))
    )
    latest.read("gpu_temperature", [(NODE, fresh), (NODE, old)], period=5.0, now=14.0)
    assert len(latest.series(15.0)) == 2
    assert [dict(pairs)["hw.id"] for _, _, pairs, _ in latest.series(17.0)] == ["GPU-a"]
