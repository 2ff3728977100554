"""Lengths of time in the words of a finding: `40 min`, `1.23 s`, `2 ms`."""

import math


def seconds(value: float) -> str:
    """Return a short length of time, of a step or a part of one: three digits, no exponent.

    >>> [seconds(value) for value in (431.6, 1.234, 0.0125, 0.0021, 1e-05)]
    ['432 s', '1.23 s', '0.0125 s', '2.1 ms', 'under 1 ms']
    """
    if not math.isfinite(value):
        return "no known time"
    if abs(value) >= 100:
        return f"{value:.0f} s"
    if abs(value) >= 0.01 or value == 0:
        return f"{value:.3g} s"
    return f"{value * 1000:.2g} ms" if abs(value) >= 0.001 else "under 1 ms"


def duration(value: float) -> str:
    """Return a length of time as a person writes it: `40 min`, `11 h`.

    >>> [duration(value) for value in (95.0, 2400.0, 40_000.0, math.inf)]
    ['95 s', '40 min', '11 h', 'no known time']
    """
    if not value < math.inf:
        return "no known time"
    for unit, size in (("days", 86_400.0), ("h", 3600.0), ("min", 60.0)):
        if value >= 2 * size:
            return f"{value / size:.0f} {unit}"
    return f"{value:.0f} s"


def usual_step(value: float) -> str:
    """Return how long a step usually takes, as the end of a sentence.

    Nothing where steps were reported at once: a log that is written in blocks dates them alike.

    >>> usual_step(1.5), usual_step(1e-05)
    ('; a step usually takes 1.5 s', '')
    """
    return f"; a step usually takes {seconds(value)}" if value >= 0.001 else ""
