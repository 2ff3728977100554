"""When a failed delivery is tried again: over three days, and often in the first minute.

Standard Webhooks gives 0 s, 5 s, 5 min, ... as an example; two flaky answers would delay a page by
five minutes there.
"""

import random

DELAYS_SECONDS = (
    0.0,
    3.0,
    8.0,
    15.0,
    25.0,
    60.0,
    2 * 60.0,
    5 * 60.0,
    10 * 60.0,
    20 * 60.0,
    40 * 60.0,
    80 * 60.0,
    3 * 3600.0,
    6 * 3600.0,
    14 * 3600.0,
    24 * 3600.0,
    24 * 3600.0,
)
"""Before each attempt, the first one included: 17 attempts over a little more than three days.

Five of them lie within the first minute, jitter included.
"""
JITTER = 0.1
"""Share of a delay that chance adds, so that what failed together does not come back together."""
LONGEST_PENDING_SECONDS = 4 * 86_400.0
"""After so long a message is given up, even if others stood for its attempts."""


def next_due(
    attempts: int, *, now: float, retry_after: float | None, chance: random.Random
) -> float | None:
    """Return when to try again after so many attempts, None when it is time to give up.

    A receiver that asks for patience gets it, and is never asked sooner than the schedule says:
    otherwise a busy one would use up all attempts in seconds.
    """
    if attempts >= len(DELAYS_SECONDS):
        return None
    delay = DELAYS_SECONDS[attempts] * (1.0 + JITTER * chance.random())
    return now + max(delay, retry_after or 0.0)
