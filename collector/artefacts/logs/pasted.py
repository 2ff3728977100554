"""Logs as people paste them: so short that all their lines are looked at, whatever their form."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ....vocabulary.samples import Event, Scalar, TelemetryResource
from ..found import ArtefactContents, LogQuote

_MOST_BYTES = 1 << 20
"""Of a log that somebody pastes. What a longer one says is known by its lines' forms."""


@dataclass(frozen=True, slots=True)
class PastedLog:
    """The lines of a log, the rank that wrote it, and when it ended (s since the epoch).

    rank: None where it is nobody's alone.
    """

    name: str
    lines: list[str]
    rank: int | None
    at: float


def logs(
    files: Mapping[str, Path], whose: Mapping[str, int | None], found: ArtefactContents
) -> Iterator[PastedLog]:
    """Yield the logs, by name, that are so short; what cannot be read was said before.

    `whose`: the rank that wrote each log, None where it is nobody's alone.
    """
    for name, path in files.items():
        try:
            if path.stat().st_size > _MOST_BYTES:
                continue
            text = path.read_bytes().decode("utf-8", "replace")
            at = path.stat().st_mtime if found.until is None else found.until
        except OSError:
            continue
        yield PastedLog(name, text.replace("\r", "\n").split("\n"), whose.get(name), at)


def tell(
    log: PastedLog,
    line: int,
    signature: str,
    text: str,
    resource: TelemetryResource,
    found: ArtefactContents,
    *,
    role: str = "confirmation",
) -> None:
    """Quote a line of a log, from 1, in words; an event at the end of the log says so too."""
    quote = LogQuote(log.name, line, None, log.rank, signature, role, text)
    pairs: dict[str, Scalar] = {
        "signature": quote.signature, "role": quote.role, "text": quote.text,
    }  # fmt: skip
    found.quotes.append(quote)
    found.events.append(Event("log.fault", log.at, pairs, resource))
