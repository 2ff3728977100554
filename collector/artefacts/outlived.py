"""Errors in a log without times that its job survived: training goes on below them.

An exception that the program caught looks as one that ended it. Lines with times are told apart by
these; of the others only the order is left.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ...formats.training_logs import tracebacks
from ...vocabulary.samples import Event
from .found import LogQuote
from .startup import speaks_of_steps

MAY_END = re.compile(
    r"^(?:python|cuda|gpu|dataloader|shm|storage|checkpoint|driver|library|native)\."
)
"""Signatures of errors that end the process that logs them, unless it catches them."""

_BAR = re.compile(rb"\d{1,12}/\d{1,12} \[[^\]]{0,40}<[^\]]{0,80}(?:it/s|s/it)")
"""A progress bar that moved."""

_DONE = re.compile(
    rb"(?i)\btraining (?:is |was |has )?(?:successfully )?(?:complete|finished|done)|"
    rb"\btrain_runtime\b"
)
_FOLLOWED = 3
"""Lines of steps that show it: other ranks print one more before they notice, a bar its last state
again."""

_HARMLESS = (b"Exception ignored in", b"--- Logging error ---")
"""What stands above a traceback that Python prints of an exception which nobody needs to catch."""

_LONGEST = 1000


@dataclass(slots=True)
class SurvivedErrors:
    """Gathers the lines of values of one file by rank, and what may have ended a process."""

    file: str
    path: Path
    values: dict[int | None, set[int]] = field(default_factory=dict[int | None, set[int]])
    errors: list[tuple[int, int | None]] = field(default_factory=list[tuple[int, int | None]])

    def learn_values(self, line: int, rank: int | None) -> None:
        """Take a line with values of a step."""
        self.values.setdefault(rank, set()).add(line)

    def learn(self, event: Event, line: int, rank: int | None, *, dated: bool) -> None:
        """Take an event, of a rank where that is known."""
        signature = str(event.attributes.get("signature", ""))
        root = event.name == "log.fault" and event.attributes.get("role") == "root"
        if root and not dated and MAY_END.match(signature):
            self.errors.append((line, rank))

    def lines(self) -> set[int]:
        """Return the lines of errors below which training went on. Raises OSError."""
        if not self.errors:
            return set()
        last, harmless = self._looked_at()
        return harmless | {
            line
            for line, rank in self.errors
            if self._below(line, rank) or (rank is None and line < last)
        }

    def _below(self, line: int, rank: int | None) -> bool:
        own = self.values.values() if rank is None else [self.values.get(rank, set())]
        below = {one for lines in own for one in lines if one > line}
        return len(below) >= _FOLLOWED

    def _looked_at(self) -> tuple[int, set[int]]:
        """Return the line above which every error was survived, and those that were harmless.

        By the lines of steps in whatever form, and by what stands above a traceback.
        """
        lines = {line for line, _ in self.errors}
        first, done, shown = min(lines), 0, list[int]()
        harmless, ignored, above = set[int](), False, b""
        with self.path.open("rb") as opened:
            for number, line in enumerate(opened, 1):
                head = line[:_LONGEST]
                if tracebacks.BEGINS.encode() in head:
                    ignored = any(text in above for text in _HARMLESS)
                above = head if head.strip() else above
                if number in lines and ignored:
                    harmless.add(number)
                if number <= first:
                    continue
                if _DONE.search(head):
                    done = number
                if _BAR.search(head) or speaks_of_steps([head]):
                    shown += [number] * max(1, head.rstrip(b"\r\n").count(b"\r"))
        return max(done, shown[-_FOLLOWED] if len(shown) >= _FOLLOWED else 0), harmless


def noted(event: Event) -> Event:
    """Return an event that stands for no cause."""
    return replace(event, attributes={**event.attributes, "role": "confirmation"})


def requoted(quotes: Sequence[LogQuote], file: str, lines: Collection[int]) -> list[LogQuote]:
    """Return quotes; those of lines of a file that were survived point at no cause."""
    return [
        replace(one, role="confirmation")
        if one.file == file and one.role == "root" and one.line in lines
        else one
        for one in quotes
    ]
