"""Rows under a header that names a loss: CSV files, fastai's and Ultralytics' tables."""

import re
from dataclasses import dataclass, field

from .. import numbers
from . import names
from .fields import LineField

_BETWEEN = {
    "\t": re.compile("\t"), ",": re.compile(","), ";": re.compile(";"), "|": re.compile(r"\|"),
}  # fmt: skip
_SPACES, _BLANKS = re.compile(r"\s{2,}|\t"), re.compile(r"\s+")
_NAMES = re.compile(r"[#%]?\s?[A-Za-z_][\w/.#%()-]{0,24}(?: [A-Za-z_][\w/.#%()-]{0,24}){1,15}")
"""A header of words with one blank between."""
_COUNTED = re.compile(r"(\d{1,12})/(\d{1,12})")
_VALUED = re.compile(r"(?:^|[\s\[(])[-+]?\.?\d")
"""A number by itself: `top5_acc` is a name."""
_INDEX = "step"
"""What a column without a name counts: pandas writes its index so."""
_LONGEST = 400
_MOST_STRAY = 8
"""Lines that are no rows, after which a table is over."""


@dataclass(slots=True)
class HeadedTable:
    """Follows one log: the table that is open, if any."""

    _names: list[str] = field(default_factory=list[str])
    _between: re.Pattern[str] = _SPACES
    _stray: int = 0

    @property
    def open(self) -> bool:
        """Tell whether rows may follow."""
        return bool(self._names)

    def head(self, text: str) -> bool:
        """Take a line; tell whether it is a header."""
        if len(text) > _LONGEST or "loss" not in text.lower():
            return False
        words = _BLANKS if _NAMES.fullmatch(text.strip()) else _SPACES
        between = next((one for mark, one in _BETWEEN.items() if mark in text), words)
        listed = [one.strip() for one in between.split(text.strip(" |"))]
        listed = [listed[0] or _INDEX, *listed[1:]]
        if len(listed) < 2 or any(not 0 < len(one) <= 40 for one in listed):
            return False
        if any(_VALUED.search(one) or numbers.number(one) is not None for one in listed):
            return False  # a row, or one whose number is none
        if all(names.of_loss(one) is None for one in listed) or ":" in text or "=" in text:
            return False
        self._names, self._between, self._stray = listed, between, 0
        return True

    def row(self, text: str) -> list[LineField]:
        """Return the fields of a row, none for another line."""
        cells = [one.strip() for one in self._between.split(text.strip(" |"))]
        found = [
            made
            for name, cell in zip(self._names, cells, strict=False)
            if (made := _cell(name, cell)) is not None
        ]
        few = len(found) < max(2, len(self._names) // 2)
        if few or all(names.of_loss(one.label) is None for one in found):
            self._stray += 1
            if self._stray > _MOST_STRAY:
                self._names = []
            return []
        self._stray = 0
        return found


def _cell(name: str, cell: str) -> LineField | None:
    if counted := _COUNTED.fullmatch(cell):
        return LineField(name, float(counted[1]), int(counted[2]), count=True)
    number = numbers.number(cell)
    if number is None:
        return None
    return LineField(name, number, count=cell.isdigit(), seconds=number)
