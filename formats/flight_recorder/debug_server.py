"""What torch's debug server shows of all ranks at once: their recorders' lists, and their stacks.

Its page /fr_trace_json holds the list of every rank as JSON; /handler/fr_trace_json of one worker
holds its own. Its periodic dumps are text: stacks_<date>_<time>.txt. (PyTorch 2.10 to 2.13)
"""

import html
import re
from collections.abc import Iterable, Iterator

_RANK = re.compile(
    r"<h2>Rank (?P<rank>\d{1,7}): [^<]{0,300}</h2>(?:(?!<h2>).){0,200}?<pre>(?P<body>[^<]*)</pre>",
    re.DOTALL,
)
_SECTION = re.compile(r"=== Rank (?P<rank>\d{1,7}): \S{1,300} ===\s*")
_PARTIAL = re.compile(r"PARTIAL DATA: \d{1,7}/\d{1,7} workers responded\s*")
_SILENT = re.compile(r"  Rank (?P<rank>\d{1,7}): (?P<why>.{0,200})\s*")


def is_page(head: bytes) -> bool:
    """Tell whether a file that begins so may be a page of the server."""
    return b"<title>" in head and b"Torch Distributed Debug Server" in head


def is_stacks(head: bytes) -> bool:
    """Tell whether a file that begins so may be a periodic dump of stacks."""
    text = head[:400].decode("utf-8", "replace")
    first = text.partition("\n")[0]
    partial = _PARTIAL.fullmatch(first) is not None
    return (partial or _SECTION.fullmatch(first) is not None) and "/handler/" in head.decode(
        "utf-8", "replace"
    )


def lists(page: str) -> dict[int, bytes]:
    """Return by rank the recorder's list of operations as JSON, as a page shows it."""
    return {
        int(found["rank"]): html.unescape(found["body"]).encode()
        for found in _RANK.finditer(page)
        if found["body"].lstrip().startswith("{")
    }


def stacks(lines: Iterable[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield each rank with its part of a dump of stacks."""
    rank: int | None = None
    part: list[str] = []
    for line in lines:
        if found := _SECTION.fullmatch(line):
            if rank is not None:
                yield rank, part
            rank, part = int(found["rank"]), []
        elif rank is not None:
            part.append(line)
    if rank is not None:
        yield rank, part


def silent(lines: Iterable[str]) -> dict[int, str]:
    """Return the ranks that did not answer the server, with what it says of them."""
    found: dict[int, str] = {}
    partial = False
    for line in lines:
        if _SECTION.fullmatch(line):
            break
        partial = partial or _PARTIAL.fullmatch(line) is not None
        if partial and (one := _SILENT.fullmatch(line)):
            found[int(one["rank"])] = one["why"]
    return found
