"""Healthy jobs whose telemetry has an odd shape: nothing fails, and no incident is above info.

Simulated recordings go through the whole pipeline; what no simulated job does itself, such as a
metric that changes its unit, is done to its recording.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from rankscope.lab.scoring.running import RecordingRun
from rankscope.lab.simulator import recording
from rankscope.lab.simulator.clocks import HostClocks
from rankscope.lab.simulator.shape import (
    ReportingHabits,
    SimulatedCluster,
    SimulatedJob,
    SimulationScenario,
)

IDENTITY = {"training.rank.info", "collective.group.info", "hw.network.info"}
"""Metrics whose value says nothing: their attributes do."""

STEP = "training.step"


def recorded(*, seconds=320.0, hosts=2, slots=2, push=5.0, seed=3, **job):
    """Return the recording of a healthy job."""
    scenario = SimulationScenario(
        "bad input",
        "a healthy job",
        seconds,
        SimulatedCluster(hosts=hosts, slots=slots),
        (SimulatedJob(**{"step_seconds": 2.0, **job}),),
        ReportingHabits(push=push),
    )
    return recording.simulate(scenario, seed)


def changed(made, change):
    """Return a recording of which each series is changed: `change(row)` gives series or None."""
    rows = [change(row) for row in made.series]
    return replace(made, series=[row for row in rows if row is not None and len(row.at)])


def within(row, held):
    """Return a series with some of its points."""
    return replace(row, at=row.at[held], value=row.value[held])


def constant(row):
    """Repeat the first value for ever, of everything but the step's index."""
    if row.metric == STEP or not len(row.at):
        return row
    return replace(row, value=np.full_like(row.value, row.value[0]))


def not_a_number(*, steps):
    """Return a change to NaN; losses and norms stay, in which NaN is a fault of the training."""

    def change(row):
        kept = IDENTITY | {"training.loss", "training.grad_norm"} | (set() if steps else {STEP})
        return row if row.metric in kept else replace(row, value=np.full_like(row.value, np.nan))

    return change


def come_and_go(row):
    """Let rank 1 appear after 150 s, and rank 2 report nothing from 250 s on."""
    rank = dict(row.attributes).get("rank")
    if rank == 1:
        return within(row, row.at >= 150)
    return within(row, row.at < 250) if rank == 2 else row


def other_unit(*metrics, factor):
    """Return a change of a unit halfway: what is reported becomes so many times larger."""

    def change(row):
        if not row.metric.startswith(metrics):
            return row
        return replace(row, value=np.where(row.at > 200, factor * row.value, row.value))

    return change


def some_missing(*, whole_pushes):
    """Return a change that drops 30 % of the points: single ones, or all of a 5 s interval."""
    random = np.random.default_rng(11)

    def change(row):
        dice = random.random(len(row.at))
        if whole_pushes:
            dice = np.random.default_rng(row.host).random(100)[(row.at // 5).astype(int)]
        return within(row, dice >= 0.3)

    return change


def one_attempt(row):
    """Leave the number of the attempt away."""
    return replace(row, resource=replace(row.resource, attempt=0))


def clock_back(made, *hosts):
    """Return a recording with hosts whose clocks go back by 40 s after 200 s."""
    back = np.array([0.0, 200.0, 200.001, 1e6]), np.array([0.0, 0.0, -40.0, -40.0])
    return replace(made, clocks=HostClocks(made.clocks.offsets, dict.fromkeys(hosts, back)))


DURATIONS = ("training.step.", "training.compute.", "training.comm.", "training.data.")
MEMORY = ("training.memory", "process.memory", "hw.gpu.memory.usage", "system.memory")

BAD: dict[str, Callable[[], recording.SimulatedRecording]] = {
    "one rank reports": lambda: recorded(report_from="first"),
    "the last rank alone writes a log": lambda: recorded(
        report_from="last", reported_by="log", report_every=5
    ),
    "every 10th step": lambda: recorded(report_every=10),
    "every 100th step": lambda: recorded(step_seconds=0.4, report_every=100),
    "steps of a minute": lambda: recorded(step_seconds=60.0, seconds=1500.0, push=30.0),
    "a first step of several minutes": lambda: recorded(compile_seconds=200.0),
    "constant series": lambda: changed(recorded(), constant),
    "all NaN": lambda: changed(recorded(), not_a_number(steps=False)),
    "all NaN, the step's index too": lambda: changed(recorded(), not_a_number(steps=True)),
    "two ranks": lambda: recorded(hosts=2, slots=1),
    "one rank": lambda: recorded(hosts=1, slots=1),
    "ranks that appear and leave": lambda: changed(recorded(), come_and_go),
    "a resized job": lambda: recorded(hosts=3, slots=1, sizes=(3, 1, 2), restarts=(120.0, 220.0)),
    "time going backwards on one host": lambda: clock_back(recorded(), 1),
    "time going backwards everywhere": lambda: clock_back(recorded(), 0, 1),
    "steps repeated after a restart": lambda: recorded(restarts=(220.0,), checkpoint_every=40),
    "steps repeated in one attempt": lambda: changed(
        recorded(restarts=(220.0,), checkpoint_every=40), one_attempt
    ),
    "durations in milliseconds from now on": lambda: changed(
        recorded(), other_unit(*DURATIONS, factor=1e3)
    ),
    "memory in mebibytes from now on": lambda: changed(
        recorded(), other_unit(*MEMORY, factor=2.0**-20)
    ),
    "power in milliwatts from now on": lambda: changed(
        recorded(), other_unit("hw.power", factor=1e3)
    ),
    "30 % of points missing": lambda: changed(recorded(), some_missing(whole_pushes=False)),
    "30 % of pushes missing": lambda: changed(recorded(), some_missing(whole_pushes=True)),
}


EACH_TIME = (
    "one rank reports",
    "every 10th step",
    "all NaN, the step's index too",
    "a resized job",
    "time going backwards everywhere",
    "steps repeated in one attempt",
    "30 % of pushes missing",
)
"""What is played each time; the others in the long target."""


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[] if name in EACH_TIME else [pytest.mark.long]) for name in BAD],
)
def test_odd_input_fails_nothing_and_opens_no_incident_above_info(name):
    played = RecordingRun()
    played.play(BAD[name]())
    assert {} == played.pipeline.detector_failures
    loud = [each for each in played.incidents.values() if each.severity != "info"]
    assert [] == [f"{each.severity}: {each.summary}" for each in loud]
