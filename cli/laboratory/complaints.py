"""What `rankscope lab` says of wrong use."""

import sys
from pathlib import Path


def wrong(text: str) -> int:
    """Print what is wrong with the arguments; return the exit code of wrong use."""
    print(f"rankscope lab: {text}", file=sys.stderr)
    return 2


def wrong_name(out: Path) -> str | None:
    """Return what is wrong with the name of a recording to write; None: nothing."""
    if out.name.endswith((".jsonl", ".jsonl.gz")):
        return None
    return "--out: the name of a recording ends in .jsonl or .jsonl.gz"
