"""Errors in a log without times that its job survived: training goes on below them.

An exception that the program caught looks as one that ended it. Lines with times are told apart by
these; of the others only the order is left.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

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
    rb"(?i)\btraining (?:is |was |has )?(?:successfully )?(?:complete|finished|done)|\btrain_runtime\b"
)
_FOLLOWED = 3
"""Lines of steps that show it: other ranks print one more before they notice, a bar its last state
again."""

_LONGEST = 1000


@dataclass(slots=True)
class SurvivedErrors:
    """Gathers the lines of values of one file by rank, and what may have ended a process."""

    file: str
    path: Path
    values: dict[int | None, list[int]] = field(default_factory=dict[int | None, list[int]])
    errors: list[tuple[int, int | None]] = field(default_factory=list[tuple[int, int | None]])

    def learn_values(self, line: int, rank: int | None) -> None:
        """Take a line with values of a step."""
        self.values.setdefault(rank, []).append(line)

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
        last = self._last()
        return {
            line
            for line, rank in self.errors
            if self._below(line, rank) or (rank is None and line < last)
        }

    def _below(self, line: int, rank: int | None) -> bool:
        lists = self.values.values() if rank is None else [self.values.get(rank, [])]
        return sum(one > line for each in lists for one in each) >= _FOLLOWED

    def _last(self) -> int:
        """Return the line above which every error was survived, whatever its values look like."""
        shown: list[int] = []
        done = 0
        first = min(line for line, _ in self.errors)
        with self.path.open("rb") as opened:
            for number, line in enumerate(opened, 1):
                if number <= first:
                    continue
                head = line[:_LONGEST]
                if _DONE.search(head):
                    done = number
                if _BAR.search(head) or speaks_of_steps([head]):
                    shown += [number] * max(1, head.rstrip(b"\r\n").count(b"\r"))
        return max(done, shown[-_FOLLOWED] if len(shown) >= _FOLLOWED else 0)


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
