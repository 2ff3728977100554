"""What the tests of simulated machines share: short recordings, and how to look at them."""

import numpy as np

from rankscope.lab.simulator import faults, recording
from rankscope.lab.simulator.shape import (
    EPOCH,
    ReportingHabits,
    SimulatedCluster,
    SimulatedJob,
    SimulationScenario,
)

ONSET = 70.0


def scenario(*, seconds=150.0, cluster=None, job=None, reporting=None, **shape):
    """Return a scenario of four hosts with two devices each, unless told otherwise."""
    return SimulationScenario(
        name="machines",
        text="a test",
        seconds=seconds,
        cluster=cluster or SimulatedCluster(**{"hosts": 4, "slots": 2, **shape}),
        jobs=(job or SimulatedJob(step_seconds=1.0, hiccups=0.0),),
        reporting=reporting or ReportingHabits(),
    )


def broken(kind, *, seed=1, onset=ONSET, base=None, **settings):
    """Return a recording with a fault of these settings in it."""
    base = base or scenario()
    fault = {"kind": kind, "onset": onset, **settings}
    return recording.simulate(_with(base, fault), seed)


def _with(base, fault):
    return SimulationScenario(
        base.name, base.text, base.seconds, base.cluster, base.jobs, base.reporting, fault
    )


def injected(kind, base, *, seed=1, strength="plain"):
    """Return a recording with a drawn fault."""
    random = np.random.default_rng(seed)
    return recording.simulate(faults.inject(kind, base, random, strength=strength), seed)


def rows(found, metric, **pairs):
    """Return {(host, attributes): (at, value)} of a metric; "." in names is written "_"."""
    wanted = {key.replace("_", "."): value for key, value in pairs.items()}
    result = {}
    for row in found.series:
        named = dict(row.attributes)
        if row.metric == metric and all(named.get(k) == v for k, v in wanted.items()):
            result[row.host, row.attributes] = (row.at, row.value)
    return result


def after(found, metric, key, **pairs):
    """Return the median after the fault built up, by an attribute ("host": by host)."""
    onset = found.truth.onset - EPOCH
    values: dict[object, list[float]] = {}
    for (host, named), (at, value) in rows(found, metric, **pairs).items():
        late = value[at > onset + 25]
        if len(late):
            name = host if key == "host" else dict(named)[key]
            values.setdefault(name, []).extend(late.tolist())
    return {name: float(np.median(list_)) for name, list_ in values.items()}


def events(found, name):
    """Return the events of this name."""
    return [said.event for said in found.sayings if said.event.name == name]


def steps(found, attempt=0):
    """Return when each step ended, and how long it took, of an attempt."""
    rows_ = found.attempts[attempt].steps
    ends = np.array([row.max() for row in rows_.end])
    return ends[1:], np.diff(ends)


def slowdown(found):
    """Return the median step after the onset as a ratio to the median before."""
    onset = found.truth.onset - EPOCH
    ends, seconds = steps(found)
    before = seconds[(ends < onset) & (ends > 25)]
    return float(np.median(seconds[ends > onset + 25]) / np.median(before))
