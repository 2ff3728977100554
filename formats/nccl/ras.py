"""Answers of NCCL's RAS service: which ranks of a communicator launched how much, who is missing.

RAS counts launches of five kinds of collectives, and neither completions nor sends: it sees a
process that does not come, not a device that does not finish. Counts of a job at work differ for a
moment; only those that stay unequal say anything. JSON from NCCL 2.28.7 on, text from 2.24 on.
"""

import json
from collections.abc import Iterable

from .. import json_text
from . import ras_json, ras_text
from .communicators import RankPlace, RasCommunicator, RasError, RasStatus

__all__ = [
    "MARKS",
    "RankPlace",
    "RasCommunicator",
    "RasError",
    "RasStatus",
    "answers",
    "is_answer",
    "read",
    "torn",
]

_IN_JSON = '"communicators_count"'
MARKS = (
    b"Communicators... (",
    b") MISMATCH",
    b") INCOMPLETE",
    _IN_JSON.encode(),
)
"""Of which an answer has one, and hardly anything else."""

_MOST_LINES = 2_000_000
"""Of one JSON answer inside a log: some 20 for each rank of each communicator."""


def is_answer(head: bytes) -> bool:
    """Tell whether a file that begins so may be an answer of RAS."""
    if head.lstrip()[:1] == b"{":
        return b'"communicators_count"' in head or b'"communicators"' in head
    return b"NCCL version" in head and b"Job summary" in head


def torn(text: str) -> bool:
    """Tell whether a text answer ends within a line or before its communicators."""
    return not text.endswith("\n") or "Communicators" not in text


def read(text: str) -> list[RasCommunicator]:
    """Return the communicators of the last answer in a text, in either form. Raises RasError."""
    if text.lstrip().startswith("{"):
        found = ras_json.answer(text).communicators
    else:
        told = ras_text.answers(text.splitlines())
        found = told[-1].communicators if told else []
    if not found:
        raise RasError("no communicator is in it")
    return found


def answers(lines: Iterable[str]) -> list[RasStatus]:
    """Return every answer in the lines of a file or a log, in their order and in either form."""
    reader = ras_text.RasTextReader()
    found: list[RasStatus] = []
    opened: list[str] = []
    began = prefix = 0
    for number, line in enumerate(lines):
        reader.feed(number, line)
        text = line.rstrip()
        if _IN_JSON in line and not opened and (one := _in_line(line, number)):
            found.append(one)
        if text.endswith("{") and (not opened or len(text) - 1 == prefix):
            opened, began, prefix = [], number, len(text) - 1
        elif not opened:
            continue
        opened.append(line[prefix:])
        if len(opened) > _MOST_LINES or (len(opened) == 8 and not _is_json(opened)):
            opened = []
        elif text.endswith("}") and len(text) - 1 == prefix and (one := _json(opened, began)):
            found.append(one)
            opened = []
    return sorted([*reader.end(), *found], key=lambda one: one.line)


def _in_line(line: str, number: int) -> RasStatus | None:
    """Return an answer that stands in one line, behind whatever prefix."""
    try:
        loaded, _ = json.JSONDecoder().raw_decode(line, line.find("{"))
    except (ValueError, RecursionError, IndexError):
        return None
    found = ras_json.of_fields(loaded)
    found.line = number
    return found


def _is_json(lines: list[str]) -> bool:
    return any(_IN_JSON in line for line in lines)


def _json(lines: list[str], began: int) -> RasStatus | None:
    """Return the answer that lines hold, None where they hold something else."""
    if not _is_json(lines[:8]):
        return None
    loaded = json_text.value(ras_json.mended("".join(lines)))
    if loaded is None:
        return None
    found = ras_json.of_fields(loaded)
    found.line = began
    return found
