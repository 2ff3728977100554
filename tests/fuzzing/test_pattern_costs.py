"""No regular expression is worse than quadratic in a line, on lines made from its own parts."""

import re
import time

import pytest
from tests.fuzzing import adversarial, patterns

SHORT, LONG = 512, 2048
MOST = 36.0
"""How much more a line of four times the length may cost: 4 is linear, 16 quadratic, 64 cubic."""
NOTICED = 400
"""Costs below so many times that of one scan of the line are not compared."""


def cost(pattern, line):
    before = time.process_time_ns()
    pattern.search(line)
    return time.process_time_ns() - before


def worst_growth(pattern):
    """Return how much more the longer of two lines costs at worst, and which line that is."""
    worst, worst_line = 0.0, ""
    scan = min(cost(re.compile("[^a]"), "a" * LONG) for _ in range(5))
    text, of_bytes = pattern.pattern, isinstance(pattern.pattern, bytes)
    text = text.decode("latin-1") if of_bytes else text
    flags = pattern.flags & ~re.UNICODE & ~re.DEBUG
    both = zip(
        adversarial.lines(text, flags, SHORT), adversarial.lines(text, flags, LONG), strict=True
    )
    for lines in both:
        short, long = (
            line.encode("latin-1", "replace") if of_bytes else line for line in lines
        )
        if cost(pattern, short) < NOTICED / 40 * scan:
            continue
        if (most := cost(pattern, long)) < NOTICED * scan:
            continue
        growth = most / max(1, min(cost(pattern, short) for _ in range(3)))
        if growth > MOST:  # other programs may have taken the cache away
            growth = min(cost(pattern, long) for _ in range(2)) / min(
                cost(pattern, short) for _ in range(5)
            )
        if growth > worst:
            worst, worst_line = growth, str(lines[0][:200])
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
            costly.append((text[:120], round(growth), line[:120]))
    assert [] == costly


@pytest.mark.parametrize(
    "pattern",
    [r"one .*two.*three", r" +[| ]* *(\d+)/", r"\S*\S*\S*!", r"\w+_\w+_\w+ \("],
)
def test_a_pattern_that_is_worse_is_found(pattern):
    assert worst_growth(re.compile(pattern))[0] > MOST


@pytest.mark.parametrize("pattern", [r"(?>one .*?two).*three", r"\d+ it/s", r"rank (\d+): .*end"])
def test_a_quadratic_pattern_is_let_through(pattern):
    assert worst_growth(re.compile(pattern))[0] < MOST
