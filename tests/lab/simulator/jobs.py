"""What the tests of simulated jobs share: short runs of one attempt, and how to look at them."""

import dataclasses

import numpy as np

from rankscope.lab.simulator import faults, recording
from rankscope.lab.simulator.shape import (
    EPOCH,
    ReportingHabits,
    SimulatedCluster,
    SimulatedJob,
    SimulationScenario,
)

ONSET = 60.0


def scenario(*, seconds=120.0, hosts=4, slots=4, reporting=None, **job):
    """Return a healthy job of sixteen ranks and steps of a second, unless asked otherwise."""
    fields = {"step_seconds": 1.0, "hiccups": 0.0, "compile_seconds": 2.0, **job}
    return SimulationScenario(
        name="jobs",
        text="a test",
        seconds=seconds,
        cluster=SimulatedCluster(hosts=hosts, slots=slots),
        jobs=(SimulatedJob(**fields),),
        reporting=reporting or ReportingHabits(),
    )


def healthy(*, seed=1, **shape):
    return recording.simulate(scenario(**shape), seed)


def broken(kind, settings=None, *, seed=1, onset=ONSET, **shape):
    """Return a recording with a fault of these settings in it."""
    fault = {"kind": kind, "onset": onset, **(settings or {})}
    return recording.simulate(dataclasses.replace(scenario(**shape), fault=fault), seed)


def injected(kind, base, *, seed=1, strength="plain"):
    random = np.random.default_rng([seed, 5])
    return recording.simulate(faults.inject(kind, base, random, strength=strength), seed)


def steps(found, name, attempt=0):
    """Return a quantity of the finished steps: [step, rank]."""
    return np.stack(getattr(found.attempts[attempt].steps, name))


def durations(found, attempt=0):
    """Return how long each step took: from one meeting of all to the next, [step]."""
    return np.diff(np.array(found.attempts[attempt].steps.sync))


def split(found, name, *, after=5.0):
    """Return a quantity's medians over the steps before the onset and after it: [rank] each."""
    start = steps(found, "start")[:, 0]
    values, onset = steps(found, name), found.truth.onset - EPOCH
    before, late = start < onset - 1, start > onset + after
    before[:6] = False
    return np.median(values[before], axis=0), np.median(values[late], axis=0)


def slowdown(found, *, after=5.0):
    """Return the median step after the onset as a ratio to before."""
    sync, onset = np.array(found.attempts[0].steps.sync), found.truth.onset - EPOCH
    begin, took = sync[6:-1], np.diff(sync[6:])
    return float(np.median(took[begin > onset + after]) / np.median(took[begin < onset - 2]))


def rows(found, metric, **pairs):
    """Return {attributes: (at, value)} of the series of a metric."""
    result = {}
    for row in found.series:
        named = dict(row.attributes)
        if row.metric == metric and all(named.get(k) == v for k, v in pairs.items()):
            result[row.attributes] = (row.at, row.value)
    return result


def of_rank(found, metric, **pairs):
    """Return {rank: (at, value)} of a metric that each rank reports once."""
    return {dict(named)["rank"]: row for named, row in rows(found, metric, **pairs).items()}


def events(found, name):
    return [said.event for said in found.sayings if said.event.name == name]


def losses(found, attempt=0):
    return np.array([row.global_loss for row in found.attempts[attempt].steps.values])
