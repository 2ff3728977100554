"""No regular expression is worse than quadratic in a line, on lines made from its own parts."""

import math
import re
import time

import pytest
from tests.fuzzing import adversarial, patterns

LENGTHS = (14, 18, 22, 26, 30, 40, 64, 128, 256, 512, 1024, 2048)
"""Of lines, in characters: those of an exponential pattern must not take hours."""
MOST = 2.5
"""The power of the length with which costs may grow: 1 is linear, 2 quadratic."""
NOTICED = 200
"""Costs below so many times that of one scan of the longest line are not compared."""


def cost(pattern, line, times=1):
    def once():
        before = time.process_time_ns()
        pattern.search(line)
        return time.process_time_ns() - before

    return min(once() for _ in range(times))


def worst_growth(pattern):
    """Return with which power of their length lines cost more at worst, and one of them."""
    of_bytes = isinstance(pattern.pattern, bytes)
    text = pattern.pattern.decode("latin-1") if of_bytes else pattern.pattern
    noticed = NOTICED * cost(re.compile("[^a]"), "a" * LENGTHS[-1], 5)
    worst, worst_line = 0.0, ""
    for prefix, pump in adversarial.pumps(text, pattern.flags & ~re.UNICODE):
        written = [adversarial.line(prefix, pump, length) for length in LENGTHS]
        lines = [one.encode("latin-1", "replace") if of_bytes else one for one in written]
        first = next((at for at, one in enumerate(lines) if cost(pattern, one) > noticed), 0)
        if not first:
            continue
        longer, shorter = lines[first], lines[first - 1]
        if len(longer) == len(shorter):
            continue
        times = math.log(len(longer) / len(shorter))
        for tries in (5, 50):  # what seems to grow fast is measured again: others use the machine
            more = cost(pattern, longer, tries) / max(1, cost(pattern, shorter, tries))
            growth = math.log(more) / times
            if growth <= MOST:
                break
        if growth > worst:
            worst, worst_line = growth, written[first]
        if growth > MOST:
            break
    return worst, worst_line


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_no_pattern_is_worse_than_quadratic():
    found = patterns.found()
    assert len(found) > 900
    costly = []
    for text, pattern in found.items():
        growth, line = worst_growth(pattern)
        if growth > MOST:
            costly.append((text[:120], round(growth, 1), len(line), line[:120]))
    assert [] == costly


@pytest.mark.parametrize(
    "pattern", [r"one .*two.*three", r" +[| ]* *(\d+)/", r"\S*\S*!", r"(?:a+)+b"]
)
def test_a_pattern_that_is_worse_is_found(pattern):
    assert worst_growth(re.compile(pattern))[0] > MOST


@pytest.mark.parametrize("pattern", [r"(?>one .*?two).*three", r"\d+ it/s", r"rank (\d+): .*end"])
def test_a_quadratic_pattern_is_let_through(pattern):
    assert worst_growth(re.compile(pattern))[0] < MOST
