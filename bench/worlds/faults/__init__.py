"""What each fault does to a job: a function a fault, a file a family.

In: a situation. Out: its effects, readings, events and truth.
"""

from ..situation import CaseSituation


def inject(case: CaseSituation) -> None:
    """Add the fault of the case's plan."""
