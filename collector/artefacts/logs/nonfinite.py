"""Which lines are quoted for values that are not finite: the first that no finite one followed.

A scaler of half precision makes norms infinite now and then; the step after is finite again. A loss
that is not finite is quoted whatever followed.
"""

from dataclasses import dataclass, field

from ....formats.training_logs import LoggedLine
from ..found import LogQuote

SIGNATURE = "training.nonfinite"
_VALUES = frozenset({"training.loss", "training.grad_norm"})


@dataclass(slots=True)
class NonfiniteQuotes:
    """Follows the lines of one file."""

    file: str
    _open: dict[int | None, LogQuote] = field(default_factory=dict[int | None, LogQuote])
    _lost: dict[int | None, LogQuote] = field(default_factory=dict[int | None, LogQuote])

    def learn(self, line: LoggedLine, rank: int | None) -> None:
        """Take a line that a rank printed."""
        whats = [one.attributes["what"] for one in line.events if one.name == "training.numeric"]
        if whats:
            quote = LogQuote(
                self.file, line.line, line.at, rank, SIGNATURE, "confirmation", line.text
            )
            self._open.setdefault(rank, quote)
            if "loss" in whats:
                self._lost.setdefault(rank, quote)
        elif any(sample.metric in _VALUES for sample in line.samples):
            self._open.pop(rank, None)

    def quotes(self) -> list[LogQuote]:
        """Return the lines to quote, one a rank."""
        return list({**self._open, **self._lost}.values())
