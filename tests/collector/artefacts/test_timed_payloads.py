"""How what was found is given to the pipeline: in order of time, and seldom where it is long."""

import dataclasses
import itertools
import math

import pytest

from rankscope.collector.artefacts import timed_payloads
from rankscope.collector.artefacts.found import ArtefactContents
from rankscope.collector.artefacts.timed_payloads import EvaluationPace
from rankscope.formats.otlp.series import SeriesTable
from rankscope.vocabulary.samples import Event, Sample, TelemetryResource

START, HOUR = 1_790_000_000, 3600
PLACE = TelemetryResource(host="node1", job="train")


def left(seconds, *faults):
    """Return a log with a step each second, and faults so many seconds after its start."""
    steps = [(PLACE, Sample("training.step", float(at), START + at)) for at in range(seconds)]
    events = [Event("log.fault", START + at, {}, PLACE) for at in faults]
    return ArtefactContents(samples=steps, events=events)


def received(found):
    pace = EvaluationPace.of(found)
    return pace, list(timed_payloads.in_order(found, SeriesTable(), pace))


def times(payloads):
    return [list(one.metrics.columns.at) for one in payloads if one.metrics is not None]


def test_a_short_log_comes_second_by_second():
    _, payloads = received(left(600))
    assert times(payloads) == [[START + at] for at in range(600)]


@pytest.fixture(scope="module")
def long_log():
    return received(left(3 * HOUR, 1000, 1003))


def test_steps_of_a_long_log_between_which_nothing_is_evaluated_come_together(long_log):
    pace, payloads = long_log
    evaluated = sum(pace.until(START + at) is None for at in range(3 * HOUR))
    together = [one for one in times(payloads) if len(one) > 1]
    assert len(times(payloads)) < 2 * evaluated
    assert all(pace.until(int(at)) is not None for one in together for at in one)


def test_nothing_of_a_long_log_is_lost_or_out_of_order(long_log):
    assert [at for one in times(long_log[1]) for at in one] == [
        START + at for at in range(3 * HOUR)
    ]


def test_a_fault_comes_after_the_steps_before_it_and_before_those_behind_it(long_log):
    before: list[float] = []
    for payload in long_log[1]:
        if payload.events:
            assert (max(before) // 1, payload.events[0].at) == (payload.events[0].at,) * 2
        else:
            before += list(payload.metrics.columns.at)


def evaluated(found, seconds):
    pace = EvaluationPace.of(found)
    return [at for at in range(seconds) if pace.until(START + at) is None]


def with_losses(seconds, change):
    """Return a log whose losses fall with some noise, as `change` makes them at each second."""
    rows = left(seconds)
    rows.samples += [
        (PLACE, Sample("training.loss", change(at, 3 - at / seconds + at % 7 / 100), START + at))
        for at in range(seconds)
    ]
    return rows


def test_of_a_log_in_which_steps_only_go_on_a_few_seconds_are_evaluated():
    seconds = evaluated(with_losses(1700, lambda _, loss: loss), 1700)
    assert len(seconds) < 500
    assert max(later - one for one, later in itertools.pairwise(seconds)) <= 16
    assert {*range(40), *range(1600, 1700)} <= {*seconds}


@pytest.mark.parametrize("loss", [9.0, math.nan, 0.1])
def test_each_second_is_evaluated_where_a_value_leaves_its_course(loss):
    seconds = evaluated(with_losses(1700, lambda at, usual: loss if at == 900 else usual), 1700)
    assert {*range(899, 1020)} <= {*seconds}


def test_each_second_is_evaluated_about_a_pause_and_a_fault():
    found = with_losses(1700, lambda _, loss: loss)
    found.samples = [
        (place, one if one.at < START + 800 else dataclasses.replace(one, at=one.at + 90))
        for place, one in found.samples
    ]
    found.events = [Event("log.fault", START + 500.0, {"role": "root"}, PLACE)]
    assert {*range(499, 620), *range(800, 1000)} <= {*evaluated(found, 1790)}
