"""Lines read by names alone: they count once further lines of the same names say so too.

What pieces of two lines make together has the names of neither, or is alone. A line that no other
followed is taken at the end of a log, where nothing else in it looked like values.
"""

from dataclasses import dataclass, field
from typing import Generic, TypeVar

T = TypeVar("T")

_MOST_HELD = 8
_ENOUGH, _ENOUGH_TORN = 2, 3


@dataclass(slots=True)
class ConfirmedLines(Generic[T]):
    """Holds the first lines of each form until others bear them out."""

    _known: set[tuple[str, ...]] = field(default_factory=set[tuple[str, ...]])
    _held: dict[tuple[str, ...], list[T]] = field(default_factory=dict[tuple[str, ...], list[T]])
    _forms: int = 0

    @property
    def any(self) -> bool:
        """Tell whether lines of a form were borne out."""
        return bool(self._known)

    def take(self, names: tuple[str, ...], line: T, *, torn: bool) -> list[T]:
        """Take a line with these names; return the lines that count now, none while it may not.

        torn: it has what lines of a known format have, and is none.
        """
        if names in self._known:
            return [line]
        if names not in self._held:
            self._forms += 2 if torn else 1
            if len(self._held) >= _MOST_HELD:
                return []
        held = self._held.setdefault(names, [])
        held.append(line)
        if len(held) < (_ENOUGH_TORN if torn else _ENOUGH):
            return []
        self._known.add(names)
        return self._held.pop(names)

    def torn(self) -> None:
        """Note a line that looks like values and is none."""
        self._forms += 1

    def drop(self) -> None:
        """Forget what waits: the log is of another form."""
        self._held.clear()

    def end(self) -> list[T]:
        """Take the end of the log."""
        only = next(iter(self._held.values()), []) if self._forms == 1 else []
        self._held.clear()
        return only if len(only) == 1 else []
