"""Jobs of which only collectives are reported, no step: what stands still is told by counters."""

from dataclasses import replace

import numpy as np
import pytest

from rankscope.detectors.liveness.stalls import Stalls
from rankscope.detectors.sketch import START, readings, sketch


@pytest.fixture
def standing(group):
    """Return a function that evaluates a job without steps whose counters stand since 61 s."""

    def evaluate(enqueued, completed, now=260.0, absent=(), changed=61.0, **fields):
        made = replace(
            group(enqueued, completed, at=now, changed=changed), absent=np.array(absent, np.int64)
        )
        window = sketch(np.zeros((4, 0)), now=START + now, groups=(made,), **fields)
        return {(f.kind, f.entity.id): f for f in Stalls().evaluate(window)}

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
