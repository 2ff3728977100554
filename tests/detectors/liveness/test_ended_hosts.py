"""Hosts whose processes were ended from outside."""

import numpy as np
import pytest

from rankscope.detectors.liveness.ended_hosts import LIMIT, USAGE, EndedHostsDetector
from rankscope.detectors.sketch import START, readings, sketch


@pytest.fixture
def found(steady, event):
    """Return a function: kinds and hosts found after exits of (rank, second, how)."""

    def evaluate(*exits, used=None, logs=()):
        at = START + np.arange(0.0, 61, 5)
        memory = {}
        if used is not None:
            memory = {
                USAGE: readings(at, np.tile(used, (2, 1))),
                LIMIT: readings(at, np.ones((2, 1))),
            }
        events = tuple(event("process.exit", s, rank=rank, **how) for rank, s, how in exits)
        events = (*logs, *events)
        window = sketch(steady(), now=START + 90, events=events, host_readings=memory)
        return [(f.kind, f.entity.id) for f in EndedHostsDetector().evaluate(window)]

    return evaluate


TERM, KILL, ERROR = {"signal": 15}, {"signal": 9}, {"exit_code": 1}
GROWS, LEVEL = np.linspace(0.4, 0.97, 13), np.full(13, 0.4)


def test_a_host_whose_ranks_were_all_asked_to_end_first_is_named(found):
    exits = ((2, 62, TERM), (3, 62.1, TERM), (0, 63, ERROR), (1, 63.1, ERROR))
    assert [("host.ranks_terminated", "host-1")] == found(*exits)


@pytest.mark.parametrize(
    "exits",
    [
        pytest.param(((2, 62, ERROR), (3, 62.1, TERM), (0, 63, ERROR)), id="one failed"),
        pytest.param(((2, 62, TERM), (0, 63, ERROR)), id="one of two"),
        pytest.param(((2, 62, TERM), (3, 62.1, TERM)), id="nobody else ended"),
        pytest.param(((2, 62, TERM), (3, 62.1, TERM), (0, 62.2, TERM)), id="all were asked"),
        pytest.param(((2, 62, TERM), (3, 72, TERM), (0, 63, ERROR)), id="one after the other"),
    ],
)
def test_other_ends_accuse_nobody(found, exits):
    assert [] == found(*exits)


def test_a_kill_while_the_memory_runs_out_is_the_kernels(found):
    exits = ((2, 62, KILL), (3, 62.5, TERM), (0, 63, ERROR))
    assert [("host.memory_at_kill", "host-1")] == found(*exits, used=GROWS)
    assert [] == found(*exits, used=LEVEL)
    assert [] == found(*exits)


def test_a_host_killed_at_once_with_memory_left_was_ended_from_outside(found):
    exits = ((2, 62, KILL), (3, 62.1, KILL), (0, 63, ERROR))
    assert [("host.ranks_terminated", "host-1")] == found(*exits, used=LEVEL)
    assert [("host.ranks_terminated", "host-1")] == found(*exits)


def test_clocks_may_differ_where_a_log_says_that_a_peer_was_gone(found, event):
    """The other host's clock is a second behind."""
    exits = ((2, 62, TERM), (3, 62.1, TERM), (0, 61.5, ERROR), (1, 61.6, ERROR))
    gone = [event("log.fault", 61.5, rank=rank, role="cascade") for rank in (0, 1)]
    assert [("host.ranks_terminated", "host-1")] == found(*exits, logs=gone)
    assert [] == found(*exits)
    assert [] == found(*exits, logs=[*gone, event("log.fault", 61.4, rank=1, role="root")])
    early = ((2, 62, TERM), (3, 62.1, TERM), (0, 60.0, ERROR), (1, 61.6, ERROR))
    assert [] == found(*early, logs=gone)


def test_one_rank_alone_on_its_host_needs_the_logs_of_all_others(steady, event):
    gone = [event("log.fault", 62.5, rank=rank, role="cascade") for rank in (1, 2, 3)]
    ends = [event("process.exit", 62.0, rank=0, **TERM)]
    ends += [event("process.exit", 63.0, rank=rank, **ERROR) for rank in (1, 2, 3)]
    found = {}
    for name, logs in (("all", gone), ("two", gone[:2])):
        window = sketch(steady(), now=START + 90, events=(*ends, *logs), hosts=4)
        found[name] = [(f.entity.id, f.score) for f in EndedHostsDetector().evaluate(window)]
    assert {"all": [("host-0", 1.5)], "two": []} == found
