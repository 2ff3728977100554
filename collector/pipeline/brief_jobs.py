"""Which jobs that were hardly heard of are evaluated in a second: as many as a budget allows.

Anybody who may send can name thousands of jobs in one payload, by a log line or a sample of each.
Jobs that have samples of two moments never wait for them; of the others, those are next that were
not evaluated for longest. What is chosen follows from what was received alone, so that a replay
chooses the same.
"""

from collections.abc import Sequence

BUDGET = 10_000
"""What those jobs may cost in a second: about 0.2 s. Whoever exceeds it waits for the next."""
LOGS_COST = 20
"""An evaluation of a job of logs alone, beside the events that are held: in events, each of which
costs about 20 us."""
SAMPLES_COST = 100
"""The same of a job with samples, whose matrices are searched."""


def in_turn(waiting: Sequence[tuple[float, int]], budget: int) -> set[int]:
    """Return the places of those whose turn it is; one at least, where any waits.

    waiting: of each job when it was last evaluated, and what an evaluation of it costs, in events.
    """
    left = budget
    chosen: set[int] = set()
    for place in sorted(range(len(waiting)), key=lambda place: waiting[place][0]):
        if left <= 0:
            break
        left -= waiting[place][1]
        chosen.add(place)
    return chosen
