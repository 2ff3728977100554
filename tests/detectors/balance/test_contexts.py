"""Devices that hold memory of other ranks' processes."""

import numpy as np

from rankscope.detectors.balance.contexts import LIMIT, MEMORY, ContextsDetector
from rankscope.detectors.sketch import START, readings, sketch
from rankscope.detectors.window import ProcessReadings


def evaluated(*rows, limit=80e9, at=(), **more):
    """Evaluate (rank's row, device, bytes) of processes on one host."""
    owner = np.array([row for row, _, _ in rows])
    times = np.array(at or [START] * len(rows))[:, None]
    held = {MEMORY: type(readings(times[0], times))(times, np.array([[b] for *_, b in rows]))}
    there = ProcessReadings(
        0 * owner, 1000 + owner, owner, tuple(device for _, device, _ in rows), held
    )
    by_rank = {LIMIT: readings(np.array([START]), np.full((4, 1), limit))}
    window = sketch(np.full((4, 60), 0.8), hosts=1, processes=there, rank_readings=by_rank, **more)
    return [(f.entity.id, f.magnitude, f.score) for f in ContextsDetector().evaluate(window)]


OWN = [(row, f"GPU-{row}", 4e10) for row in range(4)]


def test_contexts_of_other_ranks_are_counted_on_the_device_that_holds_them():
    assert [] == evaluated(*OWN)
    strangers = [(row, "GPU-0", 5e8) for row in (1, 2, 3)]
    assert [("GPU-0", 3.0, 2.0)] == evaluated(*OWN, *strangers)


def test_few_bytes_are_info_and_shared_handles_nothing():
    assert [("GPU-0", 1.0, 0.5)] == evaluated((1, "GPU-0", 5e8))
    assert [] == evaluated((1, "GPU-0", 1e7))
    assert [("GPU-0", 1.0, 2.0)] == evaluated((1, "GPU-0", 5e8), limit=0.0)


def test_ranks_that_share_a_device_by_design_are_no_strangers():
    shared = ("GPU-0", "GPU-0", "GPU-2", "GPU-2")
    assert [] == evaluated((0, "GPU-0", 4e10), (1, "GPU-0", 4e10), hw_ids=shared)


def test_who_has_no_device_of_their_own_or_is_nobody_is_left_out():
    assert [] == evaluated((1, "GPU-0", 5e8), hw_ids=("GPU-0", None, None, None))
    assert [] == evaluated((-1, "GPU-0", 5e8))
    assert [] == evaluated((1, "GPU-9", 5e8), (1, None, 5e8))


def test_a_process_that_is_reported_no_longer_is_left_out():
    assert [] == evaluated((1, "GPU-0", 5e8), (0, "GPU-0", 4e10), at=[START, START + 300])
