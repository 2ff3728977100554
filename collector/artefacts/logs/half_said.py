"""What some ranks say at the end of a log, and others that it knows do not: these stand before it.

Programs of a few lines print what each rank has reached: `rank 1 done`. Lines that only rank 0
prints are no such words, and neither are those that a rank says of another one.
"""

import re
from collections.abc import Sequence

_RANK = re.compile(rb"(?i)\brank\W{0,3}(\d{1,5})\b")
_SAYS = re.compile(rb"(?i)^\W{0,3}(?:(?:global|local|world|from|on|this is)\W{1,2})?rank\W{0,3}\d")
"""How a line begins that says whose it is."""
_DIGITS = re.compile(rb"\d+")
_MOST_RANKS = 64
_LONGEST = 200


def find(lines: Sequence[bytes]) -> list[tuple[int, bytes]]:
    """Return (place, text) of the last line, where not all ranks of the log have said the same."""
    written = [place for place, line in enumerate(lines) if line.strip()]
    if not written or not (last := _said(lines[written[-1]])):
        return []
    _, words = last
    known = {int(rank) for line in lines for rank in _RANK.findall(line[:_LONGEST])}
    whole = 1 < len(known) <= _MOST_RANKS and known == set(range(len(known)))
    said = {one[0] for line in lines if (one := _said(line)) and one[1] == words}
    silent = sorted(known - said)
    if not whole or not silent or said == {0}:
        return []
    named = b", ".join(str(rank).encode() for rank in silent)
    return [(written[-1], lines[written[-1]].strip() + b" (rank " + named + b" does not say so)")]


def _said(line: bytes) -> tuple[int, bytes] | None:
    """Return the rank that a line begins with, and the line without its numbers."""
    head = line.strip()[:_LONGEST]
    found = _RANK.search(head) if _SAYS.match(head) else None
    return (int(found[1]), _DIGITS.sub(b"#", head)) if found else None
