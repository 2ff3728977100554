"""How many examples Hypothesis tries: each number in the long target, a quarter of it otherwise."""

import os

LONG = os.environ.get("RANKSCOPE_TESTS") == "long"
_USUAL_SHARE = 4
_FEWEST = 8


def examples(all_of_them: int) -> int:
    """Return how many of so many examples to try."""
    return all_of_them if LONG else max(_FEWEST, all_of_them // _USUAL_SHARE)
