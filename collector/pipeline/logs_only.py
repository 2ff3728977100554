"""Which of the jobs that only logs name are evaluated in a second: as many as a budget allows.

Anybody who may send logs can name thousands of jobs in one payload. Jobs that have samples of their
own never wait for them; of those without, the ones are next that were not evaluated for longest.
What is chosen follows from what was received alone, so that a replay chooses the same.
"""

from collections.abc import Sequence

BUDGET = 10_000
"""What those jobs may cost in a second: about 0.2 s. Whoever exceeds it waits for the next."""
EVALUATION_COST = 20
"""An evaluation beside the events that are held: in events, each of which costs about 20 us."""


def in_turn(waiting: Sequence[tuple[float, int]], budget: int) -> set[int]:
    """Return the places of those whose turn it is; one at least, where any waits.

    waiting: of each job when it was last evaluated, and how many events it holds.
    """
    left = budget
    chosen: set[int] = set()
    for place in sorted(range(len(waiting)), key=lambda place: waiting[place][0]):
        if left <= 0:
            break
        left -= EVALUATION_COST + waiting[place][1]
        chosen.add(place)
    return chosen
