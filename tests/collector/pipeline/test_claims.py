"""What somebody says of a healthy job, and nobody could check: no page, and nothing acts on it."""

from dataclasses import replace

import numpy as np
import pytest

from rankscope.lab.scoring.running import RecordingRun
from rankscope.lab.simulator import recording
from rankscope.lab.simulator.events import TimedEvent
from rankscope.lab.simulator.series.resources import of_job
from rankscope.lab.simulator.shape import (
    ReportingHabits,
    SimulatedCluster,
    SimulatedJob,
    SimulationScenario,
)
from rankscope.vocabulary.samples import CLAIMED, Event

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


def played(said, *, claimed):
    """Return the incidents above info of a healthy job of which something is said."""
    scenario = SimulationScenario(
        "claims",
        "a healthy job",
        320.0,
        SimulatedCluster(hosts=2, slots=2),
        (SimulatedJob(step_seconds=2.0),),
        ReportingHabits(push=5.0),
    )
    made = recording.simulate(scenario, 3)
    resource = of_job(made.attempts[0], 0, scenario.cluster.name)
    more = CLAIMED if claimed else {}
    sayings = [
        TimedEvent(0, at, at + 0.1, Event(name, at, {**pairs, **more}, resource))
        for at, (name, pairs) in zip(np.arange(200.0, 300.0, 0.1).tolist(), said, strict=False)
    ]
    made = replace(made, sayings=[*made.sayings, *sayings])
    run = RecordingRun()
    run.play(made)
    return [each for each in run.incidents.values() if each.severity != "info"]


def test_claims_alone_page_nobody():
    loud = played(SAID, claimed=True)
    assert [] == [f"{each.severity}: {each.summary}" for each in loud]


@pytest.mark.parametrize("said", SAID[-2:], ids=lambda said: said[0])
def test_one_that_was_observed_does(said):
    assert [] != played([said], claimed=False)


def test_an_end_that_was_observed_is_critical():
    assert {"critical"} == {each.severity for each in played([END], claimed=False)}
