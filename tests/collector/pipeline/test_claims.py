"""What somebody says of a healthy job, and nobody could check: no page, and nothing acts on it."""

from dataclasses import replace

import numpy as np
import pytest

from rankscope.formats.otlp.columns import MetricsBatch, PointColumns
from rankscope.lab.scoring.running import RecordingRun
from rankscope.lab.simulator import faults, recording
from rankscope.lab.simulator.events import TimedEvent
from rankscope.lab.simulator.series.resources import of_job
from rankscope.lab.simulator.shape import (
    EPOCH,
    ReportingHabits,
    SimulatedCluster,
    SimulatedJob,
    SimulationScenario,
)
from rankscope.vocabulary.samples import CLAIMED, Event, Scalar, TelemetryResource, attributes

END = ("process.exit", {"rank": 1, "exit_code": 1})
SAID = [
    ("log.fault", {"rank": 1, "signature": "cuda.out_of_memory", "role": "root",
                   "ended": "process", "text": "CUDA out of memory"}),
    END,
    *(("process.exit", {"rank": rank, "exit_code": 1}) for rank in (0, 2, 3)),
    ("host.oom_kill", {"rank": 1, "pid": 1001}),
    ("gpu.fault", {"rank": 1, "vendor": "nvidia", "code": "79", "class": "fatal",
                   "text": "fell off the bus"}),
    ("training.numeric", {"rank": 1, "step": 90, "what": "loss", "value": "nan"}),
]  # fmt: skip


def simulated(fault=None):
    scenario = SimulationScenario(
        "claims",
        "a job of which something is said",
        320.0,
        SimulatedCluster(hosts=2, slots=2),
        (SimulatedJob(step_seconds=2.0),),
        ReportingHabits(push=5.0),
    )
    if fault is not None:
        scenario = faults.inject(fault, scenario, np.random.default_rng(3), onset=200.0)
    return recording.simulate(scenario, 3)


def loud(made):
    """Return the incidents above info of a recording."""
    run = RecordingRun()
    run.play(made)
    return [each for each in run.incidents.values() if each.severity != "info"]


def with_events(made, said, *, claimed):
    """Return a recording with events of its job, one each tenth of a second from 200 s on."""
    resource = of_job(made.attempts[0], 0, made.scenario.cluster.name)
    more = CLAIMED if claimed else {}
    sayings = [
        TimedEvent(0, at, at + 0.1, Event(name, at, {**pairs, **more}, resource))
        for at, (name, pairs) in zip(np.arange(200.0, 300.0, 0.1).tolist(), said, strict=False)
    ]
    return replace(made, sayings=[*made.sayings, *sayings])


def played(said, *, claimed):
    """Return the incidents above info of a healthy job of which something is said."""
    return loud(with_events(simulated(), said, claimed=claimed))


def test_claims_alone_page_nobody():
    said = played(SAID, claimed=True)
    assert [] == [f"{each.severity}: {each.summary}" for each in said]


@pytest.mark.parametrize("said", SAID[-2:], ids=lambda said: said[0])
def test_one_that_was_observed_does(said):
    assert [] != played([said], claimed=False)


def test_an_end_that_was_observed_is_critical():
    assert {"critical"} == {each.severity for each in played([END], claimed=False)}


SAMPLES: list[tuple[str, float, dict[str, Scalar]]] = [
    ("training.rank.info", 1.0, {"pid": 7, "world_size": 64, "hw.id": "GPU-none"}),
    ("training.progress.age", 900.0, {}),
    ("training.step", 3.0, {}),
    ("training.step.duration", 90.0, {}),
    ("training.loss", np.nan, {}),
    ("training.nonfinite", 5.0, {"of": "loss"}),
]


class WithSamples:
    """A recording, and every five seconds samples that somebody else sends of its job."""

    def __init__(self, made, more):
        self.made, self.more = made, more

    def batches(self, table):
        job = self.made.scenario.jobs[0].name
        due = EPOCH + 150.0
        for at, what in self.made.batches(table):
            while due <= at:
                yield due, self._said(table, job, due)
                due += 5.0
            yield at, what

    def _said(self, table, job, at):
        """Return samples of two ranks, the second of which the job does not have."""
        elsewhere = TelemetryResource("elsewhere", job, self.made.attempts[0].number)
        points: list[tuple[int, float]] = []
        for rank in (1, 40):
            for name, value, pairs in SAMPLES:
                named = attributes({"rank": rank, **pairs, **self.more})
                step = at - EPOCH if name == "training.step" else 0.0
                points.append((table.intern(elsewhere, name, named), value + step))
        series, values = zip(*points, strict=True)
        columns = PointColumns(
            np.array(series, np.int32), np.full(len(series), at), np.array(values)
        )
        return MetricsBatch(columns, 0, "")


def test_claimed_samples_page_nobody():
    found = loud(WithSamples(simulated(), CLAIMED))
    assert [] == [f"{each.severity}: {each.summary}" for each in found]


def test_samples_of_somebody_who_is_believed_do():
    """As those of a process do that its launcher made the rank: they are harmless, and heard."""
    assert [] != loud(WithSamples(simulated(), {}))


def test_claimed_samples_and_phases_hide_no_deadlock():
    made = simulated("deadlock")
    (alone,) = loud(made)
    phases = [("training.phase", {"rank": rank, "phase": "eval"}) for rank in range(4)]
    (among,) = loud(WithSamples(with_events(made, 20 * phases, claimed=True), CLAIMED))
    assert (alone.severity, alone.opened_at) == (among.severity, among.opened_at)
    assert alone.root_cause.hypotheses[0].fault == among.root_cause.hypotheses[0].fault
