"""Hosts whose memory or shared memory fills up."""

import numpy as np
import pytest
from tests.detectors.drawn import event, steady

from rankscope.detectors.memory import growth
from rankscope.detectors.memory.filling import FillingDetector
from rankscope.detectors.sketch import START, readings, sketch

AT = START + np.arange(0.0, 1201, 5)
SECOND = AT - START


@pytest.fixture(params=["memory", "shm"])
def evaluated(request):
    """Return a function that evaluates two hosts by what they use of 100; (kind, function)."""
    kind = {"memory": "host.memory_low", "shm": "host.shm_full"}[request.param]

    def evaluate(used, limit=100.0):
        held = np.stack([0 * AT + 20, used])
        by_host = {
            f"system.{request.param}.usage": readings(AT, held),
            f"system.{request.param}.limit": readings(AT, np.full((2, 1), limit)),
        }
        window = sketch(np.full((4, 1200), 0.8), now=float(AT[-1]), host_readings=by_host)
        found = FillingDetector().evaluate(window)
        assert {kind} >= {finding.kind for finding in found}
        assert {"host-1"} >= {finding.entity.id for finding in found}
        return found

    return evaluate


def test_what_ends_within_ten_minutes_is_as_bad_as_its_fault(evaluated):
    (found,) = evaluated(40 + np.maximum(SECOND - 600, 0) / 60 * 4)  # 20 left, 4 a minute
    assert found.score > 2
    assert "80% used, all of it in 5 min" in found.text
    (found,) = evaluated(40 + np.maximum(SECOND - 600, 0) / 60 * 2)  # 40 left, 2 a minute
    assert growth.LATER == found.score


def test_what_ends_within_hours_has_a_horizon_and_later_is_nothing(evaluated):
    (found,) = evaluated(40 + SECOND / 60 * 0.3)
    assert growth.LATER == found.score
    assert [] == evaluated(4 + SECOND / 60 * 0.05)


def test_what_has_filled_for_some_minutes_says_nothing_of_the_next_hour(evaluated):
    assert [] == evaluated(14 + np.maximum(SECOND - 1000, 0) / 60 * 1.5)  # 80 left: 54 min
    (found,) = evaluated(14 + np.maximum(SECOND - 500, 0) / 60 * 1.5)
    assert "all of it in" in found.text


def test_what_has_filled_up_just_now_counts_whatever_its_shape(evaluated):
    (found,) = evaluated(np.where(SECOND > 1100, 99.0, 40.0))
    assert (3.0, 0.99) == (found.score, found.observed)


def test_what_has_filled_up_counts_where_its_readings_come_rarely_and_late():
    at = START + np.arange(0.0, 601, 30)
    used = np.stack([0 * at + 20, np.where(at > START + 580, 99.0, 40.0)])
    by_host = {
        "system.shm.usage": readings(at, used),
        "system.shm.limit": readings(at, np.full((2, 1), 100.0)),
    }

    def found(seconds_later):
        window = sketch(
            np.full((4, 600), 0.8), now=float(at[-1]) + seconds_later, host_readings=by_host
        )
        return [(str(f.entity), f.score) for f in FillingDetector().evaluate(window)]

    assert [("host host-1", 3.0)] == found(29)
    assert [] == found(300)


def test_what_was_full_all_along_is_info(evaluated):
    (found,) = evaluated(98 + 0 * SECOND)
    assert 0.5 == found.score


def test_a_level_that_stays_or_a_limit_that_nobody_reports_is_no_finding(evaluated):
    assert [] == evaluated(90 + 0 * SECOND)
    assert [] == evaluated(99 + 0 * SECOND, limit=0.0)
    assert [] == FillingDetector().evaluate(sketch(np.full((4, 60), 0.8)))


def ended(used, *, now=90.0, ranks=(0, 1, 2), extra=()):
    """Return hosts that ran out where ranks lose their peers in the 62nd second."""
    at = START + np.arange(0.0, now + 1, 5)
    held = np.stack([0 * at + 20, np.asarray(used(at - START), float)])
    by_host = {
        "system.memory.usage": readings(at, held),
        "system.memory.limit": readings(at, np.full((2, 1), 100.0)),
    }
    lines = (event("log.fault", 62 + rank, rank=rank, role="cascade") for rank in ranks)
    window = sketch(steady(), now=START + now, host_readings=by_host, events=(*lines, *extra))
    return [(f.kind, str(f.entity), f.score) for f in FillingDetector().evaluate(window)]


def rises(second):
    """Return what is used in percent: 40, then up to 85 in the 60th second, and 50 afterwards."""
    return np.where(second <= 60, 40 + np.maximum(second - 45, 0) * 3, 50)


def test_memory_that_rose_to_its_limit_until_ranks_lost_their_peers_ran_out():
    assert [("host.memory_low", "host host-1", 3.0)] == ended(rises)


def test_an_end_with_memory_left_or_freed_by_nobody_is_not_for_lack_of_it():
    assert [] == ended(lambda second: np.minimum(rises(second), 70))
    assert [] == ended(lambda second: np.where(second > 60, 85, rises(second)))
    assert [] == ended(lambda second: np.where(second <= 60, 92, 50))
    assert [] == ended(rises, now=64.0)


def test_who_ended_is_said_by_exits_by_most_ranks_and_not_by_a_checkpoint():
    assert [] == ended(rises, ranks=(0, 1))
    assert [] == ended(rises, extra=(event("process.exit", 62, rank=3, signal=9),))
    assert [] == ended(rises, extra=(event("training.phase", 61, rank=0, phase="checkpoint"),))
