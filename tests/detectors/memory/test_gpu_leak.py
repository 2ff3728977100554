"""Device memory that grows from step to step."""

import numpy as np
import pytest

from rankscope.detectors.memory.gpu_leak import ALLOCATED, LIMIT, USAGE, GpuLeakDetector
from rankscope.detectors.sketch import START, readings, sketch

GIB = 2.0**30
COUNT = 400
STEP = np.arange(COUNT)


def evaluated(held, *, limit=80.0, planes=None, **more):
    """Evaluate four ranks of 80 GiB by their allocated GiB."""
    by_rank = {} if limit is None else {
        LIMIT: readings(np.array([START]), np.full((4, 1), limit * GIB))
    }  # fmt: skip
    held = {} if held is None else {ALLOCATED: held * GIB}
    return GpuLeakDetector().evaluate(
        sketch(
            np.full((4, COUNT), 0.8), planes={**held, **(planes or {})},
            rank_readings={**by_rank, **more},
        )
    )  # fmt: skip


def leak(rows, since=150, rate=0.8):
    """Return [4, COUNT] GiB, some rows leaking so much a minute."""
    held = np.full((4, COUNT), 40.0)
    held[rows] += np.maximum(STEP - since, 0) / 60 * rate
    return held


def test_a_rank_that_leaks_is_named_with_the_time_that_is_left():
    (found,) = evaluated(leak([2]))
    assert ("rank.gpu_memory_grows", "2") == (found.kind, found.entity.id)
    assert 46 * 60 == pytest.approx(found.magnitude, rel=0.1)
    assert found.score > 2
    assert found.text.startswith("allocated device memory of rank 2 grows by 81")
    assert "it runs out in 46 min" in found.text


def test_a_leak_of_all_ranks_is_the_jobs():
    (found,) = evaluated(leak([0, 1, 2, 3]))
    assert ("job.gpu_memory_grows", "example") == (found.kind, found.entity.id)


def test_a_leak_of_a_jobs_only_rank_is_that_ranks():
    limit = {LIMIT: readings(np.array([START]), np.full((1, 1), 80 * GIB))}
    planes = {ALLOCATED: leak([2])[[2]] * GIB}
    (found,) = GpuLeakDetector().evaluate(
        sketch(np.full((1, COUNT), 0.8), planes=planes, rank_readings=limit)
    )
    assert ("rank.gpu_memory_grows", "0") == (found.kind, found.entity.id)


def test_a_leak_of_the_job_that_is_clear_at_one_rank_only_is_not_that_ranks():
    """What the others hold varies too much to call it growth; it grows by as much all the same."""
    held = leak([0, 1, 2, 3], rate=2.0)
    held[[0, 1, 3]] += np.random.default_rng(1).normal(0.0, 6.0, (3, COUNT))
    assert [] == evaluated(held)
    held[[0, 1, 3]] -= leak([0, 1, 3], rate=2.0)[[0, 1, 3]] - 40.0
    (found,) = evaluated(held)
    assert "2" == found.entity.id


def test_what_runs_out_too_far_ahead_is_observed_and_after_a_week_nothing():
    (found,) = evaluated(leak([2], rate=2.0, since=20), limit=1240.0)
    assert (0.5, pytest.approx(10.0, rel=0.05)) == (found.score, found.magnitude / 3600)
    assert [] == evaluated(leak([2], rate=2.0, since=20), limit=60_000.0)


def test_without_a_limit_growth_is_info_and_no_end_is_named():
    (found,) = evaluated(leak([2]), limit=None)
    assert 0.5 == found.score
    assert "runs out" not in found.text


def test_without_a_limit_that_of_the_largest_device_says_how_urgent_it_is():
    (found,) = evaluated(leak([2], rate=6.0, since=20), limit=None)
    assert found.score > 1
    assert "it runs out within 73 min, whatever the device has" in found.text


def test_device_memory_counts_where_the_framework_says_nothing():
    at = START + np.arange(0.0, 401, 5)
    usage = np.full((4, len(at)), 40 * GIB)
    usage[1] += np.maximum(at - START - 150, 0) / 60 * 0.8 * GIB
    (found,) = evaluated(None, **{USAGE: readings(at, usage)})
    assert ("1", USAGE) == (found.entity.id, found.signal)
    assert "device memory in use of rank 1" in found.text
    # Where it does, the device's memory is the allocator's business.
    assert [] == evaluated(np.full((4, COUNT), 30.0), **{USAGE: readings(at, usage)})


@pytest.mark.parametrize(
    ("held", "named"),
    [([40, 43], []), ([40, 42], ["1"]), ([40, 40, 40, 40, 50], ["1"]), ([40, 40, 50], [])],
)
def test_a_cache_that_fills_up_to_what_peers_hold_is_no_leak(held, named):
    """Rank 1 takes 3.3 GiB in four minutes; the last rank holds most, of many its own affair."""
    at = START + np.arange(0.0, 401, 5)
    usage = np.repeat(np.array([held[0], 40, *held[1:]])[:, None] * GIB, len(at), axis=1)
    usage[1] += np.maximum(at - START - 150, 0) / 60 * 0.8 * GIB
    limit = readings(np.array([START]), np.full((len(usage), 1), 80 * GIB))
    window = sketch(
        np.full((len(usage), COUNT), 0.8), rank_readings={LIMIT: limit, USAGE: readings(at, usage)}
    )
    assert named == [f.entity.id for f in GpuLeakDetector().evaluate(window)]


def test_an_allocators_cache_that_grows_by_a_percent_is_no_leak():
    """What is in use holds the cache as well, which grows with every record of the peak."""
    at = START + np.arange(0.0, 481, 5)
    usage = np.full((4, len(at)), 60 * GIB)
    usage[1] += np.maximum(at - START - 150, 0) / 60 * 0.25 * GIB
    assert [] == evaluated(None, **{USAGE: readings(at, usage)})


def test_memory_that_grows_with_the_tokens_is_a_longer_batch():
    tokens = np.full((4, COUNT), 4000.0)
    tokens[2] += np.maximum(STEP - 150, 0) * 4.0
    planes = {"training.tokens": tokens}
    assert [] == evaluated(leak([2]), planes=planes)
    assert 1 == len(evaluated(leak([1]), planes=planes))


def test_without_a_step_the_warm_up_counts_from_the_start_of_the_attempt():
    at = START + np.arange(0.0, 601, 5)
    usage = np.full((2, len(at)), 40 * GIB) + (at - START) / 60 * 0.8 * GIB
    by_rank = {
        USAGE: readings(at, usage), LIMIT: readings(at[:1], np.full((2, 1), 80 * GIB)),
    }  # fmt: skip
    for started, count in ((START, 1), (START + 500, 0)):
        window = sketch(
            np.zeros((2, 0)), now=float(at[-1]), rank_readings=by_rank, attempt_started_at=started
        )
        assert count == len(GpuLeakDetector().evaluate(window))


def test_a_job_that_ended_long_ago_leaks_no_more():
    held = {ALLOCATED: leak([2]) * GIB}
    assert [] == GpuLeakDetector().evaluate(
        sketch(np.full((4, COUNT), 0.8), planes=held, now=START + 9000)
    )


def test_nothing_reported_is_no_finding():
    assert [] == evaluated(None)


def usage(held):
    """Return the memory in use on the devices of ranks, [ranks, seconds] GiB, as readings."""
    at = START + np.arange(0.0, float(held.shape[1]))
    return {USAGE: readings(at, held * GIB)}


@pytest.mark.parametrize("seed", range(8))
def test_caches_that_grow_by_records_on_every_rank_are_no_leak(seed):
    needed = 40 + np.random.default_rng(seed).lognormal(0, 0.3, (4, COUNT))
    assert [] == evaluated(None, **usage(np.maximum.accumulate(needed, axis=1)))


def test_a_leak_among_caches_that_grow_as_well_is_the_ranks_own():
    needed = 40 + np.random.default_rng(1).lognormal(0, 0.3, (4, COUNT))
    held = np.maximum.accumulate(needed, axis=1)
    (found,) = evaluated(None, **usage(held + leak([2], since=100) - 40))
    assert ("rank.gpu_memory_grows", "2") == (found.kind, found.entity.id)
