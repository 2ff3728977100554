"""Lines that look like values of training, of a form that nobody knows: silence that is none."""

from collections.abc import Sequence
from dataclasses import dataclass

from ..found import UnknownValues

_SHOWN = 3


@dataclass(slots=True)
class UnknownLines:
    """Counts those of one file."""

    file: str
    count: int = 0
    first: tuple[int, str] = (0, "")

    def learn(self, line: int, text: str) -> None:
        """Take a line that was not understood, by its number."""
        if not self.count:
            self.first = (line, text)
        self.count += 1

    def lines(self) -> list[UnknownValues]:
        """Return what there is to say about the file, if anything."""
        return [UnknownValues(self.file, self.count, *self.first)] if self.count else []


def shown(files: Sequence[UnknownValues]) -> str:
    """Return what a report says of such files."""
    count = sum(one.count for one in files)
    lines = "line looks" if count == 1 else "lines look"
    places = "; ".join(f"{one.file}:{one.line}: {one.text[:200]}" for one in files[:_SHOWN])
    more = f"; and {len(files) - _SHOWN} files more" if len(files) > _SHOWN else ""
    return (
        f"steps and values: {count} {lines} like training values of an unknown form: {places}{more}"
        " (a form of one's own: logs.formats of the agent's settings, docs/logs.md)"
    )


def of_file(files: Sequence[UnknownValues], name: str) -> str:
    """Return what is added where a file is called unread; "" where nothing is."""
    own = [one for one in files if one.file == name]
    return f"; {shown(own)}" if own else ""
