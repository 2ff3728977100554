"""What rank 0 does with the results that it gathers: it sorts predictions, as a ranking does."""

from collections.abc import Mapping, Sequence

USUAL_BYTES = 400


def gather_steps(environ: Mapping[str, str]) -> int:
    """Return at every how many steps results are gathered on rank 0; 0: never."""
    return int(environ.get("RANKSCOPE_LAB_GATHER_STEPS", "0"))


def predictions(rank: int, ordered_bytes: int) -> bytes:
    size = ordered_bytes or USUAL_BYTES
    return bytes((rank + 7 * number) % 251 for number in range(256)) * (size // 256 + 1)


def rank_all(gathered: Sequence[bytes]) -> float:
    """Return the median of all predictions, the long way: a pure Python sort by a key."""
    values = [value for part in gathered for value in part]
    values.sort(key=lambda value: (value % 16, -value))
    return float(values[len(values) // 2])
