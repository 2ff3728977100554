"""When a failed delivery is tried again: the schedule Standard Webhooks gives as an example."""

import random

DELAYS_SECONDS = (
    0.0,
    5.0,
    5 * 60.0,
    30 * 60.0,
    2 * 3600.0,
    5 * 3600.0,
    10 * 3600.0,
    14 * 3600.0,
    20 * 3600.0,
    24 * 3600.0,
)
"""Before each attempt, the first one included: ten attempts over a little more than three days."""
JITTER = 0.1
"""Share of a delay that chance adds, so that what failed together does not come back together."""


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
