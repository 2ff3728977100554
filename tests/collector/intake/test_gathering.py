"""Pauses before a group is written: where many send, and nowhere else."""

import pytest

from rankscope.collector.intake.gathering import (
    MANY_A_SECOND,
    PAUSE_SECONDS,
    WATCHED_SECONDS,
    WORTH_PAYLOADS,
    GroupGathering,
)


class Senders:
    """Groups that come after one another, and the time that goes by."""

    def __init__(self):
        self.at = 0.0
        self.paused = 0.0
        self.gathering = GroupGathering(now=lambda: self.at, sleep=self.sleep)

    def sleep(self, seconds):
        self.at += seconds
        self.paused += seconds

    def groups(self, count, payloads, every):
        for _ in range(count):
            self.gathering.pause()
            self.at += every
            self.gathering.took(payloads)


@pytest.fixture
def senders():
    return Senders()


def test_many_senders_share_a_group(senders):
    senders.groups(30, 10, 0.02)
    before = senders.paused
    senders.groups(100, 10, 0.02)
    assert pytest.approx(100 * PAUSE_SECONDS) == senders.paused - before


def test_where_a_group_costs_more_fewer_payloads_are_worth_a_longer_pause():
    slept: list[float] = []
    at = iter(range(1_000))
    gathering = GroupGathering(
        pause_seconds=0.5, many_a_second=4, now=lambda: float(next(at)), sleep=slept.append
    )
    for payloads in (5, 5, 5, WORTH_PAYLOADS):
        gathering.pause()
        gathering.took(payloads)
    gathering.pause()
    assert [0.5] * 3 == slept


def test_one_sender_that_waits_for_its_answers_is_not_kept_waiting(senders):
    senders.groups(2_000, 1, 0.001)
    most = senders.at / WATCHED_SECONDS * PAUSE_SECONDS
    assert senders.paused <= most


def test_few_payloads_never_pause(senders):
    senders.groups(200, WORTH_PAYLOADS, 2 * WORTH_PAYLOADS / MANY_A_SECOND)
    assert 0 == senders.paused


def test_pauses_end_when_the_many_have_gone(senders):
    senders.groups(60, 10, 0.02)
    before = senders.paused
    senders.groups(50, WORTH_PAYLOADS, 1.0)
    assert senders.paused - before <= 2 * PAUSE_SECONDS
