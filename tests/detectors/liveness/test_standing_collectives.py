"""Jobs of which only collectives are reported, no step: what stands still is told by counters."""

from dataclasses import replace

import numpy as np
import pytest

from rankscope.detectors.liveness.stalls import StallsDetector
from rankscope.detectors.sketch import START, readings, sketch
from rankscope.vocabulary.samples import Event


@pytest.fixture
def standing(group):
    """Return a function that evaluates a job without steps whose counters stand since 61 s."""

    def evaluate(enqueued, completed, now=260.0, absent=(), changed=61.0, **fields):
        made = replace(
            group(enqueued, completed, at=now, changed=changed), absent=np.array(absent, np.int64)
        )
        window = sketch(np.zeros((4, 0)), now=START + now, groups=(made,), **fields)
        return {(f.kind, f.entity.id): f for f in StallsDetector().evaluate(window)}

    return evaluate


def test_a_rank_that_did_not_enter_is_named_once_no_pause_lasts_so_long(standing):
    found = standing([8, 8, 7, 8], [7, 7, 7, 7])
    assert {("job.stalled", "example"), ("rank.behind_enqueued", "2")} == set(found)
    assert "no collective has moved for 199 s" == found["job.stalled", "example"].text
    assert "it stopped in the process" in found["rank.behind_enqueued", "2"].text


def test_a_pause_of_a_job_without_steps_is_none_before_three_minutes(standing):
    assert not standing([8, 8, 7, 8], [7, 7, 7, 7], now=230.0)


def test_nothing_stands_still_where_nobody_waits(standing):
    assert not standing([8, 8, 8, 8], [8, 8, 8, 8])


def test_where_the_probe_reports_the_start_is_its_own_matter(standing):
    ages = readings(START + np.arange(0, 261.0, 5), np.zeros((4, 1)))
    assert not standing([8, 8, 7, 8], [7] * 4, rank_readings={"training.progress.age": ages})


def test_a_member_that_reports_nothing_while_all_others_wait_is_named(standing):
    found = standing([8, 8, 8], [7, 7, 7], absent=[3])
    assert "whose other members wait in collective 8" in found["rank.probe_silent", "3"].text


def test_a_member_that_reports_nothing_is_no_suspect_beside_one_that_is_behind(standing):
    assert ("rank.probe_silent", "3") not in standing([8, 7, 8], [7, 7, 7], absent=[3])


def logged(ranks, text, at=200.0, name="log.fault"):
    return tuple(
        Event(name, START + at, {"rank": rank, "text": text, "signature": "any", "role": "cascade"})
        for rank in ranks
    )


TIMED_OUT = "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=8)"


@pytest.fixture
def with_logs(steady, ages):
    """Return a function that evaluates eight ranks whose last step ended 60 s after START."""

    def evaluate(*events):
        window = sketch(steady(ranks=8, spread=0.0), now=START + 260, events=sum(events, ()),
                        rank_readings={"training.progress.age": ages(260, 8)})  # fmt: skip
        found = StallsDetector().evaluate(window)
        return {f.entity.id: f.text for f in found if f.kind == "rank.probe_silent"}

    return evaluate


def test_the_rank_that_logs_no_time_out_is_the_one_that_the_others_waited_for(with_logs):
    everybody = logged(range(8), "comm 0x1 - Init COMPLETE", 5.0, "collective.communicator")
    others = [0, 1, 2, 4, 5, 6, 7]
    found = with_logs(everybody, logged(others, TIMED_OUT))
    assert {"3": "rank 3 logged no failure of a collective, as 7 others did"} == found


def test_a_rank_whose_log_is_not_read_is_no_suspect(with_logs):
    assert not with_logs(logged([0, 1, 2, 4, 5, 6, 7], TIMED_OUT))


def test_where_many_log_nothing_nobody_stands_out(with_logs):
    everybody = logged(range(8), "comm 0x1 - Init COMPLETE", 5.0, "collective.communicator")
    assert not with_logs(everybody, logged([0, 1, 2, 4, 5], TIMED_OUT))
