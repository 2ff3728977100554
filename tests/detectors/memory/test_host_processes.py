"""Trainers and dataloader workers that eat the memory of their host."""

import numpy as np
import pytest

from rankscope.detectors.memory import growth
from rankscope.detectors.memory.host_leak import HostLeakDetector
from rankscope.detectors.memory.worker_memory import WorkerMemoryDetector
from rankscope.detectors.sketch import START, readings, sketch
from rankscope.detectors.window import ProcessReadings

GIB = 2.0**30
AT = START + np.arange(0.0, 501, 5)
GROWN = np.maximum(AT - START - 150, 0) / 60
FLAT = 0 * AT


def job(*, left=64.0, **more):
    """Draw two ranks on each of two hosts with 64 GiB left."""
    hosts = {} if left is None else {
        "system.memory.usage": readings(AT, np.full((2, 1), (256 - left) * GIB)),
        "system.memory.limit": readings(AT, np.full((2, 1), 256 * GIB)),
    }  # fmt: skip
    return sketch(np.full((4, 500), 0.8), now=float(AT[-1]), host_readings=hosts, **more)


@pytest.fixture
def trainers():
    """Return a function that evaluates trainers by how many GiB a minute each grows."""

    def evaluate(*rates, **more):
        private = 8 * GIB + np.array(rates)[:, None] * GROWN * GIB
        by_rank = {"process.memory.private": readings(AT, private)}
        return HostLeakDetector().evaluate(job(rank_readings=by_rank, **more))

    return evaluate


@pytest.fixture
def workers():
    """Return a function that evaluates two workers of rank 1 by private, shared, resident GiB."""

    def evaluate(private, shared=None, resident=None, **more):
        found = {"process.memory.private|dataloader": private}
        if shared is not None:
            found["process.memory.shared|dataloader"] = shared
        if resident is not None:
            found["process.memory.usage|dataloader"] = resident
        held = {name: readings(AT, np.stack([rows, 0 * AT + 1.0]) * GIB)
                for name, rows in found.items()}  # fmt: skip
        one = np.array([0, 0])
        there = ProcessReadings(one, np.array([501, 502]), one + 1, (None, None), held)
        return WorkerMemoryDetector().evaluate(job(processes=there, **more))

    return evaluate


def test_a_trainer_that_grows_is_named_as_a_process_of_its_rank(trainers):
    (found,) = trainers(0, 0, 1, 0)
    assert ("process.memory_grows", "host-1:1002", [2]) == (
        found.kind, found.entity.id, list(found.ranks),
    )  # fmt: skip
    assert 64 * 60 == pytest.approx(found.magnitude, rel=0.05)
    assert "the host's memory is used up in 64 min" in found.text


def test_processes_of_one_host_use_it_up_together(trainers):
    one, other, alone = trainers(1, 1, 1, 0)
    assert 32 * 60 == pytest.approx(one.magnitude, rel=0.05) == other.magnitude
    assert 64 * 60 == pytest.approx(alone.magnitude, rel=0.05)


def test_a_process_that_cannot_be_named_or_grows_little_is_no_finding(trainers):
    assert [] == trainers(0, 0, 0.01, 0)
    assert [] == trainers(0, 0, 1, 0, pids=np.array([7, 8, -1, 9]))


def test_what_would_fill_the_host_only_after_days_needs_to_be_seen_for_longer(trainers):
    assert [] == trainers(0.0, 0.0, 0.05, 0.0)  # 64 GiB left, 0.05 a minute, for 6 minutes
    assert 1 == len(trainers(0.0, 0.0, 0.05, 0.0, left=32.0))


@pytest.mark.parametrize("minutes", [4, 8, 12])
def test_what_a_process_gathers_after_its_start_is_an_observation(minutes):
    """Eight trainers of a host of a terabyte, 100 MiB a minute each, and then no more."""
    at = START + np.arange(0.0, 60 * minutes + 1, 5)
    noise = np.random.default_rng(7).normal(0, 8 * 2.0**20, (8, len(at)))
    private = 8 * GIB + noise + (at - START) / 60 * 100 * 2.0**20
    hosts = {"system.memory.usage": 120.0, "system.memory.limit": 1024.0}
    window = sketch(
        np.full((8, 60 * minutes), 0.8), hosts=1, now=float(at[-1]),
        rank_readings={"process.memory.private": readings(at, private)},
        host_readings={name: readings(at, np.full((1, 1), size * GIB))
                       for name, size in hosts.items()},
    )  # fmt: skip
    assert {growth.OBSERVED} >= {found.score for found in HostLeakDetector().evaluate(window)}


def test_a_leak_that_ends_within_a_day_says_when_once_it_was_seen_for_long_enough():
    """One trainer, 1 GiB a minute, a host of a terabyte: 15 h are left."""
    scores = []
    for minutes in (20, 130):
        at = START + np.arange(0.0, 60 * minutes + 1, 30)
        private = 8 * GIB + (at - START)[None] / 60 * GIB
        hosts = {"system.memory.usage": 124.0, "system.memory.limit": 1024.0}
        window = sketch(
            np.full((1, 60 * minutes), 0.8), hosts=1, now=float(at[-1]),
            rank_readings={"process.memory.private": readings(at, private)},
            host_readings={name: readings(at, np.full((1, 1), size * GIB))
                           for name, size in hosts.items()},
        )  # fmt: skip
        (found,) = HostLeakDetector().evaluate(window)
        scores.append(found.score)
    assert [growth.OBSERVED, growth.LATER] == scores
    assert "the host's memory is used up in 15 h (15 h to 15 h)" in found.text


def test_without_the_hosts_memory_a_leak_is_an_observation(trainers, workers):
    (found,) = trainers(0, 0, 1, 0, left=None)
    assert 0.5 == found.score
    assert "used up" not in found.text
    (found,) = workers(1 + GROWN, left=None)
    assert 0.5 == found.score


def test_nothing_reported_is_no_finding():
    assert [] == [*HostLeakDetector().evaluate(job()), *WorkerMemoryDetector().evaluate(job())]


def test_private_memory_that_grows_alone_is_a_leak(workers):
    for shared in (None, 8 + FLAT, 8 + 0.2 * GROWN):
        (found,) = workers(1 + GROWN, shared)
        assert ("process.worker_memory_grows", "host-0:501") == (found.kind, found.entity.id)
        assert [1] == list(found.ranks)
        assert found.score > 2


def test_private_memory_that_grows_by_what_shared_memory_loses_is_copied(workers):
    for shared, resident in ((8 - GROWN, None), (8 - 0.8 * GROWN, 9 + FLAT), (None, 9 + FLAT)):
        (found,) = workers(1 + GROWN, shared, resident)
        assert "process.shared_memory_copied" == found.kind
        assert "that it shared into private pages" in found.text


def test_a_worker_that_touches_a_part_of_what_it_inherited_is_healthy(workers):
    touched = 2 * (1 - np.exp(-GROWN))
    assert [] == workers(1 + touched, 8 - touched)
    assert [] == workers(1 + GROWN / 2, 8 - GROWN / 2)


def test_a_copy_that_is_over_within_a_minute_is_found(workers):
    done = np.clip(AT - START - 200, 0, 60) / 60 * 3
    (found,) = workers(1 + done, 3 - done)
    assert ("process.shared_memory_copied", 1.0) == (found.kind, found.magnitude)


def test_a_leak_beside_what_a_worker_touches_is_a_leak(workers):
    touched = 1 - np.exp(-GROWN)
    (found,) = workers(1 + touched + 2 * GROWN, 4 - touched)
    assert "process.worker_memory_grows" == found.kind


def test_a_large_worker_shows_a_leak_by_its_resident_size_and_its_hosts_memory():
    held = {"process.memory.usage|dataloader": readings(AT, (5 + GROWN)[None] * GIB)}
    there = ProcessReadings(np.array([0]), np.array([501]), np.array([1]), (None,), held)
    hosts = {"system.memory.limit": readings(AT, np.full((2, 1), 256 * GIB))}
    for grown, kinds in ((GROWN, ["process.worker_memory_grows"]), (FLAT, [])):
        hosts["system.memory.usage"] = readings(AT, (100 + np.stack([grown, FLAT])) * GIB)
        window = sketch(np.full((4, 500), 0.8), now=float(AT[-1]), host_readings=hosts,
                        processes=there)  # fmt: skip
        assert kinds == [found.kind for found in WorkerMemoryDetector().evaluate(window)]


@pytest.mark.parametrize(
    ("private", "kinds"),
    [(GROWN, ["process.worker_memory_grows"]), (0.5 * GROWN, []), (FLAT, [])],
)
def test_seldom_private_readings_tell_whose_the_growth_of_the_resident_size_is(private, kinds):
    at = AT[AT <= START + 330]  # three minutes of growth
    few, own = at[2::6], (1 + private[: len(at)])[None, 2::6]  # every 30 s
    there = ProcessReadings(
        np.array([0]), np.array([501]), np.array([1]), (None,),
        {"process.memory.private|dataloader": readings(few, own * GIB),
         "process.memory.usage|dataloader": readings(at, (3 + GROWN[: len(at)])[None] * GIB)},
    )  # fmt: skip
    window = sketch(np.full((4, 330), 0.8), now=START + 330, processes=there)
    assert kinds == [found.kind for found in WorkerMemoryDetector().evaluate(window)]


def test_copies_that_fit_into_the_host_are_info_and_others_a_warning(workers):
    (fits,) = workers(1 + GROWN, 10 - GROWN, left=64.0)
    (does_not,) = workers(1 + GROWN, 10 - GROWN, left=4.0)
    assert (0.5, 2.0) == (fits.score, does_not.score)


def test_copying_counts_though_it_levels_off_and_a_cache_does_not(workers):
    filled = 6 * (1 - np.exp(-GROWN / 2))
    assert ["process.shared_memory_copied"] == [f.kind for f in workers(1 + filled, 8 - filled)]
    assert [] == workers(1 + filled, 8 + FLAT)


def test_a_worker_whose_private_memory_stays_is_no_finding(workers):
    assert [] == workers(1 + FLAT, 8 + FLAT)


def test_a_worker_of_nobody_is_named_without_a_rank():
    none = np.array([-1])
    held = {"process.memory.private|dataloader": readings(AT, (1 + GROWN)[None] * GIB)}
    there = ProcessReadings(np.array([0]), np.array([501]), none, (None,), held)
    (found,) = WorkerMemoryDetector().evaluate(job(processes=there))
    assert [] == list(found.entity.ranks)


def test_copies_began_with_their_newest_fall_and_not_with_the_first_minutes():
    settles = 0.2 * GIB * np.exp(-(AT - START) / 30)
    copied = np.minimum(np.maximum(AT - START - 300, 0) / 100, 1.0) * 2 * GIB
    shared = 2 * GIB + settles - copied
    private = 1 * GIB - settles + copied
    workers = ProcessReadings(
        np.array([0]), np.array([501]), np.array([1]), (None,),
        {"process.memory.private|dataloader": readings(AT, private[None]),
         "process.memory.shared|dataloader": readings(AT, shared[None])},
    )  # fmt: skip
    (found,) = WorkerMemoryDetector().evaluate(job(processes=workers))
    assert "process.shared_memory_copied" == found.kind
    assert START + 295 <= found.onset[0] <= START + 300 <= found.onset[1] <= START + 310
