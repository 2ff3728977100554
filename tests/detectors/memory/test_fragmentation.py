"""Reserved memory that is in pieces."""

import numpy as np
import pytest

from rankscope.detectors import compute_time
from rankscope.detectors.memory.fragmentation import RESERVED, RETRIES, FragmentationDetector
from rankscope.detectors.memory.gpu_leak import ALLOCATED, LIMIT
from rankscope.detectors.sketch import START, readings, sketch

COUNT = 400
STEP = np.arange(COUNT)


def evaluated(retries=None, reserved=None, held=None, limit=80e9):
    """Evaluate four ranks, one row of each plane given for rank 1."""
    planes = {}
    for name, row, usual in ((RETRIES, retries, 0.0), (RESERVED, reserved, 60e9),
                             (ALLOCATED, held, 50e9)):  # fmt: skip
        if row is not None:
            planes[name] = np.full((4, COUNT), usual)
            planes[name][1] = row
    by_rank = {LIMIT: readings(np.array([START]), np.full((4, 1), limit))}
    return FragmentationDetector().evaluate(
        sketch(np.full((4, COUNT), 0.8), planes=planes, rank_readings=by_rank)
    )


def test_retries_with_memory_that_is_not_allocated_are_fragmentation():
    (found,) = evaluated(STEP // 20, np.where(STEP < 20, 60e9, 78e9), 50e9)
    assert ("rank.memory_fragmented", "1", 2.0) == (found.kind, found.entity.id, found.score)
    assert "36% of its reserved memory is not allocated" in found.text
    grown = np.where(STEP < 200, 60e9, 78e9)
    (few,) = evaluated((STEP - 300) // 30 * (STEP > 300), grown, 50e9)
    assert ("rank.memory_fragmented", 1.5) == (few.kind, few.score)


def test_a_gap_that_was_there_before_the_first_retry_is_that_of_freed_activations():
    """A leak fills the memory: reserved memory stays at the limit while allocated memory grows."""
    reserved = np.minimum(50e9 + STEP * 0.1e9, 78e9)
    (found,) = evaluated(np.maximum(STEP - 300, 0) // 20, reserved, reserved - 30e9)
    assert "rank.gpu_memory_full" == found.kind


def test_retries_with_everything_allocated_say_that_memory_is_full():
    (found,) = evaluated(STEP // 20, 78e9, 76e9)
    assert "rank.gpu_memory_full" == found.kind
    (found,) = evaluated(STEP // 20)
    assert "rank.gpu_memory_full" == found.kind
    assert "allocated" not in found.text


def test_a_single_retry_is_a_resize():
    assert [] == evaluated(STEP > 200, 78e9, 50e9)


def test_a_counter_with_gaps_loses_no_retry():
    retries = (STEP // 20).astype(float)
    retries[::2] = np.nan
    assert 1 == len(evaluated(retries, 78e9, 50e9))


def test_reserved_memory_that_runs_into_the_limit_is_fragmentation():
    grown = 72e9 + np.maximum(STEP - 150, 0) / 60 * 1e9
    (found,) = evaluated(None, grown, 50e9)
    assert ("rank.memory_fragmented", RESERVED) == (found.kind, found.signal)
    assert found.score >= 2.0
    assert "while allocated memory does not" in found.text


def test_where_retries_are_reported_and_there_is_none_the_limit_is_not_reached():
    grown = 72e9 + np.maximum(STEP - 150, 0) / 60 * 1e9
    (found,) = evaluated(0 * STEP, grown, 50e9)
    assert found.score < 1.0


def test_a_cache_that_grows_far_below_the_limit_is_no_finding():
    grown = 60e9 + np.maximum(STEP - 150, 0) / 60 * 1e9
    assert [] == evaluated(None, grown, 50e9)
    assert [] == evaluated(0 * STEP, grown, 50e9)
    assert [] == evaluated(None, grown + 10e9, 50e9, limit=np.nan)


@pytest.mark.parametrize("limit", [80e9, np.nan])
@pytest.mark.parametrize("retries", [None, 0 * STEP])
def test_reserved_memory_that_goes_on_growing_is_worth_knowing_before_it_is_full(retries, limit):
    grown = 50e9 + np.maximum(STEP - 100, 0) / 60 * 2e9
    (found,) = evaluated(retries, grown, 36e9, limit=limit)
    assert ("rank.memory_fragmented", "1") == (found.kind, found.entity.id)
    assert found.score < 1.0
    assert ("GiB of the device are left" in found.text) == (limit > 0)


def test_a_cache_that_levels_off_below_the_limit_is_no_finding():
    grown = 50e9 + 10e9 * (1 - np.exp(-STEP / 60))
    assert [] == evaluated(0 * STEP, grown, 36e9)


def test_reserved_memory_that_grows_with_allocated_is_a_leak_of_another_kind():
    grown = 72e9 + np.maximum(STEP - 150, 0) / 60 * 1e9
    assert [] == evaluated(None, grown, grown - 15e9)


def test_a_gap_alone_is_no_finding():
    assert [] == evaluated(None, 78e9, 30e9)
    assert [] == evaluated(0 * STEP, 78e9, 30e9)
    assert [] == evaluated(None, None, 30e9)


def test_reserved_memory_that_grows_with_the_longest_step_so_far_is_no_fragmentation():
    random = np.random.default_rng(3)
    tokens = random.normal(4000, 30, (4, COUNT))
    tokens[1, 200:] = 4000 + 8 * STEP[:200] * random.random(200)
    by_rank = {LIMIT: readings(np.array([START]), np.full((4, 1), 80e9))}

    def found(reserved):
        planes = {
            RESERVED: reserved,
            ALLOCATED: np.full((4, COUNT), 25e9),
            compute_time.TOKENS: tokens,
        }
        window = sketch(np.full((4, COUNT), 0.8), planes=planes, rank_readings=by_rank)
        return [f.entity.id for f in FragmentationDetector().evaluate(window)]

    needed = np.maximum.accumulate(25e9 + 7e6 * tokens, axis=1)
    assert [] == found(needed)
    torn = needed.copy()
    torn[1] = 53e9 + 9e9 * np.maximum(STEP - 200, 0) / 200
    assert ["1"] == found(torn)
