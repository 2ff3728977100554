"""How what was found is given to the pipeline: in order of time, and seldom where it is long."""

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
