"""Devices that a job holds and does not use."""

import numpy as np
import pytest

from rankscope.detectors.efficiency.idle_gpus import IdleGpusDetector
from rankscope.detectors.sketch import START, readings, sketch
from rankscope.detectors.window import GroupProgress, PeriodicReadings

SM, USED = "hw.gpu.sm.activity", "hw.gpu.utilization"
AT = START + np.arange(0, 2401, 15.0)


def evaluated(*levels, metric=USED, own=None, detector=None, **more):
    """Evaluate ranks by the activity of their devices, without steps."""
    level = np.array(levels, float)[:, None]
    by_rank = {metric: readings(AT, level)}
    own = np.zeros((len(levels), 0)) if own is None else own
    window = sketch(own, **{"now": AT[-1], "rank_readings": by_rank, **more})
    return (detector or IdleGpusDetector()).evaluate(window)


@pytest.mark.parametrize("metric", [SM, USED])
def test_devices_of_a_job_that_never_steps_are_counted_with_their_hours(metric):
    (found,) = evaluated(0, 0, 0, 0, metric=metric)
    assert ("job.idle_gpus", 4.0) == (found.kind, found.magnitude)
    assert "4 of 4 devices have been idle for 30 min: 2 GPU-hours" == found.text


def test_money_is_named_where_a_price_is_given():
    (found,) = evaluated(0, 0, 0, 0, detector=IdleGpusDetector(price=2.5))
    assert found.text.endswith("2 GPU-hours, 5 at 2.5 an hour")


def test_some_idle_devices_of_a_job_that_steps_are_named():
    (found,) = evaluated(0, 0.9, 0.9, 0.9, own=np.full((4, 2400), 0.8))
    assert [0] == list(found.ranks)


def test_a_job_that_steps_or_stopped_stepping_is_others_business():
    assert [] == evaluated(0, 0, 0, 0, own=np.full((4, 2400), 0.8))
    assert [] == evaluated(0, 0, 0, 0.9, own=np.full((4, 100), 0.8))


def test_what_has_ended_holds_nothing():
    assert [] == evaluated(0, 0, 0, 0, last_received=np.full(4, AT[-1] - 300))


def test_a_job_that_has_just_started_is_given_time():
    assert [] == evaluated(0, 0, 0, 0, attempt_started_at=AT[-1] - 900)


def test_one_busy_moment_or_a_short_past_is_not_idle():
    busy = np.zeros((4, len(AT)))
    busy[:, 60:80] = 0.5
    assert [] == evaluated(0, 0, 0, 0, rank_readings={USED: readings(AT, busy)})
    short = readings(AT[-40:], np.zeros((4, 1)))
    assert [] == evaluated(0, 0, 0, 0, rank_readings={USED: short})
    assert [] == evaluated(0.5, 0.5)
    assert [] == evaluated(0, 0, rank_readings={})


def test_the_thinned_past_counts_where_fine_readings_end():
    class Thinned(PeriodicReadings):
        def history(self):
            at = AT[-1] - 900 * np.arange(8.0, 0, -1)
            return readings(at, np.zeros((len(self.at), 1)))

        def of(self, rows):
            return Thinned(self.at[rows], self.value[rows])

    fine = readings(AT[-60:], np.zeros((2, 1)))
    window = sketch(
        np.zeros((2, 0)), now=AT[-1], rank_readings={USED: Thinned(fine.at, fine.value)}
    )
    assert 1 == len(IdleGpusDetector().evaluate(window))


def rested(kernels=0.0, used=0.01, launched=0.0, received=0.0, steps=125):
    """Evaluate four ranks that stepped for 125 s and rest for 115 s."""
    at = START + np.arange(0, 241, 5.0)
    after = (at > START + 125)[None] * np.ones((4, 1), bool)
    level, cpu = np.where(after, 0.0, 0.95), np.where(after, 0.01, 0.8)
    level[0], cpu[0] = np.where(after[0], kernels, 0.95), np.where(after[0], used, 0.8)
    group = GroupProgress("dp:1", "dp", np.arange(4), 100.0 + np.array([launched, 0, 0, 0]),
                  np.full(4, 100.0), np.full(4, at[-1]), np.full(4, START + 125))  # fmt: skip
    received_at = np.full(4, at[-1])
    received_at[0] -= received
    by_rank = {USED: readings(at, level), "process.cpu.utilization": readings(at, cpu)}
    window = sketch(np.full((4, steps), 0.8), now=at[-1], rank_readings=by_rank,
                    groups=(group,), last_received=received_at)  # fmt: skip
    return IdleGpusDetector().evaluate(window)


def test_a_job_that_stopped_and_in_which_nobody_waits_is_idle():
    (found,) = rested()
    assert ("job.idle_gpus", 4.0) == (found.kind, found.magnitude)
    assert START + 125 == found.onset[0]
    assert "nobody waits in a collective" in found.text


def test_without_the_cpu_of_processes_everything_else_must_rest_for_longer():
    own, level = np.full((4, 100), 0.8), np.where(AT < START + 80, 0.9, 0.0)[None].repeat(4, axis=0)
    found = []
    for now in (START + 300, START + 420):
        held = readings(AT[AT <= now], level[:, AT <= now])
        found += [IdleGpusDetector().evaluate(sketch(own, now=now, rank_readings={USED: held}))]
    assert [0, 1] == [len(each) for each in found]


def test_few_reported_steps_hide_no_rest():
    """The last step ended long after the last that is known: what is newest counts."""
    (found,) = rested(steps=30)
    assert START + 125 == found.onset[0]


def test_a_job_in_which_one_rank_works_or_waits_is_not_idle():
    assert [] == rested(kernels=1.0)
    assert [] == rested(used=0.5)
    assert [] == rested(launched=1.0)
    assert [] == rested(received=100.0)


def test_devices_that_evaluated_after_the_last_step_and_rest_now_are_idle():
    own = np.full((4, 100), 0.8)
    busy = np.where(AT < START + 160, 0.9, 0.0)[None, :].repeat(4, axis=0)
    held = {USED: readings(AT, busy), "process.cpu.utilization": readings(AT, busy / 2)}
    early, late = (
        IdleGpusDetector().evaluate(sketch(own, now=START + now, rank_readings={
            name: PeriodicReadings(np.where(one.at <= START + now, one.at, np.nan), one.value)
            for name, one in held.items()}))
        for now in (180, 240)
    )  # fmt: skip
    assert (0, 1) == (len(early), len(late))
