"""A device that is still gone when its job is well or over: the incident stays open."""

from functools import partial

import pytest

from rankscope.alerts.actions import PersonAction
from rankscope.alerts.repairs import LONGEST_SECONDS
from rankscope.vocabulary.ids import IncidentId

START = 1_700_000_000.0
ENDED = 460.0
"""When the job of `fallen` is over."""


@pytest.fixture
def lost(topology, found):
    """Return what is found of a device that fell off the bus 40 s after START."""
    device = topology.gpu_entity(2)
    return [found(kind, device) for kind in ("gpu.lost", "gpu.fault_event")]


@pytest.fixture
def read(topology):
    """Return a function for who last read the lost device at a second after START."""

    def make(at):
        return lambda device: START + at if device == topology.gpu_entity(2) else None

    return make


@pytest.fixture
def fallen(evaluated, lost, read):
    """Let a device fall off the bus, and its job end of it; return the last change."""
    evaluated(60, *lost, stepped=39.0, seen=read(38.0))
    assert evaluated(61, *lost, stepped=39.0, silent=22.0, seen=read(38.0)) == []
    (change,) = evaluated(ENDED, stepped=39.0, silent=400.0, seen=read(38.0))
    return change


def end(changes):
    (change,) = changes
    assert change.kind == "incident.resolved"
    assert change.incident.status == "resolved"
    assert change.notify
    return change.incident.timeline[-1].text


def test_the_end_of_the_job_is_not_that_of_the_incident(fallen, tracker, read):
    assert fallen.kind == "incident.updated"
    assert (fallen.incident.status, fallen.incident.resolved_at) == ("open", None)
    assert not fallen.notify, "they were notified of it, and nothing is new"
    assert "the job ended" in fallen.incident.timeline[-1].text
    assert tracker.repaired(read(38.0), START + ENDED + 10) == []


def test_it_is_resolved_once_the_device_gives_readings_again(fallen, tracker, topology, read):
    now = ENDED + 3600
    text = end(tracker.repaired(read(now - 3), START + now))
    assert text == f"{topology.gpu_entity(2)} gives readings again"
    assert tracker.repaired(read(now - 3), START + now + 10) == []


def test_a_reading_of_long_ago_is_no_sign_of_life(fallen, tracker, read):
    assert tracker.repaired(read(ENDED + 1), START + ENDED + 3600) == []


def test_the_job_going_on_elsewhere_is_not_its_end_either(evaluated, lost, read):
    evaluated(60, *lost, stepped=39.0, seen=read(38.0))
    changes = [
        change
        for now in range(61, 200)
        for change in evaluated(now, attempt=1, stepped=now - 1.0, seen=read(38.0))
    ]
    (change,) = changes
    assert change.incident.status == "open"
    assert "training goes on" in change.incident.timeline[-1].text


def test_a_device_that_works_by_then_ends_with_the_job(evaluated, lost, read):
    evaluated(60, *lost, stepped=39.0, seen=read(38.0))
    (change,) = evaluated(ENDED, stepped=39.0, silent=400.0, seen=read(ENDED - 2))
    assert change.incident.status == "resolved"


def test_a_device_that_nobody_reads_ends_with_the_job(evaluated, lost):
    evaluated(60, *lost, stepped=39.0)
    (change,) = evaluated(ENDED, stepped=39.0, silent=400.0)
    assert change.incident.status == "resolved"


def test_nobody_waits_longer_than_a_day(fallen, tracker, read):
    over = START + ENDED + LONGEST_SECONDS
    assert tracker.repaired(read(38.0), over - 1) == []
    assert "waited for no more" in end(tracker.repaired(read(38.0), over))


def test_a_person_resolves_it_meanwhile(fallen, tracker, read):
    did = partial(PersonAction, incident=IncidentId(fallen.incident.id), by="ada", detail={})
    now = START + ENDED + 50
    (taken,) = tracker.act(did(kind="acknowledge", at=now), now)
    assert taken.incident.status == "acknowledged"
    assert "resolved by ada" in end(tracker.act(did(kind="resolve", at=now + 9), now + 9))
    assert tracker.repaired(read(ENDED + 95), START + ENDED + 100) == []


def test_it_leaves_the_habits_of_the_next_attempt_to_be_learnt(fallen, tracker):
    assert not tracker.slows(fallen.incident.job)
    assert not tracker.has_open(fallen.incident.job)


def test_the_next_attempt_on_the_same_device_reopens_it(fallen, evaluated, found, topology, read):
    """However long after: it is open all the time."""
    again = ENDED + 7200
    device = topology.gpu_entity(2)
    findings = [found(kind, device, again - 5, attempt=1) for kind in ("gpu.lost", "job.stalled")]
    findings[1] = found("job.stalled", topology.job_entity, again - 5, attempt=1)
    (change,) = evaluated(again, *findings, attempt=1, stepped=again - 6, seen=read(38.0))
    assert change.incident.id == fallen.incident.id
    assert change.notify, "a job stands still again"
