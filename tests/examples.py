"""How many examples a test tries, and which one it was that failed."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

LONG = os.environ.get("RANKSCOPE_TESTS") == "long"
"""Whether this is the long target."""

_USUAL_SHARE = 4
_FEWEST = 8


def examples(all_of_them: int) -> int:
    """Return how many of so many examples Hypothesis tries: a quarter, or all."""
    return all_of_them if LONG else max(_FEWEST, all_of_them // _USUAL_SHARE)


@contextmanager
def told(**of: object) -> Iterator[None]:
    """Say of an error in a loop which turn of it it was."""
    try:
        yield
    except BaseException as error:
        error.add_note(", ".join(f"{name}: {value}" for name, value in of.items()))
        raise
