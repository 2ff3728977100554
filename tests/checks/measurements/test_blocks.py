"""Pieces in blocks: what others do moves a value hardly, and it goes on until it is precise."""

import math
import random
import statistics
from collections.abc import Callable

from rankscope.checks.measurements import blocks
from rankscope.checks.measurements.rows import CheckOrder, standard_error


class Machine:
    """Gives pieces of a millisecond each; `rate` says how fast the next one is."""

    def __init__(self, rate: Callable[[float], float]) -> None:
        self.at, self._rate = 0.0, rate

    def now(self) -> float:
        return self.at

    def piece(self) -> float:
        self.at += 0.001
        return float(self._rate(self.at))

    def measured(self, *, seconds: float = 1.0, longest: float = 10.0) -> tuple[float, ...]:
        order = CheckOrder("x", seconds=seconds, longest=longest)
        return blocks.measured(blocks.always(self.piece), order, self.now)


def test_moments_in_which_others_have_the_machine_do_not_count() -> None:
    draw = random.Random(1)
    found = Machine(lambda _: 30.0 if draw.random() < 0.8 else 100.0).measured()
    assert 100.0 == statistics.median(found)


def test_a_machine_that_is_slow_in_every_piece_is_slow() -> None:
    draw = random.Random(1)
    found = Machine(lambda _: 27.0 if draw.random() < 0.8 else 90.0).measured()
    assert 90.0 == statistics.median(found)


def test_it_ends_in_time_where_blocks_are_alike_and_goes_on_where_they_are_not() -> None:
    draw = random.Random(2)
    steady, restless = Machine(lambda _: 100.0), Machine(lambda at: 100 + 20 * math.sin(40 * at))
    places = [draw.gauss(100, 20) for _ in range(100)]
    placed = Machine(lambda at: places[int(at / blocks.BLOCK_SECONDS)])
    for machine in (steady, restless, placed):
        machine.measured()
    assert blocks.FEWEST_BLOCKS * blocks.BLOCK_SECONDS < steady.at < 4.0
    assert steady.at == restless.at
    assert 10.0 <= placed.at < 11.0


def test_a_value_that_drifts_is_less_sure_than_its_blocks_seem() -> None:
    draw = random.Random(3)
    alike = [draw.gauss(100, 1) for _ in range(40)]
    drifting = [value + number / 4 for number, value in enumerate(alike)]
    assert 0.1 < standard_error(alike) < 0.4
    assert 1.5 < standard_error(drifting) < 4.0


def test_two_or_three_blocks_leave_everything_open_and_a_reading_is_a_reading() -> None:
    assert math.inf == standard_error([1.0, 1.1])
    assert 0.0 == standard_error([1.0])
