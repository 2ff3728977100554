"""What `rankscope lab` says of wrong use."""

import sys


def wrong(text: str) -> int:
    """Print what is wrong with the arguments; return the exit code of wrong use."""
    print(f"rankscope lab: {text}", file=sys.stderr)
    return 2
