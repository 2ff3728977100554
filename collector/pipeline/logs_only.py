"""Which of the jobs that only logs name are evaluated in a second: as many as a budget allows.

Anybody who may send logs can name thousands of jobs in one payload. Those that have samples of
their own are evaluated before them, always; of those without, the ones go first that were not
evaluated for longest. What is chosen follows from what was received alone, so that a replay chooses
the same.
"""

from collections.abc import Sequence

BUDGET = 10_000
"""What those jobs may cost in a second: about 0.2 s. Whoever exceeds it waits for the next."""
EVALUATION_COST = 20
"""An evaluation beside the events that are held: in events, each of which costs about 20 us."""
FIRST_TIMES = 3
"""How many evaluations the first of a job costs."""


def cost(events: int, *, first: bool) -> int:
    """Return what it costs to evaluate a job that holds so many events."""
    return events + EVALUATION_COST * (FIRST_TIMES if first else 1)


def in_turn(waiting: Sequence[tuple[float, int]], budget: int) -> set[int]:
    """Return the places of those whose turn it is; one at least, where any waits.

    waiting: of each job when it was last evaluated, and what it costs to do so.
    """
    left = budget
    chosen: set[int] = set()
    for place in sorted(range(len(waiting)), key=lambda place: waiting[place][0]):
        if left <= 0:
            break
        left -= waiting[place][1]
        chosen.add(place)
    return chosen
