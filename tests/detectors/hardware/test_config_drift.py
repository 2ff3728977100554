"""Hosts with a version or setting unlike their peers', and hosts that were changed."""

import numpy as np
import pytest

from rankscope.detectors.hardware.config_drift import ConfigDriftDetector
from rankscope.detectors.sketch import START, readings, sketch

AT = START + np.arange(0.0, 61, 5)


@pytest.fixture
def found(steady):
    """Return a function that returns (kind, host) for versions by host, and events."""

    def evaluate(*versions, events=()):
        held = {}
        for version in set(versions):
            value = np.array([[1.0 if one == version else np.nan] for one in versions])
            held[f"system.software.info|nvidia|{version}"] = readings(AT, value)
        hosts = len(versions) or 4
        window = sketch(steady(ranks=2 * hosts), hosts=hosts, host_readings=held,
                        events=tuple(events))  # fmt: skip
        return [(f.kind, f.entity.id) for f in ConfigDriftDetector().evaluate(window)]

    return evaluate


def test_the_host_with_another_version_differs(found):
    assert [("host.differs", "host-2"), ("host.drift", "host-2")] == found(
        "570", "570", "550", "570"
    )


def test_one_of_three_hosts_differs_and_two_of_five_do_not(found):
    assert [("host.differs", "host-1"), ("host.drift", "host-1")] == found("570", "550", "570")
    assert [] == found("570", "550", "570", "550", "570")


def test_two_halves_are_a_roll_out(found):
    assert [] == found("570", "570", "550", "550")


def test_of_two_hosts_either_may_be_the_one_that_differs(found):
    assert [("host.differs", "host-0"), ("host.differs", "host-1")] == found("570", "550")
    assert [] == found("570", "570")


def test_a_host_that_was_changed_is_evidence_and_a_roll_out_is_not(found, event):
    changes = [event("change", 40, host=f"host-{n}", kind="driver", text="nvidia is 570")
               for n in range(4)]  # fmt: skip
    assert [("host.changed", "host-1")] == found(events=changes[1:2])
    assert [] == found(events=changes)


def test_a_change_of_code_is_the_jobs_own(found, event):
    assert [] == found(events=[event("change", 40, host="host-1", kind="code", text="commit")])


def refused(event, host, rank):
    text = f"Mismatched NCCL version detected : rank {rank} has 22203, rank 0 has 22005"
    return event("log.fault", 40, host=host, rank=rank, role="root", text=text)


def test_a_host_whose_library_version_was_refused_is_named(found, event):
    lines = [refused(event, "host-2", rank) for rank in (4, 5)]
    assert [("host.version_refused", "host-2")] == found(events=lines)


def test_where_most_are_unlike_rank_0_its_host_is_the_one(found, event):
    lines = [refused(event, f"host-{rank // 2}", rank) for rank in (2, 4, 6)]
    assert [("host.version_refused", "host-0")] == found(events=lines)


def test_the_lines_as_nccl_writes_them_name_the_host_of_the_odd_rank(found, event):
    lines = []
    for rank in range(8):
        other, theirs, own = (0, 22105, 21903) if rank == 5 else (5, 21903, 22105)
        text = (
            f"node:1:2 [0] init.cc:1022 NCCL WARN Mismatched NCCL version detected : "
            f"rank {other} version {theirs} rank {rank} version {own}"
        )
        host = f"host-{rank // 2}"
        lines.append(event("log.fault", 40, host=host, rank=rank, role="root", text=text))
    assert [("host.version_refused", "host-2")] == found(events=lines)


@pytest.fixture
def drift(steady):
    """Return a function that returns what is worth knowing so many seconds after the start.

    `host-2` has the odd version from a second on, and the usual one before.
    """

    def evaluate(seconds, *, since=0.0, silent=False):
        at = START + np.arange(0.0, seconds + 1, 5)
        usual, odd = np.ones((4, len(at))), np.full((4, len(at)), np.nan)
        usual[2, at >= START + since] = np.nan
        odd[2, at >= START + since] = 1.0
        if silent:
            usual[3] = np.nan
        held = {
            "system.software.info|nvidia|570": readings(at, usual),
            "system.software.info|nvidia|550": readings(at, odd),
        }
        window = sketch(steady(ranks=8), hosts=4, host_readings=held, now=START + seconds,
                        attempt_started_at=START)  # fmt: skip
        return [f for f in ConfigDriftDetector().evaluate(window) if f.kind == "host.drift"]

    return evaluate


def test_the_odd_one_of_all_hosts_is_information_after_a_minute(drift):
    assert [] == drift(50.0)
    (found,) = drift(70.0)
    assert ("host-2", START) == (found.entity.id, found.onset[0])
    assert found.score < 1
    assert "host host-2 is the odd one: nvidia 550 (its peers: 570)" == found.text


def test_a_version_that_came_later_is_dated_to_its_first_report(drift):
    (found,) = drift(700.0, since=100.0)
    assert START + 100.0 == found.onset[0]


def test_a_version_that_has_just_come_is_a_roll_out_until_it_stays(drift):
    assert [] == drift(700.0, since=690.0)


def test_while_a_host_has_not_reported_nobody_is_the_odd_one(drift):
    assert [] == drift(70.0, silent=True)
