"""How long steps are held back, by when they arrive."""

import math

from rankscope.collector.windows.arrivals import StepArrivals

BEGAN = 1000.0


def interval(*arrived):
    """Return what is learnt of (steps, seconds after the start) that arrive."""
    arrivals = StepArrivals()
    for steps, seconds in arrived:
        arrivals.take(steps, BEGAN + seconds)
    return arrivals.interval(BEGAN)


def test_steps_that_arrive_one_by_one_are_not_held_back():
    assert 0.0 == interval()
    assert 0.0 == interval(*((1, 60.0 + 30 * number) for number in range(20)))


def test_what_arrives_every_second_is_a_stream_however_many_steps_it_holds():
    assert 0.0 == interval(*((10, 60.0 + number) for number in range(20)))


def test_steps_of_reports_come_as_often_as_these():
    assert 5.0 == interval(*((50, 60.0 + 5 * number) for number in range(20)))


def test_blocks_come_as_often_as_the_longest_of_the_newest_waits():
    assert 120.0 == interval((100, 60), (100, 180), (100, 240), (100, 300))
    assert 60.0 == interval((100, 60), (100, 180), (100, 240), (100, 300), (100, 360))


def test_a_block_that_is_read_in_several_turns_is_one():
    assert 300.0 == interval((2, 60), (400, 360), (400, 361), (400, 362))


def test_until_a_second_block_comes_the_first_may_have_taken_since_the_start():
    assert 60.0 == interval((100, 60.0))
    alone = StepArrivals()
    alone.take(100, BEGAN)
    assert 0.0 == alone.interval(-math.inf)


def test_a_pause_of_a_stream_is_forgotten_once_it_streams_again():
    stream = [(5, 60.0 + number) for number in range(20)]
    assert 41.0 == interval(*stream, *((5, 120.0 + number) for number in range(8)))
    assert 0.0 == interval(*stream, *((5, 120.0 + number) for number in range(12)))
