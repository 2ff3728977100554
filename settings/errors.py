"""What can be wrong with settings, reported all at once and with the fix.

A problem never repeats a text that was given: what stands in the wrong place may be a password.
Only a number out of range is shown.
"""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SettingsProblem:
    """One mistake.

    `where` is `file:line` or the variable's name, `key` the dotted path ("" for the file as a
    whole), `what` the mistake and `fix` what to do about it.
    """

    where: str
    key: str
    what: str
    fix: str

    def __str__(self) -> str:
        """Return the one line an operator reads."""
        return ": ".join(
            part for part in (self.where, self.key, f"{self.what}; {self.fix}") if part
        )


@dataclass(frozen=True, slots=True)
class InnerProblem:
    """A mistake that a section's own check found at a key below it; `path` leads there."""

    path: tuple[str | int, ...]
    what: str
    fix: str


class InnerError(ValueError):
    """Raised by a section's own check that knows where each mistake stands, for all of them."""

    def __init__(self, problems: Sequence[InnerProblem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(f"{one.what}; {one.fix}" for one in problems))


class SettingsError(ValueError):
    """Settings a process must not start with; `problems` holds every mistake found."""

    def __init__(self, problems: tuple[SettingsProblem, ...]) -> None:
        self.problems = problems
        super().__init__("\n".join(str(problem) for problem in problems))

    def __reduce__(self) -> tuple[type["SettingsError"], tuple[tuple[SettingsProblem, ...]]]:
        """Return how it is made anew in another process."""
        return SettingsError, (self.problems,)
