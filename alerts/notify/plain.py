"""Text of tenants made fit for a message: one line, no control codes, cut at a border.

Names of jobs and hosts and lines of logs are other people's. What is left here is letters: each
channel then escapes what has a meaning in its own markup.
"""

import unicodedata

CUT = "\u2026"


def line(text: str, most: int) -> str:
    """Return text on one line of at most `most` characters, without any control character.

    Controls, direction marks, zero-width characters and lone surrogates are dropped.
    """
    kept = "".join(
        " " if letter.isspace() else letter
        for letter in text
        if letter.isspace() or unicodedata.category(letter)[0] != "C"
    )
    kept = " ".join(kept.split())
    return kept if len(kept) <= most else kept[: most - 1].rstrip() + CUT


def fitting(lines: list[str], most: int, *, last: str = "") -> str:
    """Return as many lines as fit into `most` bytes of UTF-8, and `last` at the end in any case."""
    room = most - len(last.encode()) - (1 if last else 0)
    kept: list[str] = []
    for number, text in enumerate(lines):
        more = len(text.encode()) + (1 if kept else 0)
        spare = 0 if number == len(lines) - 1 else len(CUT.encode()) + 1
        if more + spare > room:
            cut = text.encode()[: max(room - len(CUT.encode()) - (1 if kept else 0), 0)]
            kept.append(cut.decode(errors="ignore") + CUT)
            break
        kept.append(text)
        room -= more
    return "\n".join([*kept, last] if last else kept)
