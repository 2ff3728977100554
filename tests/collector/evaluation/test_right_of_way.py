"""Evaluation pauses while senders wait for answers: for a while, and not once it is behind."""

import pytest

from rankscope.collector.evaluation.right_of_way import RightOfWay


class Senders:
    """Who waits until a time, on a clock that only sleeping moves on."""

    def __init__(self, until=0.0, behind=0.0):
        self.at = 0.0
        self.until = until
        self.way = RightOfWay(
            waiting=lambda: self.at < self.until,
            behind=lambda: behind,
            now=lambda: self.at,
            sleep=self.sleep,
        )

    def sleep(self, seconds):
        self.at += seconds

    def paused(self):
        before = self.at
        self.way.give()
        return self.at - before


def test_where_nobody_waits_there_is_no_pause():
    assert Senders(until=0.0).paused() == 0.0


def test_it_goes_on_once_senders_are_answered():
    assert Senders(until=0.01).paused() == pytest.approx(0.01, abs=0.002)


def test_it_does_not_pause_for_ever_and_then_works_for_a_while():
    senders = Senders(until=9.0)
    assert senders.paused() == pytest.approx(0.1, abs=0.002)
    assert senders.paused() == 0.0
    senders.sleep(0.05)
    assert senders.paused() == pytest.approx(0.1, abs=0.002)


def test_evaluation_that_is_behind_does_not_pause():
    assert Senders(until=9.0, behind=0.6).paused() == 0.0
