"""What a line of a log reports."""

from dataclasses import dataclass

from ...vocabulary.samples import Event, Sample


@dataclass(frozen=True, slots=True)
class LoggedLine:
    """One line that reports something.

    `line` counts from 1. `at` is when it was written, in seconds since the epoch, as the line says
    or as the caller gave; None where neither does: samples and events then carry the time of the
    line before that has one, 0 where there is none. `text` may be shown: it is short, and holds no
    control characters and no markup.
    """

    line: int
    at: float | None
    text: str
    samples: tuple[Sample, ...] = ()
    events: tuple[Event, ...] = ()
