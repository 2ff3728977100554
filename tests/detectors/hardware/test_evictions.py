"""Hosts that the scheduler took away from the job."""

import numpy as np
import pytest

from rankscope.detectors.hardware.evictions import EvictionsDetector
from rankscope.detectors.sketch import START, sketch
from rankscope.vocabulary.samples import Event, TelemetryResource


@pytest.fixture
def found(steady):
    """Return a function that returns the hosts that were taken away from a job on two."""
    return lambda *events: [
        f.entity.id for f in EvictionsDetector().evaluate(sketch(steady(), events=events))
    ]


@pytest.mark.parametrize(
    "reason",
    [
        "Evicted",
        "NodeNotReady",
        "Preempted",
        "TaintManagerEviction",
        "TimeLimit",
        "DeadlineExceeded",
    ],
)
def test_a_host_that_was_taken_is_named(found, event, reason):
    assert ["host-1"] == found(event("scheduler.event", 40, host="host-1", reason=reason))


def test_an_event_that_names_a_host_is_about_that_host(found, event):
    pairs = {"reason": "NodeNotReady", "text": "node host-1 is not ready"}
    assert ["host-1"] == found(event("scheduler.event", 40, host="scheduler", **pairs))


def test_a_stop_of_the_whole_job_is_no_eviction(found, event):
    both = [event("scheduler.event", 40, host=f"host-{n}", reason="Preempted") for n in (0, 1)]
    assert [] == found(*both)


def test_other_events_of_the_scheduler_take_nobody(found, event):
    assert [] == found(event("scheduler.event", 40, host="host-1", reason="Scheduled"))


@pytest.mark.parametrize("reason", ["NodeFail", "NodeLost", "node down"])
@pytest.mark.parametrize("host", ["host-1", "host-9"])
def test_a_host_that_failed_by_the_scheduler_s_word_is_a_symptom_of_its_own(reason, host):
    failed = Event(
        "scheduler.event", START + 40, {"reason": reason}, TelemetryResource(host, "example")
    )
    window = sketch(np.full((4, 60), 0.8), events=(failed,))
    (finding,) = EvictionsDetector().evaluate(window)
    assert ("host.reported_lost", host) == (finding.kind, finding.entity.id)
